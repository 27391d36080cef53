"""Laws of how regions grow with the number of ranks, and what these say of more ranks than were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from haloscope.base.arrays import Floats
from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.explain.ensembles.quantities import quantity_of
from haloscope.explain.ensembles.scaling import longest, named_regions
from haloscope.explain.ensembles.scaling_laws import FEWEST_POINTS, TERMS, ScalingLaws, draws_of, fit
from haloscope.explain.ensembles.view import (
    EnsembleView,
    add_axis_columns,
    axis_of,
    label_of,
    layout_of,
    line,
)
from haloscope.markov.figures import Figure, Trace
from haloscope.profile.store import region_text

FACTORS = (10, 100)
DRAWS = 400
SURE = (2.5, 97.5)  # percentiles: a 95 % interval
_CURVE = 60


@dataclass(frozen=True)
class Growth:
    """A region's law, and those of what its repeated runs could have been; no `drawn` without repetitions."""

    points: Floats
    means: Floats
    law: ScalingLaws
    drawn: ScalingLaws | None

    @classmethod
    def of(cls, points: Sequence[float], repetitions: Sequence[Sequence[float]]) -> Growth:
        means = np.array([np.mean(group) for group in repetitions])
        draws = draws_of(repetitions, DRAWS, np.random.default_rng(0))
        x = np.asarray(points, dtype=np.float64)
        return cls(x, means, fit(x, means), None if draws is None else fit(x, draws))

    def at(self, ranks: float) -> tuple[float, float | None, float | None]:
        """Return what the law says of so many ranks, with its 95 % interval where there is one.

        What is modelled is never negative, so what a law says is not, either.
        """
        here = np.array([ranks])
        value = max(float(self.law.at(here)[0, 0]), 0.0)
        if self.drawn is None:
            return value, None, None
        low, high = np.percentile(np.clip(self.drawn.at(here)[:, 0], 0.0, None), SURE)
        return value, float(low), float(high)

    @property
    def agreement(self) -> float | None:
        """The share of draws that have the same term, None without repetitions."""
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
    """Return the law by which one of `QUANTITIES` grows in each region of five points or more.

    A law is `constant` + `factor` · `term`, in Extra-P's normal form; `error` is how far off it is, in
    percent, for points that it was not fitted to. `at_10` and `at_100` are what it says of 10 and 100 times
    the largest point, `low_…` and `high_…` bound that with 95 % confidence, and `agreement` is the share of
    what the runs could have been that have the same term: all three are null where no point has two runs.
    `law` is null where there are fewer than five points.
    """
    drawn = quantity_of(quantity)
    rows = add_axis_columns(ensemble, ensemble.with_paths("regions"), against, by)
    rows = longest(rows) if regions is None else named_regions(ensemble, rows, regions)
    rows = rows.with_columns(value=drawn.value.cast(pl.Float64)).filter(pl.col("value").is_not_null())
    found, told = [], []
    for (series, path), part in rows.group_by(["series", "path"], maintain_order=True):
        points, repetitions = select_law_points(part)
        row: dict[str, Any] = {"series": series, "path": path, "points": len(points), "runs": len(part)}
        if len(points) >= FEWEST_POINTS:
            growth = Growth.of(points, repetitions)
            row |= _law_row(growth, drawn.unit)
            found.append((str(series), str(path), part, growth))
        told.append(row)
    frame = pl.DataFrame(told, schema=_LAWS)
    title = f"{drawn.title}, {drawn.unit}" if drawn.unit else drawn.title
    return EnsembleView(frame, _laws_drawn(found, against, title))


def select_law_points(rows: pl.DataFrame) -> tuple[list[float], list[list[float]]]:
    """Return points that a law can go by, in order, and the values of the runs of each."""
    if not rows["x"].dtype.is_numeric():
        return [], []
    sound = rows.filter((pl.col("x") >= 1) & pl.col("value").is_finite())
    groups = sound.group_by("x").agg("value").sort("x")
    return groups["x"].to_list(), groups["value"].to_list()


def _law_row(growth: Growth, unit: str) -> dict[str, Any]:
    law, most = growth.law, growth.points.max()
    said = {
        "law": law.text(0, unit),
        "constant": float(law.constant[0]),
        "factor": float(law.factor[0]),
        "term": "" if law.chosen[0] < 0 else str(TERMS[law.chosen[0]]),
        "error": float(law.error[0]),
        "agreement": growth.agreement,
    }
    for factor in FACTORS:
        names = (f"at_{factor}", f"low_{factor}", f"high_{factor}")
        said |= dict(zip(names, growth.at(factor * most), strict=True))
    return said


def _laws_drawn(
    found: Sequence[tuple[str, str, pl.DataFrame, Growth]], against: str, title: str
) -> Figure | None:
    if not found:
        return None
    many = [len({one[place] for one in found}) > 1 for place in (0, 1)]
    traces: list[Trace] = []
    for number, (series, path, rows, growth) in enumerate(found):
        label = label_of(series, region_text(path), *many)
        seen = line(rows, label, number, "value", "%{y:.4s}", mode="markers", legendgroup=label)
        traces += [seen, _curve(growth, seen), _trace_extrapolation(growth, seen)]
    xaxis = axis_of(against, pl.Series([1.0, 1e6])) | {"type": "log"}
    xaxis = {key: value for key, value in xaxis.items() if key not in ("tickvals", "ticktext")}
    layout = layout_of(xaxis, title, 420, showlegend=any(many))
    layout["yaxis"] |= {"type": "log"}
    caption = "Lines: laws. Hollow: 10 and 100 times as far, with 95 % intervals from repeated runs."
    return Figure(caption, traces, layout, "Laws of growth")


def _curve(growth: Growth, seen: Trace) -> Trace:
    x = np.geomspace(growth.points.min(), growth.points.max() * max(FACTORS), _CURVE)
    y = [value if value > 0 else None for value in growth.law.at(x)[0].tolist()]
    hidden = {"showlegend": False, "hoverinfo": "skip", "mode": "lines"}
    return {**seen, **hidden, "x": x.tolist(), "y": y, "line": {**seen["line"], "width": 1}}


def _trace_extrapolation(growth: Growth, seen: Trace) -> Trace:
    """Return what a law says of more ranks, with its intervals."""
    x = [growth.points.max() * factor for factor in FACTORS]
    values = [growth.at(ranks) for ranks in x]
    marker = {**seen["marker"], "symbol": seen["marker"]["symbol"] + "-open"}
    made = {**seen, "x": x, "y": [value for value, _, _ in values], "marker": marker, "showlegend": False}
    if growth.drawn is not None:
        made["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": [(high or 0.0) - value for value, _, high in values],
            "arrayminus": [value - (low or 0.0) for value, low, _ in values],
            "color": seen["marker"]["color"],
            "width": 4,
            "thickness": 1,
        }
    return made
