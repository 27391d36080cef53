"""The laws by which the regions of a program grow, of several profiles, on the regions of the largest one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from haloscope import explain
from haloscope.base.arrays import Floats, Integers
from haloscope.base.errors import UsageError
from haloscope.explain.ensembles import FEWEST_POINTS, Beyond, extrapolate_laws
from haloscope.predict.simulate.profile_patterns import (
    IN_MPI,
    Grown,
    computing_of,
    grid_of,
    require_pattern,
    sends_of,
)
from haloscope.predict.simulate.rank_grids import RankGrid

_COUNTS = ("sends", "bytes", "calls", "call_bytes")


@dataclass(frozen=True)
class RegionWork:
    """A profile: what an average rank did in each region itself, by path.

    `own` has seconds of `computing` and in `mpi`, and counts: `sends`, `bytes`, `calls` of collectives, and
    their `call_bytes`.
    """

    profile: Path
    ranks: int
    info: dict[str, Any]
    regions: list[str]
    names: list[str]
    parents: Integers
    own: pl.DataFrame

    @classmethod
    def of(cls, profile: Path) -> RegionWork:
        """Read a profile. Raises `UsageError` if it has no pattern."""
        with explain.open(profile) as opened:
            require_pattern(opened)
            info, tree = dict(opened.info), opened.regions
            ranks = int(info["ranks"])
            own = _own(opened, ranks)
        return cls(profile, ranks, info, tree.names, tree.full_names, tree.parents, own)

    def along(self, names: Sequence[str], column: str) -> Floats:
        """Return a column by regions of these names; a region that it lacks did nothing."""
        known = dict(zip(self.names, self.own[column].to_list(), strict=True))
        return np.array([known.get(name, 0.0) for name in names])


def _own(opened: explain.Profile, ranks: int) -> pl.DataFrame:
    rows = opened.frame("ranks")
    collectives = opened.frame("collectives")
    parts = [
        computing_of(opened).group_by("path").agg(computing=pl.col("compute").sum()),
        rows.group_by("path").agg(mpi=pl.sum_horizontal(IN_MPI).sum()),
        sends_of(opened).group_by("path").agg(pl.col("sends").sum(), bytes=pl.col("bytes_sent").sum()),
        collectives.group_by("path").agg(
            pl.col("calls").sum(), call_bytes=(pl.col("calls") * pl.col("bytes")).sum()
        ),
    ]
    whole = opened.frame("paths", ["path"])
    for part in parts:
        whole = whole.join(part, on="path", how="left", maintain_order="left")
    return whole.select(pl.exclude("path").cast(pl.Float64).fill_null(0.0) / ranks)


class RegionLaws:
    """Laws of profiles of one program at `points` numbers of ranks; `runs` has those of each."""

    def __init__(self, profiles: Sequence[Path], scale: str) -> None:
        """Read the profiles. Raises `UsageError` if laws cannot be had of them."""
        read = [RegionWork.of(profile) for profile in profiles]
        _require_one_program(read)
        self.points = sorted({one.ranks for one in read})
        if len(self.points) < FEWEST_POINTS:
            known = ", ".join(map(str, self.points))
            raise UsageError(
                f"profiles of {known} ranks: laws of growth need {FEWEST_POINTS} numbers of ranks or more; "
                "name more profiles, or one alone"
            )
        self.runs = [[one for one in read if one.ranks == ranks] for ranks in self.points]
        self.largest = self.runs[-1][0]
        self._grids = [_grid(runs[0]) for runs in self.runs]
        self._strong = scale == "strong"

    @property
    def is_grid(self) -> bool:
        """True if on all numbers of ranks a grid explains who sends to whom."""
        return None not in self._grids

    def values(self, column: str) -> Floats:
        """Return a column of `RegionWork.own`, mean over the runs of a point, shape (regions, points)."""
        means = [
            np.mean([one.along(self.largest.names, column) for one in runs], axis=0) for runs in self.runs
        ]
        return np.asarray(np.array(means).T)

    def computing(self, ranks: int) -> Beyond:
        """Return what laws say of seconds of computing.

        Where the work is divided among the ranks, the law is that of all ranks together.
        """
        points = np.array(self.points, np.float64)
        one, here = (points, float(ranks)) if self._strong else (np.ones(len(points)), 1.0)
        found = extrapolate_laws(self.points, self.values("computing") * one, ranks)
        value, without = (np.clip(part / here, 0, None) for part in (found.value, found.without))
        return Beyond(found.laws, value, without, found.left_out / one)

    def waiting(self, took: Floats, ranks: int) -> Beyond:
        """Return what laws say of seconds of waiting, shape (regions, points).

        On a grid they go by how long the way through it is: what a wave of messages has to wait for.
        """
        lengths = [_length(*place) for place in zip(self._grids, self.points, strict=True)]
        return extrapolate_laws(lengths, took, _length(self._grids[-1], ranks))

    def grown(self, ranks: int) -> Grown:
        """Return what an average rank does at a number of ranks, in the regions of the largest profile."""
        times = {name: self._times(name, ranks) for name in _COUNTS}
        how = f"by laws of {sum(map(len, self.runs))} profiles of {self.points[0]} to {self.points[-1]} ranks"
        return Grown(
            how,
            self.is_grid,
            self.computing(ranks).value,
            times["sends"],
            times["bytes"] / times["sends"],
            times["calls"],
            times["call_bytes"] / times["calls"],
        )

    def _times(self, column: str, ranks: int) -> Floats:
        """Return how many times as much as in the largest profile it is; 1 where nothing is."""
        there = self.largest.along(self.largest.names, column)
        here = extrapolate_laws(self.points, self.values(column), ranks).value
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where((there > 0) & (here > 0), here / there, 1.0)
        return np.asarray(times)


def _require_one_program(read: Sequence[RegionWork]) -> None:
    first = read[0]
    for one in read:
        if one.info.get("program") != first.info.get("program"):
            raise UsageError(
                f"{first.profile} and {one.profile}: are of two programs, {first.info.get('program')} and "
                f"{one.info.get('program')}; name profiles of one"
            )


def _grid(one: RegionWork) -> RankGrid | None:
    with explain.open(one.profile) as opened:
        return grid_of(opened)


def _length(grid: RankGrid | None, ranks: int) -> float:
    """Return how many ranks a cube has through which the way is as long as through the grid of so many."""
    return float(ranks) if grid is None else grid.grown(ranks).cube
