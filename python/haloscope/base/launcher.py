"""The launcher of the MPI in use: named by the user, on PATH, or in this Python environment."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from haloscope.base.cache import tell
from haloscope.base.headers import library_version
from haloscope.base.launch import LAUNCHER, WRAPPERS, resolve
from haloscope.base.mpi import find_installed_library
from haloscope.base.toolchain import Toolchain, toolchain
from haloscope.base.tools import environment_tool


def complete_command(command: Sequence[str], quiet: bool = False) -> list[str]:
    """Return a launch command in which a launcher that is not on PATH is replaced by this environment's.

    Verbs of Haloscope may come before the launch command. A line on standard error names the launcher.
    """
    words = list(command)
    for index in _commands(words):
        found = environment_tool(words[index])
        if found is not None:
            if LAUNCHER.fullmatch(words[index]) and not quiet:
                print_launcher(found)
            words[index] = str(found)
    return words


@cache
def print_launcher(launcher: Path) -> None:
    """Print the launcher that starts ranks and the MPI that it belongs to, once per process."""
    library = find_installed_library(launcher)
    version = library_version(library.path) if library and library.path else None
    path = Path(os.path.relpath(launcher)) if launcher.is_relative_to(Path.cwd()) else launcher
    tell(f"launcher: {path}" + (f" ({version[1]})" if version else ""))


def report_toolchain() -> Toolchain:
    """Return the MPI in use, whose launcher is printed. Raises `ComponentError` if there is none."""
    tools = toolchain()
    print_launcher(tools.launcher)
    return tools


def _commands(words: Sequence[str]) -> list[int]:
    """Return the indices of a launcher, and of verbs of ours before it, that are not on PATH."""
    missing = []
    start = 0
    while start < len(words) and Path(words[start]).name == "haloscope":
        missing += [] if resolve(words[start]) else [start]
        start = words.index("--", start) + 1 if "--" in words[start:] else len(words)
    for index in range(start, len(words)):
        name = words[index]
        if "/" in name:
            break
        if LAUNCHER.fullmatch(name):
            return missing if resolve(name) else [*missing, index]
        # Options and values of wrappers such as `env` and `timeout` are not programs.
        is_program = resolve(name) is not None and not name.replace(".", "").isdigit()
        if is_program and name not in WRAPPERS:
            break
        if index == start and name not in WRAPPERS:
            break
    return missing
