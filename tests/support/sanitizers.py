"""Recorder and kernels built with GCC's sanitizers, and programs run with them."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from haloscope.base.headers import find_headers
from haloscope.base.objects import MpiLibrary
from haloscope.watch import Recorder
from support.mpi import CHECKOUT, Mpi
from support.processes import run_program

_BIN = Path(sys.executable).parent
# Optimised as for users they take minutes to compile with sanitizers, which see no less without. Programs
# that run with the recorder's are in C: Fortran's wrappers are there to be linked.
_LAUNCHER = """\
#!/bin/sh
case "$*" in
*/fortran_wrappers.cpp*) exec "$@" -O0 -g0 -fno-sanitize=all ;;
*) exec "$@" -O0 -g1 ;;
esac
"""
_RUNTIME = {"address": "libasan.so", "address,undefined": "libasan.so", "thread": "libtsan.so"}


@dataclass(frozen=True)
class Sanitized:
    """One build: the recorder, and the library that must be loaded before it."""

    mpi: Mpi
    recorder: Recorder
    runtime: Path

    def run(
        self,
        ranks: int,
        command: Sequence[str | Path],
        directory: Path,
        *,
        options: Sequence[str] = (),
        below: Sequence[Path] = (),
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program; `directory` gets its profile `run.halo`, live records and reports.

        `options` are the sanitizers', `below` libraries between the recorder and MPI.
        """
        live = directory / "live"
        live.mkdir()
        preload = ":".join(map(str, (self.runtime, self.recorder.library, *below)))
        variables = {
            **report_options(directory, options),
            "LD_PRELOAD": preload,
            "HALOSCOPE_OUTPUT": str(directory / "run.halo"),
            "HALOSCOPE_LIVE": str(live),
            "HALOSCOPE_RUN": "run",
        }
        words = [f"{name}={value}" for name, value in variables.items()]
        return self.mpi.run(ranks, [*_wrapper(self.runtime), "env", *words, *command], env=env, status=None)

    def join(self, directory: Path, options: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Joins the live records that `run` left in `directory` to its `run.halo`."""
        records = directory / "live" / "haloscope-run"
        options = ["detect_leaks=1", *options]
        return run_program(
            [str(self.recorder.join), str(records), str(directory / "run.halo")],
            env={**os.environ, **report_options(directory, options)},
            status=None,
        )


def report_options(directory: Path, options: Sequence[str]) -> dict[str, str]:
    """Reports go to files, as a launcher may lose what a dying rank writes."""
    common = f"log_path={directory / 'report'}"
    return {
        # Leaks: those of the MPI library would hide ours.
        "ASAN_OPTIONS": ":".join([common, "detect_leaks=0", *options]),
        "UBSAN_OPTIONS": f"{common}:halt_on_error=1:print_stacktrace=1",
        "TSAN_OPTIONS": ":".join([common, *options]),
    }


def reports(directory: Path) -> list[str]:
    """What sanitizers had to say, a text a process."""
    return [path.read_text() for path in sorted(directory.glob("report.*"))]


@cache
def build(mpi: Mpi, sanitizers: str) -> Sanitized:
    """The recorder for an MPI, below build/, where only changed files are built again."""
    runtime = _runtime(sanitizers)
    library = MpiLibrary("openmpi" if mpi.abi == "openmpi" else "mpich", mpi.library)
    headers = find_headers(library, (mpi.mpicc,))
    options = {
        "Python3_EXECUTABLE": sys.executable,
        "HALOSCOPE_ABI": headers.abi,
        "HALOSCOPE_MPI_INCLUDE": ";".join(map(str, headers.directories)),
    }
    return Sanitized(mpi, Recorder(_built("watch", mpi.name, sanitizers, options)), runtime)


def build_kernels(sanitizers: str, *, baseline_only: bool) -> tuple[Path, Path]:
    """Return the library of `src/explain`, and the one that must be loaded before it.

    With `baseline_only` it has the kernels of one instruction set, and is built in a third of the time.
    """
    runtime = _runtime(sanitizers)
    name = "explain-baseline" if baseline_only else "explain"
    options = {"HALOSCOPE_BASELINE_ONLY": "ON" if baseline_only else "OFF"}
    return _built("explain", name, sanitizers, options) / "libhaloscope-explain.so", runtime


def _runtime(sanitizers: str) -> Path:
    runtime = _gcc("-print-file-name=" + _RUNTIME[sanitizers])
    if not Path(runtime).is_absolute():
        raise LookupError(f"GCC has no {runtime}: apt-get install g++")
    return Path(runtime)


def _built(room: str, name: str, sanitizers: str, options: Mapping[str, object]) -> Path:
    directory = CHECKOUT / "build" / "sanitizers" / f"{name}-{sanitizers.replace(',', '-')}"
    directory.mkdir(parents=True, exist_ok=True)
    with _alone(directory):
        launcher = directory / "launcher.sh"
        if not launcher.exists() or launcher.read_text() != _LAUNCHER:
            launcher.write_text(_LAUNCHER)
            launcher.chmod(0o755)
        options = {
            **options,
            "CMAKE_MAKE_PROGRAM": _BIN / "ninja",
            "CMAKE_CXX_COMPILER": "g++",
            "CMAKE_CXX_COMPILER_LAUNCHER": launcher,
            "HALOSCOPE_SANITIZE": sanitizers,
        }
        words = [f"-D{key}={value}" for key, value in options.items()]
        source = CHECKOUT / "src" / room
        run_program([_BIN / "cmake", "-G", "Ninja", "-S", source, "-B", directory, *words])
        run_program([_BIN / "cmake", "--build", directory])
    return directory


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Keeps another test session out of the build meanwhile."""
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@cache
def _wrapper(runtime: Path) -> list[str]:
    """ThreadSanitizer knows few ranges of addresses, and some kernels spread programs wider."""
    command = ["setarch", platform.machine(), "-R"]
    if runtime.stem != "libtsan" or shutil.which("setarch") is None:
        return []
    allowed = subprocess.run([*command, "true"], capture_output=True, check=False)
    return command if allowed.returncode == 0 else []


def _gcc(option: str) -> str:
    return run_program(["g++", option]).stdout.strip()
