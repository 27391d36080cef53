"""Reads a launch command: finds the launcher, and the programs that it starts."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

PYTHON = re.compile(r"(python|pypy)[\d.]*t?")

LAUNCHER = re.compile(
    r"(mpi(exec|run)([._-][\w.+-]*)?|orterun|prterun|prun|oshrun|srun|jsrun|lrun|aprun|ibrun|flux)"
)
WRAPPERS = frozenset(
    {
        "chrt",
        "env",
        "ionice",
        "nice",
        "nohup",
        "nsenter",
        "numactl",
        "perf",
        "prlimit",
        "setarch",
        "setsid",
        "stdbuf",
        "sudo",
        "taskset",
        "time",
        "timeout",
    }
)

# Launchers' options whose values could be taken for a program. Numbers, and words that are not
# executable files, need no entry.
_TWO_VALUES = frozenset({"mca", "omca", "gmca", "prtemca", "pmixmca", "tunemca", "env", "genv"})
_ONE_VALUE = frozenset(
    {
        "A",
        "account",
        "am",
        "app",
        "bind-to",
        "bootstrap",
        "bootstrap-exec",
        "C",
        "chdir",
        "configfile",
        "constraint",
        "D",
        "d",
        "debugger",
        "default-hostfile",
        "distribution",
        "e",
        "envlist",
        "error",
        "export",
        "f",
        "genvlist",
        "H",
        "host",
        "hostfile",
        "hostlist",
        "hosts",
        "i",
        "iface",
        "input",
        "J",
        "job-name",
        "launch-agent",
        "launcher",
        "launcher-exec",
        "m",
        "M",
        "machinefile",
        "map-by",
        "mpi",
        "multi-prog",
        "nodelist",
        "o",
        "output",
        "output-filename",
        "p",
        "partition",
        "path",
        "personality",
        "prefix",
        "preload-files",
        "q",
        "qos",
        "R",
        "rank-by",
        "rankfile",
        "rf",
        "t",
        "time",
        "tune",
        "w",
        "wd",
        "wdir",
        "workdir",
        "X",
        "x",
        "xml-file",
    }
)


@dataclass(frozen=True)
class Executable:
    """One executable in a launch command; `end` is where its arguments stop."""

    index: int
    end: int
    path: Path


@dataclass(frozen=True)
class LaunchCommand:
    """A command, taken apart. `launcher` is None for a program that is started directly."""

    command: tuple[str, ...]
    launcher: Path | None
    options: tuple[str, ...]
    programs: tuple[Executable, ...]

    @property
    def kind(self) -> str:
        """The launcher's base name, or an empty string."""
        return self.launcher.name if self.launcher else ""

    def with_environment(self, variables: Mapping[str, str]) -> LaunchCommand:
        """Return the same command with `env NAME=VALUE…` before each program."""
        command = list(self.command)
        words = ["/usr/bin/env", *(f"{name}={value}" for name, value in variables.items())]
        for program in reversed(self.programs):
            command[program.index : program.index] = words
        return replace(self, command=tuple(command))


def name_of(launch: LaunchCommand) -> str:
    """Return the name of the first program; for a Python program, that of its script or module."""
    if not launch.programs:
        return launch.command[0]
    first = launch.programs[0]
    if not PYTHON.fullmatch(first.path.name):
        return first.path.name
    words = launch.command[first.index + 1 : first.end]
    scripts = [Path(word).name for word in words if word.endswith(".py")]
    modules = [after for word, after in pairwise(words) if word == "-m"]
    return next(iter([*scripts, *modules[-1:]]), first.path.name)


def launchers(launch: LaunchCommand) -> list[Path]:
    """Return the launcher; for a script, all launchers that it names with their path."""
    if launch.launcher is not None:
        return [launch.launcher]
    words = [word for program in launch.programs for word in script_text(program.path).split()]
    paths = [Path(word.strip("\"'")) for word in words if "/" in word]
    return [p for p in dict.fromkeys(paths) if LAUNCHER.fullmatch(p.name) and resolve(str(p))]


def script_text(path: Path) -> str:
    """Return the text of a script; an empty text for other files."""
    try:
        with path.open("rb") as file:
            text = file.read(1 << 20)
    except OSError:
        return ""
    return os.fsdecode(text) if text.startswith(b"#!") else ""


def resolve(word: str) -> Path | None:
    """Return the executable file that a word of a command would start, if any."""
    found = shutil.which(os.path.expanduser(word))
    return Path(found).absolute() if found and os.path.isfile(found) else None


def parse(command: Sequence[str]) -> LaunchCommand:
    """Find the launcher and the programs of a command."""
    words = tuple(command)
    first = resolve(words[0])
    if first is None:
        return LaunchCommand(words, None, (), ())
    launcher = _launcher_at(words)
    if launcher is None:
        return LaunchCommand(words, None, (), (Executable(0, len(words), first),))
    programs = tuple(_programs(words, launcher + 1))
    end = programs[0].index if programs else len(words)
    return LaunchCommand(words, resolve(words[launcher]), words[launcher + 1 : end], programs)


def _launcher_at(words: Sequence[str]) -> int | None:
    """Return the index of the launcher: the first word, or a word behind wrappers such as `env`."""
    if LAUNCHER.fullmatch(Path(words[0]).name):
        return 0
    if Path(words[0]).name not in WRAPPERS:
        return None
    for index in range(1, len(words)):
        if LAUNCHER.fullmatch(Path(words[index]).name) and resolve(words[index]):
            return index
    return None


def _programs(words: Sequence[str], start: int) -> Iterator[Executable]:
    """Yield the program of each part of an MPMD command; `:` separates the parts."""
    if Path(words[start - 1]).name == "flux" and start < len(words):
        start += 1  # flux run, flux submit
    while start < len(words):
        end = words.index(":", start) if ":" in words[start:] else len(words)
        program = _first_program(words, start, end)
        if program is not None:
            yield program
        start = end + 1


def _first_program(words: Sequence[str], start: int, end: int) -> Executable | None:
    index = start
    while index < end:
        word = words[index]
        if word == "--":
            index += 1
        elif word.startswith("-"):
            index += 1 + _values(word)
        else:
            path = None if word.replace(".", "").isdigit() else resolve(word)
            if path is not None:
                return Executable(index, end, path)
            index += 1
    return None


def _values(option: str) -> int:
    name = option.lstrip("-")
    return 2 if name in _TWO_VALUES else 1 if name in _ONE_VALUE else 0
