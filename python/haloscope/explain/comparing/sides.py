"""The two sides of a comparison: which runs belong to them, and whether they can be compared at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from haloscope.base.errors import ProfileError, UsageError
from haloscope.base.units import ranks_text
from haloscope.explain.comparing.facts import count_facts, knows_memory, own_times, pairs
from haloscope.markov import series_of
from haloscope.profile import Profile
from haloscope.profile.tables import run_information

# A run that was recorded in another way counts other things, or takes another time.
RECORDED = ("only", "from", "until", "trace", "exact_times", "sync_collectives", "unwatched_ranks")
_TABLES = ("calls", "sizes", "partners", "collectives", "communicators")


@dataclass(frozen=True)
class ComparedRun:
    """One profile: `told` is its run information; the frames are those of `facts`, `series` have paths."""

    path: Path
    told: dict[str, Any]
    facts: pl.DataFrame
    times: pl.DataFrame
    pairs: pl.DataFrame
    series: tuple[str, ...]
    unknown: frozenset[str]

    @property
    def ranks(self) -> int:
        """Ranks of MPI_COMM_WORLD."""
        return int(self.told["ranks"] or 0)

    @property
    def program(self) -> str:
        """What ran."""
        return str(self.told["program"] or "unknown program")

    @property
    def is_traced(self) -> bool:
        """Whether waiting is known."""
        return bool(self.times["waiting"].is_not_null().any())


@dataclass(frozen=True)
class Side:
    """Runs that are taken for alike; `name` is A or B, `skipped` lines say which could not be read."""

    name: str
    runs: Sequence[ComparedRun]
    skipped: Sequence[str] = field(default=())

    @property
    def first(self) -> ComparedRun:
        """The first run."""
        return self.runs[0]


def read_run(path: str | os.PathLike[str]) -> ComparedRun:
    """Return what the profile at `path` brings to a comparison.

    Every byte of it is checked. Raises `ProfileError` if it is damaged, or if ranks are missing in it.
    """
    with Profile(path) as profile:
        profile.verify()
        told = profile.data.guard(lambda: run_information(profile.data))
        if told["missing_ranks"] or told["unfinished_ranks"] or told["partial"]:
            lost = sorted({*(told["missing_ranks"] or ()), *(told["unfinished_ranks"] or ())})
            who = ranks_text(lost) if lost else "a part"
            raise ProfileError(f"{profile.path}: the run is not whole: {who} is missing; run it again")
        return profile.data.guard(
            lambda: ComparedRun(
                Path(path),
                told,
                count_facts(profile),
                own_times(profile),
                pairs(profile),
                _series(profile),
                _unknown(profile),
            )
        )


def _unknown(profile: Profile) -> frozenset[str]:
    tables = {table for table in _TABLES if profile.lacks(table)}
    return frozenset(tables if knows_memory(profile) else tables | {"memory"})


def _series(profile: Profile) -> tuple[str, ...]:
    if not profile.data.source.rows("series"):
        return ()

    return tuple(series_of(profile))


def read_sides(first: Sequence[Path], second: Sequence[Path]) -> tuple[Side, Side]:
    """Return sides A and B. Files that cannot be read are left out by name.

    Raises `UsageError` for a side without files, a file that is named twice, and runs that are no repetitions
    of each other; `ProfileError` if none of a side's files can be read.
    """
    if not first or not second:
        raise UsageError("there is nothing on one side of --; name the runs of each side")
    seen: dict[Path, Path] = {}
    for path in (*first, *second):
        if seen.setdefault(path.resolve(), path) is not path:
            raise UsageError(f"{path}: is named twice; name different files")
    sides = _side("A", first), _side("B", second)
    for side in sides:
        for run in side.runs[1:]:
            if why := why_apart(side.first, run):
                raise UsageError(f"{run.path}: {why}; runs of one side are repetitions of each other")
    one, other = (side.first for side in sides)
    if one.ranks != other.ranks:
        raise UsageError(
            f"{other.path}: ran on {other.ranks} ranks, and {one.path} on {one.ranks}; compare takes runs on "
            "equally many (haloscope report shows how a program scales)"
        )
    sources = [run.told.get("source") or "a profile of haloscope run" for run in (one, other)]
    if sources[0] != sources[1]:
        raise UsageError(
            f"{other.path}: is {sources[1]}, and {one.path} {sources[0]}; tools count in different ways, so "
            "compare files of one tool"
        )
    return sides


def why_apart(one: ComparedRun, other: ComparedRun) -> str | None:
    """Return why two runs are no repetitions of each other, None if they may be."""
    if one.program != other.program:
        return f"is of {other.program}, and {one.path} of {one.program}"
    if one.ranks != other.ranks:
        return f"ran on {other.ranks} ranks, and {one.path} on {one.ranks}"
    for key in RECORDED:
        if (one.told.get(key) or None) != (other.told.get(key) or None):
            return f"was recorded with another {key!r} than {one.path}"
    if one.told.get("source") != other.told.get("source"):
        return f"is of another tool than {one.path}"
    return None


def times_of_runs(runs: Sequence[ComparedRun], region: str, column: str) -> list[float]:
    """Return a time of each run (a column of `times`, s), NaN where the run has none."""
    found = []
    for run in runs:
        value = run.times.filter(pl.col("region") == region)[column].to_list()
        found.append(float("nan") if not value or value[0] is None else float(value[0]))
    return found


def _side(name: str, paths: Sequence[Path]) -> Side:
    runs, skipped = [], []
    for path in paths:
        try:
            runs.append(read_run(path))
        except ProfileError as error:
            skipped.append(str(error))
    if not runs:
        raise ProfileError(skipped[0] if len(skipped) == 1 else f"side {name} has no whole run: {skipped[0]}")
    return Side(name, runs, skipped)
