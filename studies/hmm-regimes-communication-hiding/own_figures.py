"""Figures that `haloscope regimes` does not draw: 4, 5, histograms of 7, and the sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import cells
import numpy as np
import scenario
from numpy.typing import NDArray
from study import Floats, Method

from haloscope.base.palette import METHODS
from haloscope.markov.figures import Figure, Panel, Section, TimeUnit, Trace, array, axis, margin, panels

MOST = 2048  # points of a line


def _dots(x: object, y: object, colour: str, name: str, **more: object) -> Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": array(np.asarray(x)),
        "y": array(np.asarray(y)),
        "marker": {"color": colour, "size": 2.5, "opacity": 0.6},
        **more,
    }


def final_alphas(by_solver: Mapping[str, Sequence[Method]], caption: str) -> Section:
    """Return Figure 4: α by rank."""
    drawn = []
    for solver, found in by_solver.items():
        for method in found:
            if method.name in ("dynamic", "test"):
                alphas = method.fastest["rank_mean_alpha"]
                title = f"{solver}, {method.name}: median {np.median(alphas):.3f}"
                ranks = np.arange(len(alphas))
                drawn.append(Panel(title, [_dots(ranks, alphas, "#0072b2", method.name)]))
    traces, layout = panels(
        drawn, axis("rank"), axis("mean α", range=[-0.02, 1.02]), 2, 240, showlegend=False
    )
    return Section("alpha", "Split α of each rank", [Figure(caption, traces, layout)])


def waits(method: Method, unit: TimeUnit, caption: str) -> Section:
    """Return Figure 5 for one method: waits of the median rank with excess, ε and mean; α."""
    run, row = method.fastest, method.view.median_row
    count = run["t_in"].shape[1]
    step = -(-count // MOST)
    places = np.arange(0, count, step)
    first, second = (run[name][row].astype(float) for name in ("input_wait", "output_wait"))
    drawn = []
    for name, own, other in (("input", first, second), ("output", second, first)):
        excess = (own > scenario.EPSILON) & (other < scenario.EPSILON)
        traces = []
        for chosen, colour, label in ((~excess, "#9aa5b1", "wait"), (excess, "#0072b2", "excess")):
            at = places[chosen[places]]
            traces.append(_dots(at, unit.convert(np.maximum(own[at], 1e-6)), colour, label))
        for level, colour, label in ((scenario.EPSILON, "#000", "ε"), (float(own.mean()), "#c23b22", "mean")):
            line = {
                "type": "scatter",
                "mode": "lines",
                "name": label,
                "x": [0, count],
                "y": [float(unit.convert(max(level, 1e-6)))] * 2,
                "line": {"color": colour, "dash": "dash", "width": 1.4},
            }
            traces.append(line)
        drawn.append(Panel(f"{method.name}, {name}: mean {1e6 * own.mean():.0f} µs", traces))
    above = axis(f"wait, {unit.name}", type="log", exponentformat="none", dtick=1)
    traces, layout = panels(drawn, axis("MatVec"), above, 1, 170, showlegend=False)
    alpha = run["alpha"][row][places]
    line = {
        "type": "scatter",
        "mode": "lines",
        "x": array(places),
        "y": array(alpha),
        "line": {"color": "#1c2733", "width": 1.2},
    }
    below = {
        "height": 200,
        "margin": margin(16),
        "xaxis": axis("MatVec"),
        "yaxis": axis("α", range=[-0.02, 1.02]),
    }
    return Section(
        "waits", f"Waiting: {method.name}", [Figure(caption, traces, layout), Figure("α.", [line], below)]
    )


def histogram(found: Sequence[Method], unit: TimeUnit, title: str, caption: str) -> Section:
    """Return the lower row of Figure 7: sums of T_in and T_out of ten MatVecs per rank."""
    times = [method.fastest["samples"].astype(float).sum(axis=2).ravel() for method in found]
    every = np.concatenate(times)
    low, high = np.quantile(every, [0.0, 0.97])
    edges = np.linspace(low, high, 161)
    traces: list[Trace] = []
    for number, (method, values) in enumerate(zip(found, times, strict=True)):
        shares = np.histogram(values, edges)[0] / values.size
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": method.name,
                "fill": "tozeroy",
                "x": array(unit.convert((edges[1:] + edges[:-1]) / 2)),
                "y": array(shares),
                "line": {"color": METHODS[number % 7], "width": 1.2, "shape": "hvh"},
                "opacity": 0.5,
            }
        )
    layout = {
        "height": 340,
        "showlegend": True,
        "margin": margin(16),
        "xaxis": axis(f"T_in + T_out, {unit.name}"),
        "yaxis": axis("share"),
    }
    return Section("histogram", title, [Figure(caption, traces, layout)])


def sweep(tables: dict[str, Floats], caption: str) -> Section:
    """Return the speed-up over fixed ½ in percent, for elements per rank × ranks."""
    figures = []
    for name in ("dynamic", "test"):
        gain = gains(tables, name)
        text = [["" if np.isnan(v) else f"{v:.1f}" for v in row] for row in gain.tolist()]
        trace: Trace = {
            "type": "heatmap",
            "z": [[None if np.isnan(v) else round(v, 2) for v in row] for row in gain.tolist()],
            "x": [str(n) for n in cells.SWEPT_RANKS],
            "y": [str(n**3) for n in cells.SWEPT_EDGES],
            "text": text,
            "texttemplate": "%{text}",
            "colorscale": [[0, "#c23b22"], [0.5, "#ffffff"], [1, "#2e78b7"]],
            "zmid": 0,
            "zmin": -15,
            "zmax": 15,
            "colorbar": {"title": {"text": "%"}, "thickness": 12},
        }
        layout = {
            "height": 400,
            "margin": margin(16),
            "xaxis": axis("ranks", type="category"),
            "yaxis": axis("elements per rank", type="category"),
        }
        figures.append(Figure(f"{caption}", [trace], layout, name))
    return Section("sweep", "Gain by elements and ranks", figures, columns=2)


def gains(tables: dict[str, Floats], name: str) -> NDArray[np.float64]:
    """Return by how many percent times are shorter than with fixed ½."""
    gain: NDArray[np.float64] = 100 * (1 - tables[name] / tables["fixed"])
    return gain
