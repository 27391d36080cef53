"""An MPI library of four functions: enough to be recognised, in a place where no headers are."""

from __future__ import annotations

import subprocess
from pathlib import Path

FUNCTIONS = ("MPI_Init", "MPI_Send", "MPI_Recv", "MPI_Barrier")
_VERSION = """
int MPI_Get_version(int *major, int *minor) { *major = 3; *minor = 1; return 0; }
int MPI_Get_library_version(char *text, int *size) {
  *size = __builtin_sprintf(text, "Open MPI v%s, small");
  return 0;
}
"""


def small_open_mpi(directory: Path, version: str) -> Path:
    """Compile a library that reports to be Open MPI of this version. Return its file."""
    directory.mkdir(parents=True)
    library = directory / "libmpi.so.40"
    text = _VERSION % version + "".join(f"void P{name}(void) {{}}\n" for name in FUNCTIONS)
    words = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(words, input=text, text=True, check=True)
    return library


def small_header(directory: Path, version: str) -> Path:
    """Write the `mpi.h` of an Open MPI of this version, of MPI 3.1. Return its directory."""
    directory.mkdir(parents=True)
    numbers = dict(zip(("MAJOR", "MINOR", "RELEASE"), version.split("."), strict=True))
    lines = [f"#define OMPI_{part}_VERSION {number}\n" for part, number in numbers.items()]
    lines += ["#define MPI_VERSION 3\n", "#define MPI_SUBVERSION 1\n"]
    (directory / "mpi.h").write_text("".join(lines))
    return directory
