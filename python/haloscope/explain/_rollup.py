"""Inclusive values: what a region did together with all regions inside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from haloscope.explain._tree import RegionTree

__all__ = ["Reduction", "combine", "roll_up"]

Reduction = Literal["sum", "max"]


def combine(
    frame: pl.DataFrame, keys: Sequence[str], reductions: Mapping[str, Reduction]
) -> pl.DataFrame:
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
    frame: pl.DataFrame,
    tree: RegionTree,
    keys: Sequence[str],
    reductions: Mapping[str, Reduction],
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
