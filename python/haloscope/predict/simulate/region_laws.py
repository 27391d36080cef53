"""Scaling models of a program's regions from several profiles, for the regions of the largest one."""

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
from haloscope.base.units import noun_text
from haloscope.explain.ensembles import FEWEST_POINTS, Beyond, extrapolate_laws
from haloscope.predict.simulate.profile_patterns import (
    IN_MPI,
    Grown,
    find_grid,
    read_computing,
    read_sends,
    require_pattern,
)
from haloscope.predict.simulate.rank_grids import RankGrid

_COUNTS = ("sends", "bytes", "calls", "call_bytes")


@dataclass(frozen=True)
class RegionWork:
    """A profile: the mean work per rank in each region without nested ones, by path.

    `own` has the seconds `computing` and `mpi`, and the counts `sends`, `bytes`, `calls` (of collectives) and
    `call_bytes`.
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
            own = _read_own(opened, ranks)
        return cls(profile, ranks, info, tree.names, tree.full_names, tree.parents, own)

    def column_by_names(self, names: Sequence[str], column: str) -> Floats:
        """Return a column by regions of these names, with 0 for missing regions."""
        known = dict(zip(self.names, self.own[column].to_list(), strict=True))
        return np.array([known.get(name, 0.0) for name in names])


def _read_own(opened: explain.Profile, ranks: int) -> pl.DataFrame:
    rows = opened.frame("ranks", ["path", *IN_MPI])  # those that older files lack are null
    collectives = opened.frame("collectives")
    parts = [
        read_computing(opened).group_by("path").agg(computing=pl.col("compute").sum()),
        rows.group_by("path").agg(mpi=pl.sum_horizontal(IN_MPI).sum()),
        read_sends(opened).group_by("path").agg(pl.col("sends").sum(), bytes=pl.col("bytes_sent").sum()),
        collectives.group_by("path").agg(
            pl.col("calls").sum(), call_bytes=(pl.col("calls") * pl.col("bytes")).sum()
        ),
    ]
    whole = opened.frame("paths", ["path"])
    for part in parts:
        whole = whole.join(part, on="path", how="left", maintain_order="left")
    return whole.select(pl.exclude("path").cast(pl.Float64).fill_null(0.0) / ranks)


class RegionLaws:
    """Scaling models of one program's profiles at `points` numbers of ranks.

    `runs` has the profiles of each point.
    """

    def __init__(self, profiles: Sequence[Path], scale: str) -> None:
        """Read the profiles. Raises `UsageError` if they cannot be modelled."""
        read = [RegionWork.of(profile) for profile in profiles]
        _require_one_program(read)
        self.points = sorted({work.ranks for work in read})
        if len(self.points) < FEWEST_POINTS:
            known = ", ".join(map(str, self.points))
            raise UsageError(
                f"profiles of {known} rank{'' if known == '1' else 's'}: scaling models need {FEWEST_POINTS}"
                " numbers of ranks or more; "
                "give more profiles, or a single one"
            )
        self.runs = [[work for work in read if work.ranks == ranks] for ranks in self.points]
        self.largest = self.runs[-1][0]
        self._grids = [_find_grid(runs[0]) for runs in self.runs]
        self._strong = scale == "strong"

    @property
    def is_grid(self) -> bool:
        """Whether a grid explains the partners at all numbers of ranks."""
        return None not in self._grids

    def values(self, column: str) -> Floats:
        """Return a column of `RegionWork.own`, mean over the runs of a point, shape (regions, points)."""
        means = [
            np.mean([work.column_by_names(self.largest.names, column) for work in runs], axis=0)
            for runs in self.runs
        ]
        return np.asarray(np.array(means).T)

    def predict_computing(self, ranks: int) -> Beyond:
        """Return the predicted computing time (s) per rank.

        With strong scaling, the model is fitted to the sum over all ranks.
        """
        points = np.array(self.points, np.float64)
        factors, factor = (points, float(ranks)) if self._strong else (np.ones(len(points)), 1.0)
        found = extrapolate_laws(self.points, self.values("computing") * factors, ranks)
        value, without = (np.clip(part / factor, 0, None) for part in (found.value, found.without))
        return Beyond(found.laws, value, without, found.omitted / factors)

    def predict_waiting(self, took: Floats, ranks: int) -> Beyond:
        """Return the predicted waiting time (s), from values of shape (regions, points).

        On a grid the models use the length of the path through it, which determines how long a wave of
        messages waits.
        """
        lengths = [_equivalent_ranks(*point) for point in zip(self._grids, self.points, strict=True)]
        return extrapolate_laws(lengths, took, _equivalent_ranks(self._grids[-1], ranks))

    def predict_work(self, ranks: int) -> Grown:
        """Return the mean work per rank at a number of ranks, in the regions of the largest profile."""
        times = {name: self._growth_factors(name, ranks) for name in _COUNTS}
        profiles = noun_text(sum(map(len, self.runs)), "profile")
        how = f"by models of {profiles} of {self.points[0]} to {noun_text(self.points[-1], 'rank')}"
        return Grown(
            how,
            self.is_grid,
            self.predict_computing(ranks).value,
            times["sends"],
            times["bytes"] / times["sends"],
            times["calls"],
            times["call_bytes"] / times["calls"],
        )

    def _growth_factors(self, column: str, ranks: int) -> Floats:
        """Return the factor relative to the largest profile; 1 for regions without such work."""
        recorded = self.largest.column_by_names(self.largest.names, column)
        predicted = extrapolate_laws(self.points, self.values(column), ranks).value
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where((recorded > 0) & (predicted > 0), predicted / recorded, 1.0)
        return np.asarray(times)


def _require_one_program(read: Sequence[RegionWork]) -> None:
    first = read[0]
    for work in read:
        if work.info.get("program") != first.info.get("program"):
            raise UsageError(
                f"{first.profile} and {work.profile}: are of different programs, {first.info.get('program')}"
                " and "
                f"{work.info.get('program')}; give profiles of one program"
            )


def _find_grid(work: RegionWork) -> RankGrid | None:
    with explain.open(work.profile) as opened:
        return find_grid(opened)


def _equivalent_ranks(grid: RankGrid | None, ranks: int) -> float:
    """Return the number of ranks of a cube with the same path length as the grid of `ranks` ranks."""
    return float(ranks) if grid is None else grid.scale(ranks).cube
