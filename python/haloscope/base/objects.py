"""Reads executables and shared libraries: which MPI they link, which interpreter starts them."""

from __future__ import annotations

import mmap
import os
import re
import struct
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Abi = Literal["openmpi", "mpich", "standard", "simgrid"]
# The interfaces of libraries that programs run with; SimGrid's MPI is for simulations alone.
ABIS: tuple[Abi, ...] = get_args(Abi)[:3]

# By interface, not by vendor: Cray's libmpi_gnu_123.so.12 and Intel's libmpi.so.12 are MPICH's.
_STANDARD = re.compile(r"libmpi_abi\.so\.\d+")
_MPICH = re.compile(r"libmpi[\w+-]*\.so\.12(\.|$)")
_OPENMPI = re.compile(r"libmpi[\w+-]*\.so\.40(\.|$)")
_ANY = re.compile(r"libmpi[\w+-]*\.so(\.[\d.]+)?")
_BINDINGS = re.compile(r"libmpi(ch)?(f90|f77|fort|cxx|\+\+|_cxx|_mpifh|_usempi|_java|fort_abi)")
_LOADER = re.compile(rb"\0(/[\w./+-]*/ld-linux[\w.+-]*)\0")  # glibc's, of an executable
_ELF_64 = b"\x7fELF\x02\x01"  # little endian
_DYNAMIC_SYMBOLS = 11
_ALL_SYMBOLS = 2
_SYMBOL = struct.Struct("<IBBHQQ")
_LDD_LINE = re.compile(r"^\s*(\S+)(?: => (.+?))?(?: \(0x[0-9a-f]+\))?$")


@dataclass(frozen=True)
class MpiLibrary:
    """An MPI library: its interface, and its file if that is known."""

    abi: Abi
    path: Path | None


def is_elf(path: Path) -> bool:
    """Return whether the file is an executable or a library."""
    return _head(path, 4) == b"\x7fELF"


def contains(path: Path, text: bytes) -> bool:
    """Return whether the file contains these bytes; cheap, and good enough for symbol names."""
    try:
        return text in path.read_bytes()
    except OSError:
        return False


def read_defined_names(path: Path, pattern: bytes, hidden: bool = False) -> frozenset[str]:
    """Return the names that a file defines and `pattern` matches; none if it cannot be read.

    With `hidden` also those that other files cannot use, as far as the file has not been stripped.
    """
    kinds = (_DYNAMIC_SYMBOLS, _ALL_SYMBOLS) if hidden else (_DYNAMIC_SYMBOLS,)
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
            return frozenset(_find_defined_names(whole, re.compile(pattern + rb"\0"), kinds))
    except (OSError, ValueError, struct.error, IndexError):
        return frozenset()


def _find_defined_names(
    whole: mmap.mmap, pattern: re.Pattern[bytes], kinds: tuple[int, ...]
) -> Iterator[str]:
    if whole[:6] != _ELF_64:
        return
    (table,), (size, number) = struct.unpack_from("<Q", whole, 40), struct.unpack_from("<HH", whole, 58)
    sections = [struct.unpack_from("<IIQQQQI", whole, table + size * index) for index in range(number)]
    for _, kind, _, _, offset, length, link in sections:
        if kind not in kinds:
            continue
        names = whole[sections[link][4] : sections[link][4] + sections[link][5]]
        for name, _, _, section, _, _ in _SYMBOL.iter_unpack(whole[offset : offset + length]):
            found = pattern.match(names, name) if section else None
            if found:
                yield found[0][:-1].decode("ascii", "replace")


def interpreter(path: Path) -> tuple[str, ...]:
    """Return the words of a script's `#!` line, without `env`; empty for other files."""
    head = _head(path, 256)
    if not head.startswith(b"#!"):
        return ()
    words = os.fsdecode(head[2:].split(b"\n", 1)[0]).split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return tuple(words)


def abi_of(name: str, path: Path | None = None) -> Abi | None:
    """Return the interface of a library: by its versioned name, else by the names that it defines."""
    if _STANDARD.match(name):
        return "standard"
    if _MPICH.match(name):
        return "mpich"
    if _OPENMPI.match(name):
        return "openmpi"
    if _ANY.match(name) and path is not None and is_elf(path):
        if contains(path, b"ompi_mpi_comm_world"):
            return "openmpi"
        if contains(path, b"MPIR_"):
            return "mpich"
    return None


def find_linked_mpi(path: Path) -> MpiLibrary | None:
    """Return the MPI library that an executable or a library needs, directly or through other libraries."""
    listing = b""
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"} | {"LC_ALL": "C"}
    for lister in _listers(path):
        words = [*lister, str(path.absolute())]
        try:
            done = subprocess.run(words, env=environment, capture_output=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        listing = done.stdout
        if done.returncode == 0:
            break
    return pick(_dependencies(os.fsdecode(listing)))


def _listers(path: Path) -> Iterator[tuple[str, ...]]:
    """Yield commands that print the libraries that a file needs.

    Its loader is faster than `ldd`, which calls it, but prints nothing if one library is missing.
    """
    found = _LOADER.search(_head(path, 4096))
    loader = Path(os.fsdecode(found[1])) if found else None
    if loader and loader.is_file():
        yield str(loader), "--list"
    yield ("ldd",)


def pick(libraries: Iterable[tuple[str, Path | None]]) -> MpiLibrary | None:
    """Return the first MPI library among names and files; the C library before its bindings."""
    found = [
        (name, MpiLibrary(abi, path)) for name, path in libraries if (abi := abi_of(name, path)) is not None
    ]
    main = [library for name, library in found if not _BINDINGS.match(name)]
    if main:
        return main[0]
    return MpiLibrary(found[0][1].abi, None) if found else None


def _dependencies(listing: str) -> Iterable[tuple[str, Path | None]]:
    for line in listing.splitlines():
        match = _LDD_LINE.match(line)
        if match:
            name, target = match.groups()
            known = target if target and target.startswith("/") else None
            yield Path(name).name, Path(known or name) if known or name.startswith("/") else None


def _head(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""
