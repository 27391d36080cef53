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
    libgomp* libomp.* libiomp5* ld-linux* ld-*.so* libpython*
    MPI.*so PETSc.*so SLEPc.*so libpetsc4py*so
""".split()
# glibc's, of which libpthread and libc-2.31.so are older than 2.34, and musl's.
_C_LIBRARIES = "libc.so* libc-* libpthread* libc.musl-* ld-musl-*".split()
# The executable is the program, unless it is one of these.
_INTERPRETERS = ["python", "python[0-9]*", "pypy*"]
# Sources of headers that programs include, and of packages between Python and MPI.
_SOURCES = """
    */boost/* */mpl/* */kokkos/* */RAJA/* */camp/* */umpire/* */openmpi/ompi/mpi/cxx/* */mpicxx.h
    /usr/include/c++/* <frozen*> */mpi4py/* */petsc4py/* */slepc4py/* */h5py/* */mpi4jax/* */mpi4py_fft/*
""".split()


def _match_any(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)))


_MODULE = _match_any([*_MODULES, *_C_LIBRARIES, *_INTERPRETERS])
_C_LIBRARY, _INTERPRETER, _SOURCE = _match_any(_C_LIBRARIES), _match_any(_INTERPRETERS), _match_any(_SOURCES)


@lru_cache(maxsize=1 << 12)
def is_library(path: str, is_program: bool = False) -> bool:
    """Return whether the module at `path` is not part of the program; `is_program`: it is the executable."""
    name = PurePath(path).name
    return (_INTERPRETER if is_program else _MODULE).match(name) is not None


@lru_cache(maxsize=1 << 12)
def is_c_library(path: str) -> bool:
    """Return whether the module at `path` is the C library, or a part of it that starts threads."""
    return _C_LIBRARY.match(PurePath(path).name) is not None


@lru_cache(maxsize=1 << 12)
def is_library_source(file: str) -> bool:
    """Return whether a source file belongs to a library that the program includes or calls."""
    return _SOURCE.match(file) is not None
