"""The libraries between a program and MPI, which are never sites."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from pathlib import PurePath

# For a call through one of these, the site is the program's call of the library.
_MODULES = """
    libmpi* libpmpi* libmpich* libopen-rte.* libopen-pal.* libucp.* libucs.* libuct.* libfabric.* libpmix*
    libhaloscope* libsmpi* libsimgrid*
    libpetsc* libslepc* libHYPRE* libp4est* libsc.* libsc-* libsuperlu* libdmumps* libsmumps* libcmumps*
    libzmumps* libmumps* libstrumpack* libpastix* libscotch* libptscotch* libmetis* libparmetis*
    libtrilinos_* libtpetra* libepetra* libbelos* libamesos* libifpack* libml.* libzoltan* libteuchos*
    libkokkos* libRAJA* libumpire* libcamp.* libscalapack* libblacs* libelpa* libEl.* libslate* libdplasma*
    libmkl_* libsundials_* libarpack* libparpack*
    libfftw* libheffte* libp3dfft* lib2decomp* libaccfft* libhdf5* libnetcdf* libpnetcdf* libadios2*
    libcgns* libsilo* libboost_* libmpl.* libcaliper* libadiak* libnccl* librccl*
    libm.so* libdl.so* librt.so* libstdc++* libc++* libgcc_s* libgfortran*
    libgomp* libomp.* libiomp5* ld-linux* ld-*.so* libpython* libpetsc4py*so
""".split()
# glibc's, of which libpthread and libc-2.31.so are older than 2.34, and musl's.
_C_LIBRARIES = "libc.so* libc-* libpthread* libc.musl-* ld-musl-*".split()
# The executable is the program, unless it is an interpreter.
_INTERPRETER = re.compile(r"(python|pypy)(\d+(\.\d+)*)?[a-z]?(-dbg|-c)?")
# Packages between Python and MPI, where Python installs packages. Programs may have folders of these names.
_PYTHON_PACKAGE = re.compile(
    r".*/(site|dist)-packages/([^/]+\.egg/)?(mpi4py|petsc4py|slepc4py|h5py|mpi4jax|mpi4py_fft)/.*", re.DOTALL
)
# Their modules elsewhere, such as PETSC_DIR/lib/petsc4py.
_PYTHON_MODULES = "*/mpi4py/MPI.*so */petsc4py/*/PETSc.*so */slepc4py/*/SLEPc.*so".split()
# Headers that programs include, where libraries install them or have them in their sources.
_HEADERS = """
    */include/boost/* */boost*/boost/* */include/mpl/* */mpl/mpl/* */Kokkos_*.hpp */include/RAJA/*
    */include/camp/* */include/umpire/* */openmpi/ompi/mpi/cxx/* */mpicxx.h */include/c++/* <frozen*>
""".split()


def _match_any(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)))


_MODULE = _match_any([*_MODULES, *_C_LIBRARIES])
_C_LIBRARY, _HEADER, _EXTENSION = map(_match_any, (_C_LIBRARIES, _HEADERS, _PYTHON_MODULES))


@lru_cache(maxsize=1 << 12)
def is_library(path: str, is_program: bool = False) -> bool:
    """Return whether the module at `path` is not part of the program; `is_program`: it is the executable."""
    name = PurePath(path).name
    if _INTERPRETER.fullmatch(name):
        return True
    if is_program:
        return False
    return any((_MODULE.match(name), _EXTENSION.match(path), _PYTHON_PACKAGE.match(path)))


@lru_cache(maxsize=1 << 12)
def is_c_library(path: str) -> bool:
    """Return whether the module at `path` is the C library, or a part of it that starts threads."""
    return _C_LIBRARY.match(PurePath(path).name) is not None


@lru_cache(maxsize=1 << 12)
def is_library_source(file: str) -> bool:
    """Return whether a source file belongs to a library that the program includes or calls."""
    return any((_HEADER.match(file), _PYTHON_PACKAGE.match(file)))
