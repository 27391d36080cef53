"""Figures of the quality of models, and of the whole machine's states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from haloscope.base.errors import printable
from haloscope.base.palette import FAST_TO_SLOW, GREY, METHODS
from haloscope.markov.analysis import Fit, RegimeAnalysis
from haloscope.markov.figures.elements import (
    Figure,
    Section,
    TimeUnit,
    Trace,
    array,
    axis,
    margin,
    regime_colours,
    regime_name,
)
from haloscope.markov.figures.over_time import Cells, cells, rank_axes, regime_map
from haloscope.markov.figures.page_tables import machine_table
from haloscope.markov.fitting.whole_machine import WholeMachine
from haloscope.markov.statistics.fit_quality import Goodness


def criteria(analyses: Sequence[RegimeAnalysis]) -> Section | None:
    """Return the curves that chose the number of regimes; None if the user chose it."""
    figures = []
    for analysis in analyses:
        for name, found in analysis.series:
            if found.curves is not None:
                criterion = str(analysis.options.states)
                figures.append(_curves(found, found.curves, criterion, f"{analysis.name}: {name}"))
    return Section("criteria", "How many regimes", figures, columns=2) if figures else None


def _curves(found: Fit, curves: pl.DataFrame, criterion: str, title: str) -> Figure:
    traces = []
    for number, name in enumerate(("bic", "aic", "icl")):
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name.upper(),
                "x": curves["regimes"].to_list(),
                "y": (curves[name] - curves[name].min()).to_list(),
                "line": {"color": METHODS[number + 1], "width": 2.4 if name == criterion else 1},
            }
        )
    layout = {
        "height": 320,
        "showlegend": True,
        "margin": margin(44),
        "xaxis": axis("number of regimes", dtick=1, showgrid=False),
        "yaxis": axis("criterion less its minimum", rangemode="tozero"),
    }
    chooser = "the elbow" if criterion == "elbow" else criterion.upper()
    caption = (
        f"Lower is better: {chooser} chooses {found.regimes.model.n_regimes} regimes. If a curve"
        " falls to its end, the family does not fit."
    )
    return Figure(caption, traces, layout, title, "section 2.2")


def goodness_figures(found: Goodness, name: str, unit: TimeUnit) -> list[Figure]:
    """Return QQ plots of times and of pseudo-residuals, and the residuals' autocorrelation."""
    return [
        _quantiles(found.quantiles, name, unit),
        _residuals(found.residuals, name),
        _correlation(found.correlation, name),
    ]


def _title(name: str, what: str) -> str:
    return f"{printable(name)}: {what}" if name else what


def _diagonal(low: float, high: float) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [low, high],
        "y": [low, high],
        "hoverinfo": "skip",
        "showlegend": False,
        "line": {"color": GREY, "width": 1},
    }


def _quantiles(table: pl.DataFrame, name: str, unit: TimeUnit) -> Figure:
    regimes = int(table["regime"].max() or 0)  # type: ignore[arg-type]
    traces: list[Trace] = []
    seen = unit.convert(table["observed"].to_numpy())
    positive = seen[seen > 0]
    if positive.size:
        traces.append(_diagonal(float(positive.min()), float(positive.max())))
    for state, colour in enumerate(regime_colours(max(regimes, 1))):
        part = table.filter(table["regime"] == state + 1)
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": regime_name(state, regimes),
                "x": unit.convert(part["drawn"].to_numpy()).tolist(),
                "y": unit.convert(part["observed"].to_numpy()).tolist(),
                "marker": {"color": colour, "size": 4},
            }
        )
    layout = {
        "height": 330,
        "showlegend": False,
        "margin": margin(32),
        "xaxis": axis(f"quantile of times drawn from the model, {unit.name}", type="log"),
        "yaxis": axis(f"quantile of the times, {unit.name}", type="log"),
    }
    caption = (
        "QQ plot of each regime, coloured as above, from 0.5 to 99.5 %. Dots off the line: the model"
        " does not fit these times. Model times below 0 are not shown."
    )
    return Figure(caption, traces, layout, _title(name, "times"))


