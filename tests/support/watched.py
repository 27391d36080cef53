"""Runs a program under `haloscope run`, and opens its profile."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import haloscope
from support.invariants import check
from support.mpi import Mpi
from support.processes import run_program
from support.programs import Compiler

PROGRAMS = Path(__file__).resolve().parents[1] / "watch" / "programs"
STRICT = ("-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow", "-Wno-stringop-overread")
_HALOSCOPE = Path(sys.executable).with_name("haloscope")


@dataclass(frozen=True)
class Traffic:
    """A region's point-to-point messages, summed over ranks, and the partners of one rank."""

    sends: int = 0
    bytes_sent: int = 0
    recvs: int = 0
    bytes_recv: int = 0
    dest_ranks: int = 0
    src_ranks: int = 0

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Traffic:
        """From a row of the table `regions`."""
        totals = ("sends_total", "bytes_sent_total", "recvs_total", "bytes_recv_total")
        return cls(*(row[name] for name in (*totals, "dest_ranks_max", "src_ranks_max")))


@dataclass(frozen=True)
class Watched:
    """A program that has run: how it ended, and its profile."""

    done: subprocess.CompletedProcess[str]
    path: Path

    @cache  # noqa: B019  a handful of profiles a session
    def rows(self, table: str, exclusive: bool = False) -> list[dict[str, Any]]:
        """A table as records."""
        with haloscope.open(self.path) as profile:
            return profile.table(table, exclusive=exclusive).to_dicts()

    @property
    def info(self) -> dict[str, Any]:
        """The table `info`, by key, as `haloscope show` prints its values."""
        return {row["key"]: row["value"] for row in self.rows("info")}

    def region(self, path: str, exclusive: bool = False) -> dict[str, Any]:
        """The row of one path; `<program>` for the whole."""
        (row,) = [row for row in self.rows("regions", exclusive) if row["path"] == path]
        return row

    def traffic(self, path: str, exclusive: bool = False) -> Traffic:
        """The messages of one path."""
        return Traffic.of(self.region(path, exclusive))

    def select(self, table: str, exclusive: bool = True, **values: Any) -> list[dict[str, Any]]:
        """The rows of a table in which these columns have these values."""
        rows = self.rows(table, exclusive)
        return [row for row in rows if all(row[name] == value for name, value in values.items())]

    def facts(self, table: str) -> list[dict[str, Any]]:
        """A table without what depends on time, such as the number of polls; rows are sorted."""
        polls = ("MPI_Test", "MPI_Iprobe", "MPI_Improbe")
        timed = {"start", "duration", "wait"}
        rows = [
            {
                name: row[name]
                for name in row
                if "time" not in name and "polls" not in name and name not in timed
            }
            for row in self.rows(table, True)
            # a size at which nothing was sent has a time only
            if not str(row.get("call")).startswith(polls) and row.get("messages") != 0
        ]
        return sorted(rows, key=lambda row: [str(value) for value in row.values()])

    def calls(self, call: str, region: str) -> int:
        """How often all ranks called a function in a region itself."""
        return sum(row["calls"] for row in self.select("calls", region=region, call=call))


def program(compiler: Compiler, mpi: Mpi, name: str, flags: Sequence[str] = ()) -> Path:
    """One of tests/watch/programs."""
    return compiler(mpi, PROGRAMS / name, [*STRICT, *flags])


def watch(
    mpi: Mpi,
    ranks: int,
    command: Sequence[str | Path],
    directory: Path,
    *,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    status: int | None = 0,
) -> Watched:
    """Runs a program under the real command; `status` None: the caller looks at it.

    Whatever the program is, the tables of its profile must agree with one another.
    """
    path = directory / f"{uuid4().hex}.halo"
    words = [_HALOSCOPE, "run", "--quiet", "-o", path, *options, "--", *mpi.launch(ranks)]
    done = run_program(
        [*map(str, words), *map(str, command)], env=mpi.environment(env), cwd=directory, status=None
    )
    if status is not None:
        assert done.returncode == status, done.stdout + done.stderr
    if path.exists():
        check(path)
    return Watched(done, path)
