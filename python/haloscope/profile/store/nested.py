"""Inclusive values of regions, if each rank in a region is also in all regions around it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from haloscope.base.arrays import AnyArray, Integers
from haloscope.profile.store.tree import Reduction, RegionTree

_MOST_PLACES = 1 << 62


def is_ordered(paths: Integers, ranks: Integers) -> bool:
    """Return whether rows are sorted by path and then by rank, without duplicates."""
    later, same = paths[1:] > paths[:-1], paths[1:] == paths[:-1]
    return bool(np.all(later | (same & (ranks[1:] > ranks[:-1]))))


def with_nested(
    rows: pl.DataFrame, tree: RegionTree, reductions: Mapping[str, Reduction]
) -> pl.DataFrame | None:
    """Return `rows`, of `path` and `rank`, with inclusive values, as `roll_up` does but faster.

    None unless rows are sorted, and each has a row of the region around it, as in nearly all profiles.
    """
    paths, ranks = rows["path"].to_numpy(), rows["rank"].to_numpy()
    above = _rows_above(paths, ranks, tree) if is_ordered(paths, ranks) else None
    if above is None:
        return None
    depths = tree.depths[paths]
    levels = [np.flatnonzero(depths == depth) for depth in range(int(depths.max(initial=0)), 0, -1)]
    steps = [(inner, above[inner]) for inner in levels]
    return rows.with_columns(_add_up(rows[name], how, steps) for name, how in reductions.items())


def _rows_above(paths: Integers, ranks: Integers, tree: RegionTree) -> Integers | None:
    """Return for each row the row of the region around it, None if one is missing."""
    around = tree.parents[paths]
    inner = around >= 0
    first = np.searchsorted(paths, np.arange(len(tree)))
    # If all ranks are in both, each has the same index in both.
    above = np.where(inner, np.arange(len(paths)) - first[paths] + first[around], 0)
    np.minimum(above, len(paths) - 1, out=above)
    strays = np.flatnonzero(((paths[above] != around) | (ranks[above] != ranks)) & inner)
    if not len(strays):
        return above
    span = int(ranks.max()) - int(ranks.min()) + 1
    if span * len(tree) >= _MOST_PLACES:
        return None
    places = paths * span + (ranks - ranks.min())
    wanted = places[strays] + (around - paths)[strays] * span
    found = np.searchsorted(places, wanted)  # before the row itself, so never out of range
    above[strays] = found
    return above if np.array_equal(places[found], wanted) else None


def _add_up(column: pl.Series, how: Reduction, steps: list[tuple[Integers, Integers]]) -> pl.Series:
    unknown = column.null_count()
    if unknown == len(column):
        return column
    values: AnyArray = column.fill_null(0).to_numpy().copy()
    if values.any():
        _add(values, np.maximum if how == "max" else np.add, steps)
    added = pl.Series(column.name, values)
    if not unknown:
        return added
    known = column.is_not_null().to_numpy().astype(np.int64)
    _add(known, np.add, steps)
    return added.set(pl.Series(known == 0), None)


def _add(values: AnyArray, how: np.ufunc, steps: list[tuple[Integers, Integers]]) -> None:
    with np.errstate(all="ignore"):  # a file may contain any numbers
        for inner, around in steps:
            how.at(values, around, values[inner])
