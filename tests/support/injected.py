"""Programs that run with latencies: `haloscope inject`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars

from support.mpi import CHECKOUT

PROGRAMS = CHECKOUT / "tests" / "hide" / "programs"


@dataclass(frozen=True)
class Injected:
    """A program that has run with latencies: its output, and the record of the injected latencies."""

    done: subprocess.CompletedProcess[str]
    record: Path

    @property
    def lines(self) -> list[list[str]]:
        """The words of its output."""
        return [line.split() for line in self.done.stdout.splitlines()]

    @property
    def latencies(self) -> polars.DataFrame:
        """The record."""
        return polars.read_csv(self.record, schema_overrides={"latency": polars.Float64})


Inject = Callable[..., Injected]
