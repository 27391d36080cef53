"""Finds OTF2's C library on this machine, and builds our library that calls it, once, into the cache."""

from __future__ import annotations

import ctypes
import os
import shutil
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from haloscope.base import paths
from haloscope.base.cache import build_once, fingerprint
from haloscope.base.cache import cache as cache_directory
from haloscope.base.errors import ComponentError
from haloscope.base.toolchain import build_environment, compiler, compiler_identity, run_logged

_MISSING = (
    "OTF2 not found: install it (Debian: apt-get install libopen-trace-format2-dev), or set OTF2_DIR to "
    "where its include/otf2/otf2.h is"
)
# Debian's name, and the usual one.
_NAMES = ("open-trace-format2", "otf2")
_SUFFIXES = (".so", ".a")


@dataclass(frozen=True)
class Otf2:
    """An installation of OTF2."""

    prefix: Path
    library: str
    directory: Path

    @property
    def words(self) -> list[str]:
        """The compiler options for using it, and for finding it at run time."""
        library_path = str(self.directory)
        return [
            f"-I{self.prefix / 'include'}",
            f"-L{library_path}",
            f"-Wl,-rpath,{library_path}",
            f"-l{self.library}",
        ]


def find_otf2() -> Otf2:
    """Return the installation that `OTF2_DIR` names, else that of otf2-config, else the system's.

    Raises `ComponentError`.
    """
    named = os.environ.get("OTF2_DIR")
    tool = shutil.which("otf2-config")
    around = [Path(tool).resolve().parents[1]] if tool else []
    for prefix in [Path(named)] if named else [*around, Path("/usr"), Path("/usr/local"), Path("/opt/otf2")]:
        if (prefix / "include" / "otf2" / "otf2.h").is_file():
            found = _library_of(prefix)
            if found:
                return found
    raise ComponentError(_MISSING)


def _library_of(prefix: Path) -> Otf2 | None:
    for folder in ("lib", "lib64", *sorted(path.name for path in prefix.glob("lib/*-linux-gnu*"))):
        directory = prefix / "lib" / folder if "linux" in folder else prefix / folder
        for name in _NAMES:
            if any((directory / f"lib{name}{suffix}").exists() for suffix in _SUFFIXES):
                return Otf2(prefix, name, directory)
    return None


@cache
def otf2_library() -> ctypes.CDLL:
    """Return our library that writes OTF2.

    Raises `ComponentError` if OTF2 is missing, `RecorderError` if our library cannot be built.
    """
    otf2 = find_otf2()
    made = _build_library(otf2) / "libhaloscope-otf2.so"
    try:
        return _declare_functions(ctypes.CDLL(str(made)))
    except OSError as error:
        raise ComponentError(f"{made}: cannot be loaded ({error}); is OTF2_DIR right?") from None


def _build_library(otf2: Otf2) -> Path:
    source = paths.source("src") / "explain" / "exporting"
    header = otf2.prefix / "include" / "otf2" / "OTF2_Archive.h"
    files = [*source.glob("*.hpp"), source / "otf2.cpp", *([header] if header.is_file() else [])]
    key = fingerprint(files, *otf2.words, version("haloscope"), compiler_identity(compiler()))
    what = f"building the OTF2 writer with {otf2.prefix}"

    def build(directory: Path) -> None:
        flags = ["-O2", "-std=c++20", "-fPIC", "-shared", "-static-libstdc++", "-static-libgcc"]
        made = ["-o", str(directory / "libhaloscope-otf2.so")]
        command = [compiler(), *flags, f"-I{source.parents[1]}", str(source / "otf2.cpp"), *made, *otf2.words]
        run_logged(command, what, cache_directory() / "otf2-build.log", build_environment())

    return build_once(f"otf2-{key}", build, what, quiet=False)


def _declare_functions(found: ctypes.CDLL) -> ctypes.CDLL:
    pointer, text, small, wide = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64
    number = ctypes.c_int
    found.haloscope_otf2_error.restype = text
    found.haloscope_otf2_open.argtypes = [text, text]
    found.haloscope_otf2_open.restype = pointer
    found.haloscope_otf2_events.argtypes = [pointer] * 5
    found.haloscope_otf2_definitions.argtypes = [pointer]
    found.haloscope_otf2_definitions.restype = pointer
    found.haloscope_otf2_close.argtypes = [pointer]
    found.haloscope_otf2_clock.argtypes = [pointer, wide, wide]
    found.haloscope_otf2_paradigm.argtypes = [pointer, small]
    found.haloscope_otf2_string.argtypes = [pointer, small, text]
    found.haloscope_otf2_node.argtypes = [pointer, small, small, small, ctypes.c_int64]
    found.haloscope_otf2_process.argtypes = [pointer, small, small, small]
    found.haloscope_otf2_location.argtypes = [pointer, wide, small, wide, small]
    found.haloscope_otf2_dropped.argtypes = [pointer, wide, small, wide]
    found.haloscope_otf2_region.argtypes = [pointer, small, small, small, number, number]
    found.haloscope_otf2_group.argtypes = [pointer, small, small, number, small, pointer]
    found.haloscope_otf2_communicator.argtypes = [pointer, small, small, small]
    return found
