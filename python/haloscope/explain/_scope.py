"""Which regions a table is about, and whether with the regions inside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from haloscope.explain._tree import RegionTree

__all__ = ["Reduction", "Scope"]

Reduction = Literal["sum", "max"]


def combine(frame: pl.DataFrame, keys: Sequence[str], reductions: Mapping[str, Reduction]) -> pl.DataFrame:
    """Return one row for each distinct `keys`, the other columns reduced, in order of first sight.

    A sum over nothing but nulls is null: what nobody measured is unknown, not zero.
    """

    def reduced(name: str, reduction: Reduction) -> pl.Expr:
        column = pl.col(name)
        if reduction == "max":
            return column.max()
        if frame.schema[name].is_integer():
            return column.sum()
        return pl.when(column.count() > 0).then(column.sum()).alias(name)

    expressions = [reduced(name, reduction) for name, reduction in reductions.items()]
    return frame.group_by(keys, maintain_order=True).agg(expressions)


def roll_up(
    frame: pl.DataFrame, tree: RegionTree, keys: Sequence[str], reductions: Mapping[str, Reduction]
) -> pl.DataFrame:
    """Return `frame` with, at each path, the values of that path and of all below it.

    `frame` has `path`, `keys` and the columns of `reductions`; so has the result, with one row for
    each path and key that occurs at or below it. Each level of the tree is merged into the one
    above, deepest first, so that the work grows with the result and not with the depth.
    """
    columns = ["path", *keys, *reductions]
    parents = pl.Series("path", tree.parents)
    levels = _by_level(frame.select(columns), tree)
    carried = frame.select(columns).clear()
    merged = []
    for level in range(max(levels, default=-1), -1, -1):
        parts = [carried, levels[level]] if level in levels else [carried]
        rows = combine(pl.concat(parts), ["path", *keys], reductions)
        merged.append(rows)
        carried = rows.with_columns(parents.gather(rows["path"]).alias("path"))
    return pl.concat(merged) if merged else carried


def _by_level(frame: pl.DataFrame, tree: RegionTree) -> dict[int, pl.DataFrame]:
    depth = pl.Series("depth", tree.depths).gather(frame["path"]).alias("depth")
    parts = frame.with_columns(depth).partition_by("depth", as_dict=True, include_key=False)
    return {int(key[0]): part for key, part in parts.items()}


@dataclass(frozen=True)
class Scope:
    """A question's regions: all, or those `chosen` by a mask over the tree's paths."""

    tree: RegionTree
    exclusive: bool = False
    chosen: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, tree: RegionTree, exclusive: bool, region: str | None) -> Scope:
        """Raises `UsageError` if no region has that name or path."""
        return cls(tree, exclusive, None if region is None else tree.matching(region))

    def needed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows at chosen paths and below them."""
        if self.chosen is None:
            return frame
        return _where(frame, self.tree.with_descendants(self.chosen))

    def wanted(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows at chosen paths."""
        return frame if self.chosen is None else _where(frame, self.chosen)

    def reduced(
        self, frame: pl.DataFrame, keys: Sequence[str], reductions: Mapping[str, Reduction]
    ) -> pl.DataFrame:
        """Return the chosen regions' values, inclusive unless the question is exclusive."""
        if self.exclusive:
            return combine(self.wanted(frame), ["path", *keys], reductions)
        return self.wanted(roll_up(self.needed(frame), self.tree, keys, reductions))

    def named(
        self, frame: pl.DataFrame, by: Sequence[str], descending: Sequence[bool] | None = None
    ) -> pl.DataFrame:
        """Return `frame` with `region`, a name of its own, before all else instead of `path`.

        Rows come depth first by region, and within one sorted by the columns `by`.
        """
        backwards = [False, *(descending or [False] * len(by))]
        return (
            frame.with_columns(
                pl.Series(self.tree.order, dtype=pl.Int64).gather(frame["path"]).alias("_order"),
                pl.Series(self.tree.distinct_names, dtype=pl.String).gather(frame["path"]).alias("region"),
            )
            .sort(["_order", *by], descending=backwards, maintain_order=True, nulls_last=True)
            .select("region", pl.exclude("region", "path", "_order"))
        )


def _where(frame: pl.DataFrame, mask: NDArray[np.bool_]) -> pl.DataFrame:
    return frame.filter(mask[frame["path"].to_numpy()])
