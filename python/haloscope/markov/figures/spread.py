"""Distributions of times: Figures 2, 7 to 11 and 13 of Heldman, Rudi and Bessac (2025)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from haloscope.base.arrays import Bytes, Floats, Integers
from haloscope.base.errors import UsageError, printable
from haloscope.base.palette import FAST_TO_SLOW, METHODS, PURPLE
from haloscope.base.units import ranks_text
from haloscope.markov.analysis import RunTimings
from haloscope.markov.figures.elements import (
    Figure,
    Panel,
    Section,
    TimeUnit,
    Trace,
    array,
    axis,
    margin,
    panels,
    plain,
    regime_name,
)
from haloscope.markov.statistics.distributions import (
    Cdfs,
    FunctionalBoxplot,
    box_table,
    common_times,
    cumulative_sums,
    density,
    functional_boxplot,
    rank_cdfs,
)
from haloscope.markov.statistics.samples import Sample

_MOST_OUTLIERS = 20
_POINTS = 512
_MOST_OF_A_CURVE = 1024


def functional_boxes(views: Sequence[RunTimings], unit: TimeUnit) -> list[Section]:
    """Return functional boxplots of the ranks' distributions, whole and within each regime."""
    several = [view for view in views if len(view.whole.timings.ranks) > 1]
    if not several:
        return []
    whole, notes = _boxplots(several, None, unit)
    drawn = (
        "Cumulative distribution of times per rank. Black: the most central rank. Band: the"
        " central half. Lines: the envelope. Dashed: outliers."
    )
    sections = [
        Section(
            "cdfs",
            "Distributions of the ranks' times",
            [_grid(whole, len(several), unit, drawn, "Figure 9")],
            text=notes,
        )
    ]
    regimes = max(view.regimes for view in several)
    by_regime = []
    for state in range(regimes):
        part, _ = _boxplots(several, state, unit)
        by_regime += part
    if regimes > 1 and by_regime:
        caption = f"{drawn} Within each regime."
        figure = _grid(by_regime, len(several) if len(several) > 1 else regimes, unit, caption, "Figure 10")
        sections.append(Section("regime-cdfs", "The same within each regime", [figure]))
    return sections


def _grid(drawn: Sequence[Panel], columns: int, unit: TimeUnit, caption: str, paper: str) -> Figure:
    traces, layout = panels(
        drawn,
        axis(f"time, {unit.name}", type="log"),
        axis("share of instances", range=[0, 1.01]),
        min(columns, 3),
        260,
        showlegend=False,
    )
    return Figure(caption, traces, layout, paper=paper)


