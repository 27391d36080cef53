"""The values that the paper prints, next to the simulated ones in Figures 1, 4 and 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl
from speeds import PUBLISHED

from haloscope.base.palette import METHODS
from haloscope.explain.ensembles import Speeds, speed_classes
from haloscope.markov.figures import Figure, Trace

# Percent of the time by processes: point-to-point operations, collective operations, both.
SHARES = {2: (None, None, 0.4), 28: (20.7, 29.7, 50.4), 392: (35.9, 36.1, 72.0)}
SPEED_OF_TWO = 0.26  # Gbit/s, all messages on 2 processes
_UNDIVIDED = "communication, not divided"
Bar = Mapping[str, float | None]


def added(drawn: Mapping[int, Figure], speeds: pl.DataFrame) -> dict[int, Figure]:
    """Return Figures 1 to 5 with the paper's values; `speeds` has `ranks` and `gbit_s`, of all messages."""
    return {
        **drawn,
        1: with_bars(drawn[1], published_bars(), "on 2 processes only the sum is printed"),
        4: with_speeds(drawn[4], speeds),
        5: with_bars(
            drawn[5], all_sizes_bar(), "collectives close to 25 %, point-to-point approximately equal to them"
        ),
    }


def published_bars() -> dict[str, Bar]:
    """Return the bars of Figure 1 that the paper has values for, by the names of the simulated ones."""
    return {
        str(ranks): {
            "compute": 100 - both,
            "point-to-point": p2p,
            "collective": collective,
            _UNDIVIDED: both if p2p is None else None,
        }
        for ranks, (p2p, collective, both) in SHARES.items()
    }


def all_sizes_bar() -> dict[str, Bar]:
    """Return the bar of Figure 5: close to 25 % of collectives, and approximately the same for messages."""
    return {"all": {"compute": 50, "point-to-point": 25, "collective": 25}}


def with_bars(figure: Figure, bars: Mapping[str, Bar], text: str) -> Figure:
    """Return a figure of stacked bars with the paper's bars, each before the simulated one of its name.

    `text` explains the paper's bars.
    """
    simulated = list(dict.fromkeys(x for trace in figure.traces for x in trace["x"]))
    order = [f"{name}, paper" for name in bars if name not in simulated]
    for name in simulated:
        order += [f"{name}, paper", name] if name in bars else [name]
    traces: list[Trace] = []
    for trace in (*figure.traces, _bar_trace(_UNDIVIDED)):
        values = {f"{name}, paper": bar.get(str(trace["name"])) for name, bar in bars.items()}
        known = {label: value for label, value in values.items() if value is not None}
        x, y = [*trace["x"], *known], [*trace["y"], *known.values()]
        if x:
            traces.append({**trace, "x": x, "y": y})
    xaxis = {**figure.layout["xaxis"], "categoryorder": "array", "categoryarray": order}
    caption = f"{figure.caption} Paper: {text}."
    return replace(figure, caption=caption, traces=traces, layout={**figure.layout, "xaxis": xaxis})


def with_speeds(figure: Figure, speeds: pl.DataFrame) -> Figure:
    """Return Figure 4 with Table 2, the paper's speed on 2 processes, and ours of all sizes."""
    right = [trace for trace in figure.traces if trace.get("xaxis") == "x2"]
    colours = {trace["name"]: trace["line"]["color"] for trace in right}
    ends = [min(speeds["ranks"]), max(speeds["ranks"])]
    names = speed_classes(Speeds("any", float)).frame["size"]
    traces = [
        _line(f"{name}, Table 2", ends, [125 * speed] * 2, colours.get(name, "#444"), "dash")
        for name, speed in zip(names, PUBLISHED, strict=True)
    ]
    ordered = speeds.sort("ranks")
    ours = (125e6 * ordered["gbit_s"]).to_list()
    traces.append(_line("all sizes", ordered["ranks"].to_list(), ours, "#444", "solid"))
    star: Trace = {"symbol": "star", "size": 12, "color": "#444"}
    traces.append(
        {
            **_line("all sizes, paper", [2], [125e6 * SPEED_OF_TWO], "#444", "solid"),
            "mode": "markers",
            "marker": star,
        }
    )
    caption = (
        f"{figure.caption} Dashed: Table 2 of the paper. Star: all messages on 2 processes in the paper."
    )
    return replace(figure, caption=caption, traces=[*figure.traces, *traces])


def _line(name: str, x: Sequence[float], y: Sequence[float], colour: str, dash: str) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": list(x),
        "y": list(y),
        "line": {"color": colour, "dash": dash, "width": 1},
        "showlegend": dash == "solid",
        "hovertemplate": "%{x}: %{y:.4s}<extra>%{fullData.name}</extra>",
        "xaxis": "x2",
        "yaxis": "y2",
    }


def _bar_trace(name: str) -> Trace:
    return {
        "type": "bar",
        "name": name,
        "marker": {"color": METHODS[4]},
        "x": [],
        "y": [],
        "hovertemplate": f"{name}: %{{y:.1f}} %<extra></extra>",
    }
