"""The MPI library whose collectives are measured, and its algorithms."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from haloscope.base import paths
from haloscope.base.building import build_executable
from haloscope.base.errors import RecorderError
from haloscope.base.toolchain import Toolchain

COLLECTIVES = (
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "alltoallv",
    "barrier",
    "bcast",
    "gather",
    "gatherv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scatter",
    "scatterv",
)
DEFAULT = "default"


def program(name: str, compiler: Path | None = None, quiet: bool = False) -> Path:
    """Build `src/predict/NAME.cpp` with `compiler`, by default the `mpicxx` in use. Return the executable."""
    folder = paths.source("src", "predict")
    return build_executable(name, [folder / f"{name}.cpp"], [folder], compiler, quiet)


@dataclass(frozen=True)
class Algorithm:
    """One algorithm of a collective, and the environment variables that select it."""

    collective: str
    name: str = DEFAULT
    number: int | None = None
    settings: tuple[tuple[str, str], ...] = ()
    # The variables that set a segment's bytes and a tree's fan-out; empty if there is no such setting.
    segment_variables: tuple[str, ...] = ()
    fanout_variables: tuple[str, ...] = ()

    @property
    def segments(self) -> bool:
        """Whether the segment size can be set."""
        return bool(self.segment_variables)

    @property
    def fanouts(self) -> bool:
        """Whether the fan-out can be set."""
        return bool(self.fanout_variables)

    def with_segment(self, size: int) -> Algorithm:
        """Return the algorithm with this segment size (bytes); 0 is the library's own choice."""
        return self._with(self.segment_variables if size else (), size)

    def with_fanout(self, number: int) -> Algorithm:
        """Return the algorithm with this number of children or chains; 0 is the library's own choice."""
        return self._with(self.fanout_variables if number else (), number)

    def _with(self, variables: tuple[str, ...], value: int) -> Algorithm:
        others = tuple(pair for pair in self.settings if pair[0] not in variables)
        return replace(self, settings=others + tuple((name, str(value)) for name in variables))


@dataclass(frozen=True)
class AlgorithmSelection:
    """How a running program selects an algorithm: variables at its launch, and words for the program."""

    settings: tuple[tuple[str, str], ...] = ()
    words: tuple[str, ...] = ()


class Library(Protocol):
    """An MPI library that can be measured."""

    @property
    def name(self) -> str:
        """The name with the version, such as `Open MPI 4.1.4`."""

    def collectives(self) -> tuple[str, ...]:
        """Return the collectives that can be measured."""

    def algorithms(self, collective: str) -> tuple[Algorithm, ...]:
        """Return the library's own choice (`default`), then all its algorithms."""

    def select(self, algorithm: Algorithm) -> AlgorithmSelection | None:
        """Return how a running program selects an algorithm; None if only a launch can select it."""

    def program(self, name: str) -> Path:
        """Return the measuring program `src/predict/NAME.cpp`, built for this library."""

    def launch(
        self, program: Sequence[str], ranks: int, environment: Mapping[str, str], mapping: str | None = None
    ) -> list[str]:
        """Return the command line that starts a program. It must be run with `environment`."""


@dataclass(frozen=True)
class Description:
    """The version text of a library, its file, and its control variables."""

    version: str
    file: Path | None
    variables: Mapping[str, str]


@dataclass(frozen=True)
class OtherLibrary:
    """A library whose algorithms cannot be selected: only its own choice is measured."""

    name: str
    tools: Toolchain
    launcher: tuple[str, ...] = ()

    def collectives(self) -> tuple[str, ...]:
        return COLLECTIVES

    def algorithms(self, collective: str) -> tuple[Algorithm, ...]:
        return (Algorithm(collective),)

    def select(self, algorithm: Algorithm) -> AlgorithmSelection | None:
        return None if algorithm.settings else AlgorithmSelection()

    def program(self, name: str) -> Path:
        return program(name, self.tools.compiler)

    def launch(
        self, program: Sequence[str], ranks: int, environment: Mapping[str, str], mapping: str | None = None
    ) -> list[str]:
        launcher = self.launcher or (str(self.tools.launcher),)
        return [*launcher, *self._options(ranks, environment, mapping), *program]

    def _options(self, ranks: int, _environment: Mapping[str, str], _mapping: str | None) -> list[str]:
        return ["-n", str(ranks)]


def describe(executable: Path) -> Description:
    """Describe the library that `src/predict/variables.cpp` was linked to."""
    try:
        done = subprocess.run(
            [str(executable)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RecorderError(f"{executable.name}: the MPI library does not answer: {error}") from None
    if done.returncode:
        reason = " ".join(done.stderr.split())[:200]
        raise RecorderError(f"the version of the MPI library cannot be read: {reason}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    by_kind: dict[str, dict[str, str]] = {"version": {}, "file": {}, "variable": {}}
    for row in rows:
        by_kind[row["record"]].setdefault(row["name"], row["text"])
    file = next(iter(by_kind["file"].values()), None)
    return Description(
        by_kind["version"].get("library", "an unknown MPI"), Path(file) if file else None, by_kind["variable"]
    )
