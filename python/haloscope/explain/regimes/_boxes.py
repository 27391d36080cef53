"""Box plots by regime (Figure 11, right) and each rank's median."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from haloscope.explain.regimes._samples import Sample

__all__ = ["MOST_POINTS", "box_table", "rank_medians"]

# Outliers that are given one by one: more of them make a picture heavy and say no more.
MOST_POINTS = 1000

_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "name": pl.String,
    "regime": pl.Int64,
    "instances": pl.Int64,
    "share": pl.Float64,
    "low": pl.Float64,
    "first_quartile": pl.Float64,
    "median": pl.Float64,
    "third_quartile": pl.Float64,
    "high": pl.Float64,
    "outliers": pl.Int64,
    "points": pl.List(pl.Float64),
}


def box_table(samples: Sequence[Sample], n_regimes: int) -> pl.DataFrame:
    """One row a sample and regime: what a box plot (Tukey's) of its times shows.

    Columns: `name`, `regime` (from 1), `instances`, `share` of the sample's instances, `low` and
    `high` (the whiskers: extreme times within 1.5 interquartile ranges of the box), the quartiles
    and `median`, `outliers` (how many lie beyond) and `points`: they themselves, ascending; of
    more than `MOST_POINTS` the two extremes and others at equal steps of rank. Nulls for a regime
    that nobody is in.
    """
    rows = []
    for sample in samples:
        boxes = [_box(sample.values(state)) for state in range(n_regimes)]
        total = sum(int(box["instances"]) for box in boxes)
        for state, box in enumerate(boxes):
            share = box["instances"] / total if total else None
            rows.append({"name": sample.name, "regime": state + 1, "share": share, **box})
    return pl.DataFrame(rows, schema=_SCHEMA)


def _box(values: NDArray[np.float64]) -> dict[str, float]:
    if not values.size:
        return {"instances": 0, "outliers": 0}
    first, median, third = np.percentile(values, [25, 50, 75])
    reach = 1.5 * (third - first)
    inside = (values >= first - reach) & (values <= third + reach)
    within, outliers = values[inside], np.sort(values[~inside])
    steps = np.linspace(0, outliers.size - 1, min(outliers.size, MOST_POINTS)).astype(np.int64)
    return {
        "instances": values.size,
        "low": within.min(),
        "first_quartile": first,
        "median": median,
        "third_quartile": third,
        "high": within.max(),
        "outliers": outliers.size,
        "points": outliers[steps],
    }


def rank_medians(durations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each rank's median time, (ranks,), from (ranks, instances); NaN for a rank without any."""
    medians = np.full(len(durations), np.nan)
    for rank, row in enumerate(durations):
        values = row[~np.isnan(row)]
        if values.size:
            medians[rank] = np.median(values, overwrite_input=True)
    return medians
