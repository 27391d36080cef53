"""The MPI library whose collectives are measured, and the algorithms that it says it has."""

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
    """Return the executable made of `src/predict/NAME.cpp`; `compiler` instead of the `mpicxx` in use."""
    folder = paths.source("src", "predict")
    return build_executable(name, [folder / f"{name}.cpp"], [folder], compiler, quiet)


@dataclass(frozen=True)
class Algorithm:
    """One way in which the library does a collective, and the environment that asks for it."""

    collective: str
    name: str = DEFAULT
    number: int | None = None
    settings: tuple[tuple[str, str], ...] = ()
    # The variables that set a segment's bytes and a tree's fan-out; empty if there is no such setting.
    segment_variables: tuple[str, ...] = ()
    fanout_variables: tuple[str, ...] = ()

    @property
    def segments(self) -> bool:
        """True if a segment size can be asked for."""
        return bool(self.segment_variables)

    @property
    def fanouts(self) -> bool:
        """True if a fan-out can be asked for."""
        return bool(self.fanout_variables)

    def with_segment(self, size: int) -> Algorithm:
        """Return the same one with segments of so many bytes; 0 is the library's own choice."""
        return self._with(self.segment_variables if size else (), size)

    def with_fanout(self, number: int) -> Algorithm:
        """Return the same one with so many children or chains; 0 is the library's own choice."""
        return self._with(self.fanout_variables if number else (), number)

    def _with(self, variables: tuple[str, ...], value: int) -> Algorithm:
        kept = tuple(pair for pair in self.settings if pair[0] not in variables)
        return replace(self, settings=kept + tuple((name, str(value)) for name in variables))


@dataclass(frozen=True)
class Asked:
    """How a running program is asked for an algorithm: what it was launched with, and words for it."""

    settings: tuple[tuple[str, str], ...] = ()
    words: tuple[str, ...] = ()


class Library(Protocol):
    """What measuring needs to know of an MPI library."""

    @property
    def name(self) -> str:
        """The name as people say it: `Open MPI 4.1.4`."""

    def collectives(self) -> tuple[str, ...]:
        """Return the collectives that can be measured."""

    def algorithms(self, collective: str) -> tuple[Algorithm, ...]:
        """Return the library's own choice (`default`), then all that it offers."""

    def asked(self, algorithm: Algorithm) -> Asked | None:
        """Return how a running program is asked for an algorithm; None if only its launch can be."""

    def program(self, name: str) -> Path:
        """Return the measuring program `src/predict/NAME.cpp`, built for this library."""

    def launch(
        self, program: Sequence[str], ranks: int, environment: Mapping[str, str], mapping: str | None = None
    ) -> list[str]:
        """Return the command line that starts a program; it needs `environment` around it as well."""


@dataclass(frozen=True)
class Description:
    """What a library says about itself: its version's text, its file, its control variables."""

    version: str
    file: Path | None
    variables: Mapping[str, str]


@dataclass(frozen=True)
class OtherLibrary:
    """A library that cannot be asked for its algorithms: its own choice is all there is."""

    name: str
    tools: Toolchain
    launcher: tuple[str, ...] = ()

    def collectives(self) -> tuple[str, ...]:
        return COLLECTIVES

    def algorithms(self, collective: str) -> tuple[Algorithm, ...]:
        return (Algorithm(collective),)

    def asked(self, algorithm: Algorithm) -> Asked | None:
        return None if algorithm.settings else Asked()

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
    """Ask the library that `src/predict/variables.cpp` was linked to."""
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
        raise RecorderError(f"the MPI library cannot be asked for its version: {reason}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    by_kind: dict[str, dict[str, str]] = {"version": {}, "file": {}, "variable": {}}
    for row in rows:
        by_kind[row["record"]].setdefault(row["name"], row["text"])
    file = next(iter(by_kind["file"].values()), None)
    return Description(
        by_kind["version"].get("library", "an unknown MPI"), Path(file) if file else None, by_kind["variable"]
    )
