"""Two recorded values against each other: Figures 7 and 8 of Heldman, Rudi and Bessac (2025)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.errors import UsageError, printable
from haloscope.explain.regimes.figures._elements import (
    METHOD_COLOURS,
    Figure,
    Section,
    Trace,
    Unit,
    array,
    axis,
    margin,
    plain,
)
from haloscope.explain.regimes.statistics._distributions import density

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from haloscope.explain.regimes._analysis import View

__all__ = ["values"]

_MOST_POINTS = 6000  # in a figure
_SEED = 0


@dataclass(frozen=True)
class _Points:
    """A sample of a run's instances: two values each, in seconds, and the regime."""

    name: str
    colour: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    states: NDArray[np.uint8]

    def within(self, regime: int | None) -> _Points:
        chosen = self.states == regime if regime is not None else np.full(len(self.x), True)
        return _Points(self.name, self.colour, self.x[chosen], self.y[chosen], self.states[chosen])


def values(views: Sequence[View], names: Sequence[str], unit: Unit) -> Section:
    """Scatter the values called `names` (two), with marginals, whole and regime by regime.

    Raises `UsageError` if a run has not recorded them in any instance.
    """
    most = _MOST_POINTS // len(views)
    points = [_sample(view, names, METHOD_COLOURS[i % 7], most) for i, view in enumerate(views)]
    regimes = max(view.regimes for view in views)
    figures = [_figure(points, names, None, unit, "Paper: Figure 7.")]
    for regime in range(regimes if regimes > 1 else 0):
        part = [one.within(regime) for one in points]
        shares = ", ".join(
            f"{one.name} {100 * len(one.x) / len(every.x):.0f} %"
            for one, every in zip(part, points, strict=True)
        )
        figure = _figure(part, names, regime, unit, f"In it: {shares}. Paper: Figure 8.")
        figures.append(figure)
    title = f"{printable(names[0])} and {printable(names[1])}"
    return Section("values", title, figures, columns=2)


def _sample(view: View, names: Sequence[str], colour: str, most: int) -> _Points:
    timings = view.whole.timings
    missing = [name for name in names if name not in timings.others]
    if missing:
        known = ", ".join(timings.others) or "none"
        raise UsageError(f"{view.name}: has no values {', '.join(missing)}; there are: {known}")
    x, y = (timings.others[name] for name in names)
    there = np.flatnonzero(np.isfinite(x) & np.isfinite(y) & (view.whole.states < view.regimes))
    if not len(there):
        raise UsageError(f"{view.name}: no instance has both values {' and '.join(names)}")
    random = np.random.default_rng(_SEED)
    chosen = there if len(there) <= most else np.sort(random.choice(there, most, replace=False))
    states = view.whole.states.ravel()[chosen]
    return _Points(view.name, colour, x.ravel()[chosen], y.ravel()[chosen], states)


def _figure(
    points: Sequence[_Points], names: Sequence[str], regime: int | None, unit: Unit, paper: str
) -> Figure:
    spans = [_span(unit.of(np.concatenate([getattr(part, at) for part in points]))) for at in "xy"]
    traces: list[Trace] = []
    for part in points:
        x, y = unit.of(part.x), unit.of(part.y)
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": plain(part.name),
                "x": array(x),
                "y": array(y),
                "marker": {"color": part.colour, "size": 3, "opacity": 0.5},
            }
        )
        traces += _marginals(x, y, spans, part.colour)
    bare = {"showticklabels": False, "showgrid": False, "zeroline": False, "fixedrange": True}
    layout = {
        "height": 420,
        "showlegend": len(points) > 1,
        "margin": margin(44),
        "xaxis": axis(f"{plain(names[0])}, {unit.name}", range=spans[0], domain=[0, 0.84]),
        "yaxis": axis(f"{plain(names[1])}, {unit.name}", range=spans[1], domain=[0, 0.84]),
        "xaxis2": bare | {"domain": [0.86, 1]},
        "yaxis2": bare | {"domain": [0.86, 1]},
    }
    caption = (
        f"Each dot is an instance{'' if regime is None else f' of regime {regime + 1}'} (a random"
        f" sample, up to the 99 % quantiles); at the edges the square root of the density. {paper}"
    )
    title = "all regimes" if regime is None else f"regime {regime + 1}"
    return Figure(caption, traces, layout, title)


def _span(values: NDArray[np.float64]) -> list[float]:
    low, high = np.quantile(values, [0.0, 0.99]) if values.size else (0.0, 1.0)
    margin = 0.03 * (high - low)
    return [float(low - margin), float(high + margin)]


def _marginals(
    x: NDArray[np.float64], y: NDArray[np.float64], spans: Sequence[list[float]], colour: str
) -> list[Trace]:
    quiet = {
        "type": "scatter",
        "mode": "lines",
        "showlegend": False,
        "hoverinfo": "skip",
        "line": {"color": colour, "width": 1.4},
    }
    traces = []
    for values, (low, high), across in ((x, spans[0], False), (y, spans[1], True)):
        found = density(values[(values >= low) & (values <= high)])
        if found is not None:
            along, root = array(found.times), array(np.sqrt(found.values))
            at = {"x": root, "y": along, "xaxis": "x2"} if across else {"x": along, "y": root, "yaxis": "y2"}
            traces.append(quiet | at)
    return traces
