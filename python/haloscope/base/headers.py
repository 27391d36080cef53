"""Finds the headers that belong to an MPI library."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from haloscope.base.errors import RecorderError
from haloscope.base.objects import Abi, MpiLibrary
from haloscope.base.prebuilt import is_any_ready
from haloscope.base.tools import find_tool, read_answer

_NAMES = {"openmpi": "Open MPI", "mpich": "MPICH", "standard": "the MPI standard ABI"}
_PRODUCTS = (
    (r"Open MPI v([\d.]+)", "Open MPI"),
    (r"Intel\(R\) MPI Library ([\d.]+)", "Intel MPI"),
    (r"ANL base ([\d.]+)", "MPICH"),  # Cray
    (r"MPICH Version:\s*([\d.]+)", "MPICH"),
)
_ASK = """\
import ctypes, sys
library = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
major, minor, size = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
text = ctypes.create_string_buffer(16384)
library.MPI_Get_version(ctypes.byref(major), ctypes.byref(minor))
library.MPI_Get_library_version(text, ctypes.byref(size))
print(major.value, minor.value, " ".join(text.value.decode("utf-8", "replace").split()))
"""


@dataclass(frozen=True)
class Headers:
    """Include directories with the interface, the product and the standard that they declare.

    `library` is the library for which they were looked for, if any. Without directories, only a ready-made
    library can be used.
    """

    abi: Abi
    directories: tuple[Path, ...]
    product: str
    standard: tuple[int, int]
    library: Path | None = None

    def newer_than(self, standard: tuple[int, int], product: str) -> bool:
        """Return whether these headers declare more than a library of that standard and product has."""
        if self.standard > standard:
            return True
        same = self.product.split()[:-1] == product.split()[:-1]
        return same and _numbers(self.product) > _numbers(product)


def find_headers(library: MpiLibrary, compilers: tuple[Path, ...] = ()) -> Headers:
    """Return the headers nearest to a library: those of its own installation first, then any that fit.

    A library for which something is ready-made needs no headers. Raises `RecorderError` if there are none.
    """
    near, far = _find_near(library.path), _find_far(compilers)
    for directory in near:
        headers = read_headers(directory, library.abi)
        if headers is not None:
            return replace(headers, library=library.path)
    version = library_version(library.path) if library.path else None
    for directory in far:
        headers = read_headers(directory, library.abi)
        if headers is not None and not (version and headers.newer_than(*version)):
            return replace(headers, library=library.path)
    if version and is_any_ready(library):
        return Headers(library.abi, (), version[1], version[0], library.path)
    raise RecorderError(_describe_missing(library))


def read_headers(directory: Path, abi: Abi) -> Headers | None:
    """Return what `mpi.h` (`mpi_abi.h` for the standard interface) in a directory declares."""
    try:
        name = "mpi_abi.h" if abi == "standard" else "mpi.h"
        text = (directory / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    product = "standard" if abi == "standard" else _read_product(text)
    if product is None or (abi == "openmpi") != product.startswith("Open MPI"):
        return None
    standard = (_read_define(text, "MPI_VERSION"), _read_define(text, "MPI_SUBVERSION"))
    numbers = tuple(int(value) if value and value.isdigit() else 0 for value in standard)
    return Headers(abi, (directory,), product, (numbers[0], numbers[1]))


def library_version(path: Path) -> tuple[tuple[int, int], str] | None:
    """Return the standard and product that a library reports; None if it cannot be loaded."""
    answer = read_answer(sys.executable, "-c", _ASK, str(path))
    try:
        major, minor, text = (answer or "").split(" ", 2)
    except ValueError:
        return None
    return (int(major), int(minor)), _short(text.strip())


def wrapper_directories(wrapper: Path, option: str = "-I") -> tuple[Path, ...]:
    """Return the directories that an MPI compiler wrapper passes on with `-I` or `-L`."""
    try:
        words = shlex.split(read_answer(str(wrapper), "-show") or "")
    except ValueError:
        return ()
    return tuple(Path(word[2:]) for word in words if word.startswith(option) and len(word) > 2)


def _find_near(library: Path | None) -> Iterator[Path]:
    """Yield the include directories of the installation that a library belongs to."""
    if library is None:
        return
    for base in dict.fromkeys((library.parent, library.resolve().parent)):
        yield base / "openmpi" / "include"  # Debian
        for prefix in list(base.parents)[:-1][:4]:
            yield prefix / "include"
            multiarch = base.name if "-linux-" in base.name else ""
            yield prefix / "include" / multiarch / "mpich"  # Debian
            for pattern in ("openmpi-*", "mpich-*"):  # Fedora
                yield from sorted((prefix / "include").glob(pattern))
            yield from _find_wrapper_directories(prefix / "bin")


def _find_far(compilers: tuple[Path, ...]) -> Iterator[Path]:
    """Yield the include directories of all MPIs that can be found."""
    for wrapper in compilers:
        yield from wrapper_directories(wrapper)
    for name in ("mpicc", "mpicc.openmpi", "mpicc.mpich"):
        found = find_tool(name)
        if found:
            yield from wrapper_directories(found)
    yield Path(sys.prefix) / "include"


def _find_wrapper_directories(binaries: Path) -> Iterator[Path]:
    for name in ("mpicc", "mpicc.openmpi", "mpicc.mpich"):
        if (binaries / name).is_file():
            yield from wrapper_directories(binaries / name)


def _read_product(header: str) -> str | None:
    if "OMPI_MAJOR_VERSION" in header:
        parts = (_read_define(header, f"OMPI_{part}_VERSION") for part in ("MAJOR", "MINOR", "RELEASE"))
        return "Open MPI " + ".".join(part or "0" for part in parts)
    intel = _read_define(header, "I_MPI_VERSION")
    if intel:
        return f"Intel MPI {intel}"
    mpich = _read_define(header, "MPICH_VERSION")
    return f"MPICH {mpich}" if mpich else None


def _short(text: str) -> str:
    """Return the product in the form that is read from headers: a name, a space, a version."""
    for pattern, name in _PRODUCTS:
        match = re.search(pattern, text)
        if match:
            return f"{name} {match.group(1)}"
    return text[:60]


def _read_define(header: str, name: str) -> str | None:
    match = re.search(rf'^\s*#\s*define\s+{name}\s+"?([^"\s]+)"?', header, re.MULTILINE)
    return match.group(1) if match else None


def _numbers(product: str) -> tuple[int, ...]:
    match = re.search(r"\d+(\.\d+)*", product)
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def _describe_missing(library: MpiLibrary) -> str:
    packages = {"openmpi": "libopenmpi-dev", "mpich": "libmpich-dev", "standard": "MPICH 5 or newer"}
    what = str(library.path) if library.path else f"a library of {_NAMES[library.abi]}"
    return (
        f"no headers found for {what}: name their directory in HALOSCOPE_MPI_INCLUDE, "
        f"or install them ({packages[library.abi]}, or a module of your site with mpicc)"
    )
