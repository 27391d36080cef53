"""Which regions a table is about, and whether with the regions inside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from haloscope.explain._rollup import Reduction, combine, roll_up

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from haloscope.explain._tree import RegionTree

__all__ = ["Scope"]


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
                pl.Series(self.tree.distinct_names, dtype=pl.String)
                .gather(frame["path"])
                .alias("region"),
            )
            .sort(["_order", *by], descending=backwards, maintain_order=True, nulls_last=True)
            .select("region", pl.exclude("region", "path", "_order"))
        )


def _where(frame: pl.DataFrame, mask: NDArray[np.bool_]) -> pl.DataFrame:
    return frame.filter(mask[frame["path"].to_numpy()])
