"""The whole machine over the instances: its states, and the regimes of ranks that they steer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain.regimes._cells import cells
from haloscope.explain.regimes._figures import Figure, Section, array, axis, regime_colours
from haloscope.explain.regimes._figures_time import rank_axes, regime_map
from haloscope.explain.regimes._tables_page import machine_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from haloscope.explain.regimes._analysis import Analysis
    from haloscope.explain.regimes._cells import Cells
    from haloscope.explain.regimes._figures import Trace
    from haloscope.explain.regimes._whole_machine import WholeMachine

__all__ = ["whole_machines"]


def whole_machines(analyses: Sequence[Analysis]) -> Section | None:
    """Show what each run's whole-machine model found; None if none was asked for."""
    found = [(one.name, one.machine) for one in analyses if one.machine is not None]
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
    said = f" Each cell is {small.said}." if small.said else ""
    caption = (
        "Top: how probable it is that the machine is in a slow state, which all ranks share. Below:"
        f" the regimes of the fitted ranks in the light of it.{said} Paper: Figure 1, bottom."
    )
    traces = [regime_map(small, regimes), *_slow_states(machine, small)]
    return Figure(caption, traces, layout | {"height": 400, "showlegend": True}, title)


def _slow_states(machine: WholeMachine, small: Cells) -> list[Trace]:
    posterior = machine.states.posterior
    starts = np.arange(0, len(posterior), small.columns)
    mean = np.add.reduceat(posterior, starts) / np.diff([*starts, len(posterior)])[:, None]
    colours = regime_colours(posterior.shape[1])
    return [
        {"type": "scatter", "mode": "lines", "name": f"machine state {state + 1}", "yaxis": "y2",
         "x": array(starts + (small.columns - 1) / 2), "y": array(mean[:, state]),
         "line": {"color": colours[state], "width": 1, "shape": "hvh"}, "fill": "tozeroy",
         "hovertemplate": "instance %{x}: %{y:.3f}"}
        for state in range(1, posterior.shape[1])
    ]  # fmt: skip
