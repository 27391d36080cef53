"""Tables 1 to 3, Figures 1, 2, 6 to 8 and 11 to 13, and section 4.2, from runs of apps/poisson on two ranks.

    .venv/bin/python studies/hmm-regimes-communication-hiding/measured.py DIR

Profiles that are in DIR/measured already are reused.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import cells
import figures
import machines
import modes
import poisson_runs
import polars as pl
import published
import study
import tables
import verdicts
from common import into
from figures import NAMES, PAPERS
from paper import numbered, table_1
from poisson_runs import Run
from study import Method

from haloscope.markov.figures import Figure, Section, slowest_ranks, sums
from haloscope.reproduce.study import write_figures, write_reproduced

RUNS = 5
FAMILY = "gaussian"  # of the times of a regime, as in the paper
# Sections by the paper's figure, which may have several. Figure 8 is Figure 7 per regime.
PAPER = {
    1: ("heat-cg",),
    2: ("medians",),
    6: ("median-rank-cg", "median-rank-gmg"),
    7: ("values-cg", "histogram-cg", "values-gmg", "histogram-gmg"),
    11: ("sums-cg", "boxes-cg"),
    12: ("slowest-event",),
    13: ("sums-event",),
}


def main() -> None:
    """Run what is missing, and write figures, tables and verdicts."""
    folder = Path("measured")
    found = {
        solver: [method(name, [Run(solver, name, i + 1) for i in range(RUNS)], folder) for name in PAPERS]
        for solver in cells.SOLVERS
    }
    # As in the paper, an event slows the run with fixed ½ only. The last one is that run without it.
    alone = [Run("cg", name, 1, event=name == PAPERS[0], calm=True) for name in PAPERS]
    event = [method(run.method, [run], folder) for run in (*alone, Run("cg", PAPERS[0], 1, calm=True))]
    write(found, event)


def method(name: str, runs: Sequence[Run], folder: Path) -> Method:
    """Return the runs of a method, the fastest first, with Gaussian regimes."""
    found = [poisson_runs.arrays(poisson_runs.record(run, folder)) for run in runs]
    found.sort(key=lambda run: float(run["total"][0]))
    return study.method(name, found, emission=FAMILY)


def write(found: Mapping[str, Sequence[Method]], event: Sequence[Method]) -> None:
    """Write the results of the part; `found` is by solver, `event` as for the verdicts."""
    named = {section.name: section for section in sections(found, event)}
    for number, names in PAPER.items():
        drawn = [with_published(figure, number) for figure in numbered(named, names, number)]
        write_figures(drawn, Path(f"figure-{number}.json"))
    table_1(found["cg"]).write_csv("table-1.csv", float_scientific=True, float_precision=3)
    machines.machines().write_csv("machines.csv")
    tests = [tables.run_tests(methods, NAMES[solver]) for solver, methods in found.items()]
    pl.concat(tests).drop("same_method").write_csv("tests.csv", float_precision=4)
    write_reproduced("measured", verdicts.numbers(found, event), verdicts.claims(found, event))


def with_published(figure: Figure, number: int) -> Figure:
    """Return a figure with the numbers that the paper prints for it."""
    if number == 7 and "regime 1" in figure.title:
        shares = ", ".join(f"{name} {share:.0f} %" for name, share in published.FAST_SHARE.items())
        return replace(figure, caption=f"{figure.caption}. Published for CG: {shares}.")
    printed = {11: {"dynamic and test": published.LARGEST_GAIN}, 13: published.FRONTERA}.get(number, {})
    if "yaxis2" not in figure.layout:
        return figure
    at = {"xref": "paper", "yref": "y2"}
    line = {"color": "#000", "dash": "dashdot", "width": 1}
    shapes = [
        {**at, "type": "line", "x0": 0, "x1": 1, "y0": -gain, "y1": -gain, "line": line}
        for gain in printed.values()
    ]
    texts = [
        {
            **at,
            "text": f"published: {name} −{gain:g} %",
            "x": 0,
            "y": -gain,
            "xanchor": "left",
            "yanchor": "bottom",
        }
        for name, gain in printed.items()
    ]
    layout = dict(figure.layout)
    layout["shapes"] = [*layout.get("shapes", ()), *shapes]
    layout["annotations"] = [
        *layout.get("annotations", ()),
        *({**text, "showarrow": False} for text in texts),
    ]
    return replace(figure, layout=layout)


def sections(found: Mapping[str, Sequence[Method]], event: Sequence[Method]) -> list[Section]:
    """Return all figures."""
    origin = f"measured on {poisson_runs.RANKS} ranks"
    made = [
        section for solver, methods in found.items() for section in figures.of_solver(solver, methods, origin)
    ]
    caption = f"Density (square root) of each MatVec's median over the ranks: CG, {origin}. Paper: Figure 2."
    made.append(modes.medians(found["cg"], figures.MS, caption))
    views = [one.view for one in event[: verdicts.QUIET]]
    made += figures.named(slowest_ranks(views, figures.MS), "event", f"CG, {origin}")
    return made + figures.named(sums(views), "event", f"CG, {origin}")


if __name__ == "__main__":
    into()
    main()