def _boxplots(
    views: Sequence[RunTimings], regime: int | None, unit: TimeUnit
) -> tuple[list[Panel], list[str]]:
    samples = [view.whole.sample for view in views]
    times = common_times(samples, regime, _POINTS)
    drawn, notes = [], []
    # The common times are quantiles, so this leaves out only the long tail of a few times.
    ends = unit.convert(times[[len(times) // 200, -1 - len(times) // 100]]) if len(times) else None
    span = np.log10(np.maximum(ends, 1e-12)).tolist() if ends is not None else None
    for view, sample in zip(views, samples, strict=True):
        cdfs = rank_cdfs(sample, regime, times)
        found = functional_boxplot(cdfs.curves)
        names = [view.name] if len(views) > 1 else []
        names += [regime_name(regime, view.regimes)] if regime is not None else []
        title = ", ".join(names)
        drawn.append(Panel(title, _functional(found, cdfs, unit) if found else [], span))
        if found is not None and len(found.outliers):
            ranks = view.whole.timings.ranks[cdfs.rows[found.outliers]]
            notes.append(f"{view.name}: outliers are {ranks_text(ranks.tolist())}")
    return drawn, notes


def _functional(found: FunctionalBoxplot, cdfs: Cdfs, unit: TimeUnit) -> list[Trace]:
    times = unit.convert(cdfs.times)
    plain_line = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "x": array(times)}
    thin = {"color": PURPLE, "width": 1}
    traces: list[Trace] = [
        plain_line | {"y": array(found.low), "line": thin},
        plain_line | {"y": array(found.high), "line": thin},
        plain_line | {"y": array(found.central_low), "line": {"width": 0}},
        plain_line
        | {
            "y": array(found.central_high),
            "line": {"width": 0},
            "fill": "tonexty",
            "fillcolor": PURPLE + "73",
        },
    ]
    worst = found.outliers[np.argsort(found.depth[found.outliers])][:_MOST_OUTLIERS]
    traces += [
        plain_line
        | {"y": array(cdfs.curves[row]), "line": {"color": FAST_TO_SLOW[5], "width": 1, "dash": "dash"}}
        for row in worst.tolist()
    ]
    median = {
        "y": array(cdfs.curves[found.median]),
        "line": {"color": "#000", "width": 2},
        "hoverinfo": "x+y",
    }
    return [*traces, plain_line | median]


def _line(name: str, x: ArrayLike, y: ArrayLike, colour: str) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plain(name),
        "x": array(x),
        "y": array(y),
        "line": {"color": colour, "width": 1.8},
    }


def _colour(number: int) -> str:
    return METHODS[number % len(METHODS)]


def median_densities(views: Sequence[RunTimings], unit: TimeUnit) -> Section | None:
    """Return the density of the ranks' medians; None if no run has different ranks."""
    traces = []
    for number, view in enumerate(views):
        found = None if view.is_reduced else density(unit.convert(view.medians))
        if found is not None:
            root = np.sqrt(found.values)
            traces.append(_line(view.name, found.times, root, _colour(number)))
    if not traces:
        return None
    caption = (
        "Square root of the density of the ranks' median times, which shows small modes:"
        " several modes indicate several regimes."
    )
    layout = {
        "height": 340,
        "showlegend": len(views) > 1,
        "xaxis": axis(f"median time of a rank, {unit.name}"),
        "yaxis": axis(f"√density, 1/√{unit.name}", rangemode="tozero"),
    }
    return Section(
        "medians", "Differences between ranks", [Figure(caption, traces, layout, paper="Figure 2")]
    )


def sums(views: Sequence[RunTimings]) -> Section:
    """Return S_K of all times, and of those in the fast regime, with percentage differences."""
    samples = [view.slowest.sample for view in views]
    times = "T^max" if not all(view.is_reduced for view in views) else "times"
    whole = f"S_K, the sum of the K shortest {times},"
    figures = [
        _sums(samples, None, f"{whole} of all instances", "Figures 11, left, and 13, top"),
        _sums(samples, 0, f"{whole} of those in the fast regime", "Figure 13, bottom"),
    ]
    return Section("sums", "Cumulative times", figures, columns=2)


def _sums(samples: Sequence[Sample], regime: int | None, caption: str, paper: str) -> Figure:
    traces = []
    for number, found in enumerate(cumulative_sums(samples, regime)):
        places = _spread(found.sums.size)
        colour = _colour(number)
        traces.append(_line(found.name, places + 1.0, found.sums[places], colour))
        if number and found.difference.size:
            # The first sums have a few extreme times only, and are left out.
            least = found.difference.size // 100
            places = least + _spread(found.difference.size - least)
            dashed = _line("difference", places + 1.0, found.difference[places], colour)
            dashed["line"] |= {"dash": "dot"}
            traces.append(dashed | {"yaxis": "y2", "showlegend": False})
    layout = {
        "height": 360,
        "showlegend": len(samples) > 1,
        "xaxis": axis("K, instances"),
        "yaxis": axis("S_K, s", rangemode="tozero"),
    }
    against = ""
    if len(samples) > 1:
        against = f"; dotted, right: difference to {samples[0].name}, negative is faster"
        layout["yaxis2"] = axis(
            "difference, %", overlaying="y", side="right", showgrid=False, zeroline=True, tickmode="auto"
        )
    return Figure(f"{caption}{against}.", traces, layout, paper=paper)


def _spread(size: int) -> Integers:
    """Return the points of a curve that are drawn: both ends, and some between."""
    return np.unique(np.linspace(0, size - 1, min(size, _MOST_OF_A_CURVE)).astype(np.int64))


def boxes(views: Sequence[RunTimings], unit: TimeUnit) -> Section:
    """Return box plots of T^max by regime."""
    regimes = max(view.slowest.regimes for view in views)
    traces = []
    for number, view in enumerate(views):
        table = box_table([view.slowest.sample], view.slowest.regimes).drop_nulls("median")
        colour = _colour(number) if len(views) > 1 else FAST_TO_SLOW[0]
        traces.append(
            {
                "type": "box",
                "name": plain(view.name),
                "x": table["regime"].to_list(),
                **{key: unit.convert(table[column].to_numpy()).tolist() for key, column in _BOX.items()},
                "y": _dots(table, unit),
                "marker": {"color": colour, "size": 3, "opacity": 0.6},
                "line": {"width": 1.4},
                "boxpoints": "outliers",
                "pointpos": 0,
                "jitter": 0.4,
            }
        )
    layout = {
        "height": 380,
        "boxmode": "group",
        "showlegend": len(views) > 1,
        "xaxis": axis("regime", tickvals=list(range(1, regimes + 1)), showgrid=False),
        "yaxis": axis(f"time, {unit.name}", type="log", nticks=8),
    }
    what = "the series" if all(view.is_reduced for view in views) else "T^max"
    caption = (
        f"Times of {what} by regime. Box: quartiles. Whiskers: to the last time within 1.5 box"
        " lengths. Dots: times beyond."
    )
    return Section(
        "boxes", "Times in each regime", [Figure(caption, traces, layout, paper="Figure 11, right")]
    )


def _dots(table: pl.DataFrame, unit: TimeUnit) -> list[list[float]]:
    """Return the outliers of each box; without outliers the median, which is not drawn."""
    rows = zip(table["points"].to_list(), table["median"].to_list(), strict=True)
    return [unit.convert(points or [median]).tolist() for points, median in rows]


_BOX = {
    "lowerfence": "low",
    "q1": "first_quartile",
    "median": "median",
    "q3": "third_quartile",
    "upperfence": "high",
}


_MOST_DOTS = 6000  # in one figure
_SEED = 0


@dataclass(frozen=True)
class _Points:
    """A sample of a run's instances: two values each, in seconds, and the regime."""

    name: str
    colour: str
    x: Floats
    y: Floats
    states: Bytes

    def select_regime(self, regime: int | None) -> _Points:
        chosen = self.states == regime if regime is not None else np.full(len(self.x), True)
        return _Points(self.name, self.colour, self.x[chosen], self.y[chosen], self.states[chosen])


def values(views: Sequence[RunTimings], names: Sequence[str], unit: TimeUnit) -> Section:
    """Return scatter plots of the two values `names` with marginals, of all regimes and of each.

    Raises `UsageError` if a run has not recorded them in any instance.
    """
    most = _MOST_DOTS // len(views)
    points = [_sample(view, names, METHODS[i % 7], most) for i, view in enumerate(views)]
    regimes = max(view.regimes for view in views)
    figures = [_draw_scatter(points, names, None, unit)]
    for regime in range(regimes if regimes > 1 else 0):
        part = [sample.select_regime(regime) for sample in points]
        shares = ", ".join(
            f"{sample.name} {100 * len(sample.x) / len(every.x):.0f} %"
            for sample, every in zip(part, points, strict=True)
        )
        figure = _draw_scatter(part, names, regime, unit, f" In it: {shares}.")
        figures.append(figure)
    title = f"{printable(names[0])} and {printable(names[1])}"
    return Section("values", title, figures, columns=2)


def _sample(view: RunTimings, names: Sequence[str], colour: str, most: int) -> _Points:
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


def _draw_scatter(
    points: Sequence[_Points], names: Sequence[str], regime: int | None, unit: TimeUnit, note: str = ""
) -> Figure:
    spans = [_span(unit.convert(np.concatenate([getattr(part, at) for part in points]))) for at in "xy"]
    traces: list[Trace] = []
    for part in points:
        x, y = unit.convert(part.x), unit.convert(part.y)
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
        f" sample, up to the 99 % quantiles); at the edges the square root of the density.{note}"
    )
    title, paper = ("all regimes", "Figure 7") if regime is None else (f"regime {regime + 1}", "Figure 8")
    return Figure(caption, traces, layout, title, paper)


def _span(values: Floats) -> list[float]:
    low, high = np.quantile(values, [0.0, 0.99]) if values.size else (0.0, 1.0)
    margin = 0.03 * (high - low)
    return [float(low - margin), float(high + margin)]


def _marginals(x: Floats, y: Floats, spans: Sequence[list[float]], colour: str) -> list[Trace]:
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
