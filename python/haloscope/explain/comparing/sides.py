"""The two sides of a comparison: their runs, and checks that they can be compared."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from haloscope.base.errors import ProfileError, UsageError
from haloscope.base.units import noun_text, ranks_text
from haloscope.explain.comparing.facts import count_facts, knows_memory, list_pairs, read_own_times
from haloscope.explain.findings import find_crowded_host
from haloscope.markov import series_of
from haloscope.profile import Profile
from haloscope.profile.tables import run_information

# Settings of the recorder that change counts or times.
RECORDED = ("only", "from", "until", "trace", "exact_times", "sync_collectives", "unwatched_ranks")
_TABLES = ("calls", "sizes", "partners", "collectives", "communicators")


@dataclass(frozen=True)
class ComparedRun:
    """One profile: `info` is its run information; the frames are those of `facts`.

    `series` are paths of regions. `crowded` is a host with too few CPUs, as `find_crowded_host` returns it.
    """

    path: Path
    info: dict[str, Any]
    facts: pl.DataFrame
    times: pl.DataFrame
    pairs: pl.DataFrame
    series: tuple[str, ...]
    unknown: frozenset[str]
    crowded: tuple[int, int, int] | None

    @property
    def ranks(self) -> int:
        """Ranks of MPI_COMM_WORLD."""
        return int(self.info["ranks"] or 0)

    @property
    def program(self) -> str:
        """Name of the program."""
        return str(self.info["program"] or "unknown program")

    @property
    def is_traced(self) -> bool:
        """Whether waiting times are known."""
        return bool(self.times["waiting"].is_not_null().any())


@dataclass(frozen=True)
class Side:
    """Runs that are repetitions of each other. `name` is A or B; `skipped` has a line per unreadable file."""

    name: str
    runs: Sequence[ComparedRun]
    skipped: Sequence[str] = field(default=())

    @property
    def first(self) -> ComparedRun:
        """The first run."""
        return self.runs[0]


def read_run(path: str | os.PathLike[str]) -> ComparedRun:
    """Read the profile at `path` for a comparison. All of its checksums are verified.

    Raises:
        ProfileError: The profile is damaged, or ranks are missing.
    """
    with Profile(path) as profile:
        profile.verify()
        info = profile.data.guard(lambda: run_information(profile.data))
        if info["missing_ranks"] or info["unfinished_ranks"] or info["partial"]:
            lost = sorted({*(info["missing_ranks"] or ()), *(info["unfinished_ranks"] or ())})
            missing = (
                f"{ranks_text(lost)} {'is' if len(lost) == 1 else 'are'} missing"
                if lost
                else "a part is missing"
            )
            raise ProfileError(f"{profile.path}: the run is incomplete: {missing}; run it again")
        return profile.data.guard(
            lambda: ComparedRun(
                Path(path),
                info,
                count_facts(profile),
                read_own_times(profile),
                list_pairs(profile),
                _list_series(profile),
                _find_unknown(profile),
                find_crowded_host(profile),
            )
        )


def _find_unknown(profile: Profile) -> frozenset[str]:
    tables = {table for table in _TABLES if profile.lacks(table)}
    return frozenset(tables if knows_memory(profile) else tables | {"memory"})


def _list_series(profile: Profile) -> tuple[str, ...]:
    if not profile.data.source.rows("series"):
        return ()

    return tuple(series_of(profile))


def read_sides(first: Sequence[Path], second: Sequence[Path]) -> tuple[Side, Side]:
    """Return sides A and B. Files that cannot be read are left out and listed in `skipped`.

    Raises:
        UsageError: A side has no files, a file is given twice, or runs of a side are not repetitions.
        ProfileError: None of a side's files can be read.
    """
    if not first or not second:
        raise UsageError(
            "one side has no files; give the runs of each side (haloscope compare A1 A2 -- B1 B2)"
        )
    seen: dict[Path, Path] = {}
    for path in (*first, *second):
        if seen.setdefault(path.resolve(), path) is not path:
            raise UsageError(f"{path}: is given twice; give different files")
    sides = _read_side("A", first), _read_side("B", second)
    for side in sides:
        for run in side.runs[1:]:
            if why := explain_difference(side.first, run):
                raise UsageError(f"{run.path}: {why}; runs of one side must be repetitions of each other")
    first_run, second_run = (side.first for side in sides)
    if first_run.ranks != second_run.ranks:
        raise UsageError(
            f"{second_run.path}: has {noun_text(second_run.ranks, 'rank')}, but {first_run.path} has"
            f" {first_run.ranks};"
            " compare runs with the same number of ranks (haloscope report shows how a program scales)"
        )
    sources = [run.info.get("source") or "a profile of haloscope run" for run in (first_run, second_run)]
    if sources[0] != sources[1]:
        raise UsageError(
            f"{second_run.path}: is {sources[1]}, but {first_run.path} is {sources[0]}; tools count"
            " differently, so"
            " compare files of the same tool"
        )
    return sides


def explain_difference(run: ComparedRun, other: ComparedRun) -> str | None:
    """Return the reason why two runs are not repetitions of each other; None if they may be."""
    if run.program != other.program:
        return f"is of {other.program}, but {run.path} is of {run.program}"
    if run.ranks != other.ranks:
        return f"has {noun_text(other.ranks, 'rank')}, but {run.path} has {run.ranks}"
    for key in RECORDED:
        if (run.info.get(key) or None) != (other.info.get(key) or None):
            return f"was recorded with a different {key!r} than {run.path}"
    if run.info.get("source") != other.info.get("source"):
        return f"is of a different tool than {run.path}"
    return None


def list_times(runs: Sequence[ComparedRun], region: str, column: str) -> list[float]:
    """Return a time (s) per run from a column of `times`, NaN where the run has none."""
    found = []
    for run in runs:
        value = run.times.filter(pl.col("region") == region)[column].to_list()
        found.append(float("nan") if not value or value[0] is None else float(value[0]))
    return found


def _read_side(name: str, paths: Sequence[Path]) -> Side:
    runs, skipped = [], []
    for path in paths:
        try:
            runs.append(read_run(path))
        except ProfileError as error:
            skipped.append(str(error))
    if not runs:
        raise ProfileError(
            skipped[0] if len(skipped) == 1 else f"side {name} has no complete run: {skipped[0]}"
        )
    return Side(name, runs, skipped)
