"""Modes of distributions of times, as Figures 2 and 7 of the paper show them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.signal import find_peaks
from study import Floats, Method

from haloscope.base.palette import METHODS
from haloscope.markov.figures import Figure, Section, TimeUnit, Trace, array, axis, margin
from haloscope.markov.statistics import density

SHOWN = 0.97  # share of the times that is shown: the rest is the tail of the slowest regime
LEAST = 0.1  # height of a mode above the valleys, as a share of the highest one, in the root of the density


def modes(times: Floats) -> Floats:
    """Return the modes of a sample of times: the maxima of the root of its density."""
    found = density(times[times <= np.quantile(times, SHOWN)])
    if found is None:
        return times[:1]
    heights = np.concatenate(([0.0], np.sqrt(found.values), [0.0]))
    places, _ = find_peaks(heights, prominence=LEAST * heights.max())
    peaks: Floats = found.times[places - 1]
    return peaks


def over_ranks(method: Method) -> Floats:
    """Return the median over the ranks of each MatVec's time, of all runs."""
    return np.concatenate([np.median(run["t_in"] + run["t_out"], axis=0) for run in method.runs]).astype(
        float
    )


def each_time(method: Method) -> Floats:
    """Return the sampled times of the fastest run, as in Figure 7."""
    samples: Floats = method.fastest["samples"].astype(float).sum(axis=2).ravel()
    return samples


def medians(methods: Sequence[Method], unit: TimeUnit, caption: str) -> Section:
    """Return Figure 2 for few ranks: the density of the MatVecs' medians over ranks."""
    traces: list[Trace] = []
    for number, method in enumerate(methods):
        times = over_ranks(method)
        found = density(unit.convert(times[times <= np.quantile(times, SHOWN)]))
        if found is None:
            continue
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": method.name,
                "x": array(found.times),
                "y": array(np.sqrt(found.values)),
                "line": {"color": METHODS[number % len(METHODS)], "width": 1.8},
            }
        )
    layout = {
        "height": 340,
        "showlegend": True,
        "margin": margin(48),
        "xaxis": axis(f"median over ranks, {unit.name}"),
        "yaxis": axis(f"√density, 1/√{unit.name}", rangemode="tozero"),
    }
    return Section("medians", "Times of MatVecs", [Figure(caption, traces, layout)])
