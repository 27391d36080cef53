"""The recorder as in a wheel for another processor, built by a cross-compiler, loaded under QEMU."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import prebuild
from support.missing import missing
from support.mpi import CHECKOUT

COMPILER, QEMU, ROOT = "aarch64-linux-gnu-g++", "qemu-aarch64-static", "/usr/aarch64-linux-gnu"
# The headers of an MPI are those of any processor of 64 bits.
BUILD = """
import sys
from pathlib import Path
from haloscope.base.headers import find_headers
from haloscope.hide import build_placer
from haloscope.watch import build_recorder
from prebuild import library
headers = find_headers(library(Path(sys.argv[1])))
print(build_recorder(headers, True).directory / "libhaloscope-watch.so")
print(build_placer(headers, True).directory / "libhaloscope-place.so")
"""
# An MPI of which only the version is asked; by PMPI_Init it is known as one.
MPI = """
int PMPI_Init(int *count, char ***words) { return !count && !words; }
int PMPI_Get_version(int *major, int *minor) { *major = 3; *minor = 1; return 0; }
int MPI_Get_version(int *major, int *minor) { return PMPI_Get_version(major, minor); }
"""
PROGRAM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int MPI_Get_version(int *, int *);
int main(int count, char **names) {
  int major = 0, minor = 0;
  MPI_Get_version(&major, &minor);
  printf("%d.%d\\n", major, minor);
  for (int i = 1; i < count; i++) {
    Dl_info where;
    void *function = dlsym(RTLD_DEFAULT, names[i]);
    if (!function || !dladdr(function, &where)) return 1;
    puts(where.dli_fname);
  }
  return 0;
}
"""


def libmpi() -> Path:
    """Debian's Open MPI, of this machine's processor."""
    found = sorted(Path("/usr/lib").glob("*-linux-gnu/libmpi.so.40"))
    if not (found and shutil.which(COMPILER) and shutil.which(QEMU)):
        missing("no cross-compiler, QEMU or Open MPI: apt-get install g++-aarch64-linux-gnu qemu-user-static")
    return found[0]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """What stands before Open MPI, for an ARM processor: the recorder, and the placer."""
    place = tmp_path_factory.mktemp("aarch64")
    environment = {
        **os.environ,
        "CXX": COMPILER,
        "HALOSCOPE_OLDER_GLIBC": "1",
        "HALOSCOPE_CACHE": str(place / "cache"),
        "PYTHONPATH": str(CHECKOUT / "tools"),
    }
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(libmpi())],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=550,
    )
    assert done.returncode == 0, done.stderr
    return [Path(line) for line in done.stdout.splitlines()]


def test_an_arm_program_has_the_recorder_before_its_mpi(built: list[Path], tmp_path: Path) -> None:
    (tmp_path / "mpi.c").write_text(MPI)
    (tmp_path / "program.c").write_text(PROGRAM)
    gcc = COMPILER.replace("g++", "gcc")
    for words in (
        [gcc, "-shared", "-fPIC", "mpi.c", "-o", "libmpi.so.40"],
        [gcc, "program.c", "-o", "program", "-L.", "-l:libmpi.so.40", "-Wl,-rpath,$ORIGIN"],
    ):
        subprocess.run(words, cwd=tmp_path, check=True, timeout=100)
    for library in built:
        assert prebuild.needed_glibc(library) <= (2, 28)
        words = [QEMU, "-L", ROOT, "-E", f"LD_PRELOAD={library}", "./program", "MPI_Send", "mpi_send_"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.split() == ["3.1", str(library), str(library)]
