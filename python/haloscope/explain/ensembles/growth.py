"""Scaling models of regions, and their predictions for more ranks than were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from haloscope.base.arrays import Floats
from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.explain.ensembles.quantities import find_quantity
from haloscope.explain.ensembles.scaling import select_longest, select_regions
from haloscope.explain.ensembles.scaling_laws import FEWEST_POINTS, TERMS, ScalingLaws, draw_means, fit_laws
from haloscope.explain.ensembles.view import (
    EnsembleView,
    add_axis_columns,
    make_axis,
    make_label,
    make_layout,
    make_line,
)
from haloscope.markov.figures import Figure, Trace
from haloscope.profile.store import region_text

FACTORS = (10, 100)
DRAWS = 400
SURE = (2.5, 97.5)  # percentiles: a 95 % interval
MOST_ERROR = 25  # percent: a model with a larger cross-validation error is not extrapolated on pages
_CURVE = 60


@dataclass(frozen=True)
class Growth:
    """The scaling model of a region, and those of bootstrap samples of its runs (`drawn`.

    None without repetitions).
    """

    points: Floats
    means: Floats
    law: ScalingLaws
    drawn: ScalingLaws | None

    @classmethod
    def of(cls, points: Sequence[float], repetitions: Sequence[Sequence[float]]) -> Growth:
        means = np.array([np.mean(group) for group in repetitions])
        draws = draw_means(repetitions, DRAWS, np.random.default_rng(0))
        x = np.asarray(points, dtype=np.float64)
        return cls(x, means, fit_laws(x, means), None if draws is None else fit_laws(x, draws))

    def at(self, ranks: float) -> tuple[float, float | None, float | None]:
        """Return the prediction for a number of ranks, with its 95 % interval if there is one.

        Modelled quantities are never negative, so negative predictions are set to 0.
        """
        points = np.array([ranks])
        value = max(float(self.law.at(points)[0, 0]), 0.0)
        if self.drawn is None:
            return value, None, None
        low, high = np.percentile(np.clip(self.drawn.at(points)[:, 0], 0.0, None), SURE)
        return value, float(low), float(high)

    @property
    def is_reliable(self) -> bool:
        """Whether the model may be extrapolated on a page."""
        return float(self.law.error[0]) <= MOST_ERROR

    @property
    def agreement(self) -> float | None:
        """The share of bootstrap samples with the same term, None without repetitions."""
        return None if self.drawn is None else float((self.drawn.chosen == self.law.chosen[0]).mean())


_LAWS: dict[str, Any] = {
    "series": pl.String,
    "path": pl.String,
    "points": pl.Int64,
    "runs": pl.Int64,
    "law": pl.String,
    "constant": pl.Float64,
    "factor": pl.Float64,
    "term": pl.String,
    "error": pl.Float64,
    "agreement": pl.Float64,
    **{f"{name}_{factor}": pl.Float64 for factor in FACTORS for name in ("at", "low", "high")},
}


def laws(
    ensemble: Ensemble,
    quantity: str = "time",
    regions: Sequence[str] | None = None,
    *,
    against: str = "run_ranks",
    by: str = "program",
) -> EnsembleView:
    """Return the scaling model of one of `QUANTITIES` for each region with five points or more.

    A model is `constant` + `factor` · `term`, in Extra-P's performance model normal form; `error` is its
    cross-validation error in percent. `at_10` and `at_100` are predictions for 10 and 100 times the largest
    point, `low_…` and `high_…` their 95 % intervals, and `agreement` is the share of bootstrap samples with
    the same term; intervals and agreement are null if no point has two runs. `law` is null with fewer than
    five points.

    Args:
        ensemble: The runs.
        quantity: Name of the quantity.
        regions: Regions by last name or path; by default the program and the seven longest.
        against: Column of the runs for the points.
        by: Column of the runs that separates series.
    """
    drawn = find_quantity(quantity)
    rows = add_axis_columns(ensemble, ensemble.with_paths("regions"), against, by)
    rows = select_longest(rows) if regions is None else select_regions(ensemble, rows, regions)
    rows = rows.with_columns(value=drawn.value.cast(pl.Float64)).filter(pl.col("value").is_not_null())
    found, table_rows = [], []
    for (series, path), part in rows.group_by(["series", "path"], maintain_order=True):
        points, repetitions = select_law_points(part)
        row: dict[str, Any] = {"series": series, "path": path, "points": len(points), "runs": len(part)}
        if len(points) >= FEWEST_POINTS:
            growth = Growth.of(points, repetitions)
            row |= _make_law_row(growth, drawn.unit)
            found.append((str(series), str(path), part, growth))
        table_rows.append(row)
    frame = pl.DataFrame(table_rows, schema=_LAWS)
    title = f"{drawn.title}, {drawn.unit}" if drawn.unit else drawn.title
    return EnsembleView(frame, _draw_laws(found, against, title))


def select_law_points(rows: pl.DataFrame) -> tuple[list[float], list[list[float]]]:
    """Return the usable points in order, and the values of the runs of each."""
    if not rows["x"].dtype.is_numeric():
        return [], []
    sound = rows.filter((pl.col("x") >= 1) & pl.col("value").is_finite())
    groups = sound.group_by("x").agg("value").sort("x")
    return groups["x"].to_list(), groups["value"].to_list()


def _make_law_row(growth: Growth, unit: str) -> dict[str, Any]:
    law, most = growth.law, growth.points.max()
    row = {
        "law": law.text(0, unit),
        "constant": float(law.constant[0]),
        "factor": float(law.factor[0]),
        "term": "" if law.chosen[0] < 0 else str(TERMS[law.chosen[0]]),
        "error": float(law.error[0]),
        "agreement": growth.agreement,
    }
    for factor in FACTORS:
        names = (f"at_{factor}", f"low_{factor}", f"high_{factor}")
        row |= dict(zip(names, growth.at(factor * most), strict=True))
    return row


def _draw_laws(
    found: Sequence[tuple[str, str, pl.DataFrame, Growth]], against: str, title: str
) -> Figure | None:
    if not found:
        return None
    many = [len({row[column] for row in found}) > 1 for column in (0, 1)]
    traces: list[Trace] = []
    for number, (series, path, rows, growth) in enumerate(found):
        label = make_label(series, region_text(path), *many)
        seen = make_line(rows, label, number, "value", "%{y:.4s}", mode="markers", legendgroup=label)
        traces += [seen, _trace_curve(growth, seen)]
        traces += [_trace_extrapolation(growth, seen)] if growth.is_reliable else []
    xaxis = make_axis(against, pl.Series([1.0, 1e6])) | {"type": "log"}
    xaxis = {key: value for key, value in xaxis.items() if key not in ("tickvals", "ticktext")}
    layout = make_layout(xaxis, title, 420, showlegend=any(many))
    layout["yaxis"] |= {"type": "log"}
    caption = (
        "Lines: scaling models. Hollow: predictions for 10 and 100 times the largest point, with 95 %"
        " intervals."
        f" Models with a cross-validation error above {MOST_ERROR} % end at the largest point."
    )
    return Figure(caption, traces, layout, "Scaling models")


def _trace_curve(growth: Growth, seen: Trace) -> Trace:
    farthest = max(FACTORS) if growth.is_reliable else 1
    x = np.geomspace(growth.points.min(), growth.points.max() * farthest, _CURVE)
    y = [value if value > 0 else None for value in growth.law.at(x)[0].tolist()]
    hidden = {"showlegend": False, "hoverinfo": "skip", "mode": "lines"}
    return {**seen, **hidden, "x": x.tolist(), "y": y, "line": {**seen["line"], "width": 1}}


def _trace_extrapolation(growth: Growth, seen: Trace) -> Trace:
    """Return the trace of the predictions for more ranks, with their intervals."""
    x = [growth.points.max() * factor for factor in FACTORS]
    values = [growth.at(ranks) for ranks in x]
    marker = {**seen["marker"], "symbol": seen["marker"]["symbol"] + "-open"}
    trace = {**seen, "x": x, "y": [value for value, _, _ in values], "marker": marker, "showlegend": False}
    if growth.drawn is not None:
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": [(high or 0.0) - value for value, _, high in values],
            "arrayminus": [value - (low or 0.0) for value, low, _ in values],
            "color": seen["marker"]["color"],
            "width": 4,
            "thickness": 1,
        }
    return trace