def _residuals(table: pl.DataFrame, name: str) -> Figure:
    points = table.drop_nulls("residual")
    traces = [
        _diagonal(-2.7, 2.7),
        {
            "type": "scatter",
            "mode": "markers",
            "x": points["normal"].to_list(),
            "y": points["residual"].to_list(),
            "marker": {"color": FAST_TO_SLOW[0], "size": 4},
            "showlegend": False,
        },
    ]
    layout = {
        "height": 330,
        "margin": margin(32),
        "xaxis": axis("quantile of a normal distribution"),
        "yaxis": axis("quantile of the pseudo-residuals"),
    }
    caption = (
        "QQ plot of the pseudo-residuals: the probability of each time, given the preceding times, as a"
        " normal quantile. If the model is right, the dots are on the line."
    )
    return Figure(caption, traces, layout, _title(name, "residuals"))


def _correlation(table: pl.DataFrame, name: str) -> Figure:
    lags = table["lag"].to_list()
    band = {
        "type": "scatter",
        "mode": "lines",
        "hoverinfo": "skip",
        "showlegend": False,
        "line": {"color": GREY, "width": 1, "dash": "dash"},
        "x": lags,
    }
    limit = table["band"].to_numpy()
    traces = [
        {
            "type": "bar",
            "x": lags,
            "y": table["correlation"].to_list(),
            "showlegend": False,
            "marker": {"color": FAST_TO_SLOW[0]},
        },
        band | {"y": limit.tolist()},
        band | {"y": np.negative(limit).tolist()},
    ]
    layout = {
        "height": 330,
        "margin": margin(32),
        "xaxis": axis("lag, instances", showgrid=False),
        "yaxis": axis("autocorrelation"),
    }
    caption = (
        "Autocorrelation of the pseudo-residuals. Beyond the dashed lines it is significant: the"
        " regimes do not explain all of the dependence between instances."
    )
    return Figure(caption, traces, layout, _title(name, "residuals"))


def draw_machines(analyses: Sequence[RegimeAnalysis]) -> Section | None:
    """Return a figure of each run's whole-machine model; None if there is none."""
    found = [(analysis.name, analysis.machine) for analysis in analyses if analysis.machine is not None]
    if not found:
        return None
    several = len(analyses) > 1
    figures = [_figure(machine, name if several else "") for name, machine in found]
    tables = [machine_table([(name, machine.stays()) for name, machine in found], several)]
    return Section("machine", "The whole machine", figures, tables)


def _figure(machine: WholeMachine, title: str) -> Figure:
    regimes = machine.model.n_regimes
    small = cells(machine.timings.durations, machine.states.ranks, regimes)
    layout = rank_axes(machine.timings.ranks, small)
    layout["yaxis"] |= {"domain": [0, 0.66]}
    layout["yaxis2"] = axis("probability", range=[-0.02, 1.02]) | {"domain": [0.72, 1]}
    note = f" Each cell is {small.description}." if small.description else ""
    caption = (
        "Top: the probability that the machine is in a slow state, which all ranks share. Below:"
        f" the regimes of the fitted ranks, given this state.{note}"
    )
    traces = [regime_map(small, regimes), *_slow_states(machine, small)]
    return Figure(caption, traces, layout | {"height": 400, "showlegend": True}, title, "Figure 1, bottom")


def _slow_states(machine: WholeMachine, small: Cells) -> list[Trace]:
    posterior = machine.states.posterior
    starts = np.arange(0, len(posterior), small.columns)
    mean = np.add.reduceat(posterior, starts) / np.diff([*starts, len(posterior)])[:, None]
    colours = regime_colours(posterior.shape[1])
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": f"machine state {state + 1}",
            "yaxis": "y2",
            "x": array(starts + (small.columns - 1) / 2),
            "y": array(mean[:, state]),
            "line": {"color": colours[state], "width": 1, "shape": "hvh"},
            "fill": "tozeroy",
            "hovertemplate": "instance %{x}: %{y:.3f}",
        }
        for state in range(1, posterior.shape[1])
    ]
