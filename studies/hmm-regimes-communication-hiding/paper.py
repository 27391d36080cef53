"""Figures 1 to 13 and Table 1 of the paper by one command: CG and GMG-CG under injected regimes, simulated.

    .venv/bin/python studies/hmm-regimes-communication-hiding/paper.py DIR

Writes `figure-1.json` to `figure-13.json`, `sweep.json`, `table-1-here.csv`, `shares.csv` and `gains.csv`.
Simulations that are in DIR already are reused.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import cells
import figures
import numpy as np
import polars as pl
import published
import tables
from common import into
from study import Method

from haloscope.markov.figures import Figure, Section, Trace, axis, margin
from haloscope.reproduce.study import write_figures

RUNS, MATVECS, RANKS = 1, 2048, 1792
SCENARIOS = ("table1", "event", "quiet")
# Sections of figures.py by the paper's figure, which may have several.
PAPER = {
    1: ("heat-cg",),
    2: ("medians-cg",),
    4: ("alpha",),
    5: ("waits-fixed", "waits-dynamic", "waits-test"),
    6: ("median-rank-cg", "median-rank-gmg"),
    7: ("values-cg", "histogram-cg", "values-gmg", "histogram-gmg"),
    9: ("cdfs-cg", "cdfs-gmg"),
    10: ("regime-cdfs-gmg",),
    11: ("sums-cg", "boxes-cg"),
    12: ("slowest-event",),
    13: ("sums-event",),
}


def main() -> None:
    """Simulate all that is missing, and write figures and tables."""
    results = Path("runs")
    todo = list(cells.study(SCENARIOS, cells.SOLVERS, RUNS, RANKS, MATVECS))
    cells.run_all([*todo, *cells.sweep()], results)
    made, found = figures.sections(todo, results)
    named = {section.name: section for section in made}
    for number, names in PAPER.items():
        drawn = [figure for name in names if name in named for figure in titled(named[name], number)]
        # Figure 8 is Figure 7 per regime, and is drawn with it.
        write_figures(drawn, Path(f"figure-{number}.json"))
    write_figures(named["sweep"].figures, Path("sweep.json"))
    few = [method for method in found.methods["table1", "cg"] if method.name in figures.PAPERS]
    write_figures([schedule(few)], Path("figure-3.json"))
    table_1(few).write_csv("table-1-here.csv", float_scientific=True, float_precision=3)
    shares(few).write_csv("shares.csv", float_precision=1)
    gains(found).write_csv("gains.csv", float_precision=2)


def titled(section: Section, number: int) -> list[Figure]:
    """Return a section's figures; the first one's title has the number of the paper's figure."""
    first, *others = section.figures
    title = ": ".join(filter(None, (f"Figure {number}", section.title, first.title)))
    return [replace(first, title=title), *others]


def schedule(methods: Sequence[Method]) -> Figure:
    """Return Figure 3: the parts of a rank's MatVec, with α = ½ and with dynamic α; means of a run."""
    rows = [method for method in methods if method.name in ("fixed", "dynamic")]
    parts: dict[str, list[float]] = {}
    for method in rows:
        run, row = method.fastest, method.view.median_row
        mean = {
            name: float(np.mean(run[name][row])) for name in ("t_in", "t_out", "input_wait", "output_wait")
        }
        parts.setdefault("first block", []).append(mean["t_in"] - mean["input_wait"])
        parts.setdefault("waits for input", []).append(mean["input_wait"])
        parts.setdefault("second block", []).append(mean["t_out"] - mean["output_wait"])
        parts.setdefault("waits for contributions", []).append(mean["output_wait"])
    looks = ("#0072b2", "#e69f00", "#2fa4b5", "#c23b22")
    traces: list[Trace] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "y": [method.name for method in rows],
            "x": [1e3 * value for value in values],
            "marker": {"color": colour},
        }
        for (name, values), colour in zip(parts.items(), looks, strict=True)
    ]
    layout = {
        "height": 260,
        "barmode": "stack",
        "showlegend": True,
        "margin": {**margin(64), "l": 90},
        "xaxis": axis("ms, without mirror elements"),
        "yaxis": axis("", type="category", autorange="reversed"),
    }
    caption = (
        "The rank of median time, mean of all its MatVecs. The paper's figure is a sketch without numbers,"
        " in which input is late. Here, as in its Figure 5, contributions are late, so that dynamic α makes"
        " the first block shorter. Paper: Figure 3."
    )
    return Figure(caption, traces, layout, "Figure 3: parts of a MatVec's time")


def table_1(methods: Sequence[Method]) -> pl.DataFrame:
    """Return Table 1 and the result of Algorithm 1 for the simulated times; seconds."""
    rows = [
        {
            "method": method.name,
            "regime": number + 1,
            "mean": printed[0],
            "our_mean": mean,
            "std": printed[1],
            "our_std": std,
            "share": printed[2],
            "our_share": share,
        }
        for method in methods
        for number, (printed, (mean, std, share)) in enumerate(
            zip(published.TABLE_1[method.name], tables.by_regime(method), strict=True)
        )
    ]
    return pl.DataFrame(rows)


def shares(methods: Sequence[Method]) -> pl.DataFrame:
    """Return section 4.1's percentages of MatVecs in the fast regime, and ours."""
    rows = [
        (m.name, float(published.FAST_SHARE[m.name]), 100 * float((m.ranks.states == 0).mean()))
        for m in methods
    ]
    return pl.DataFrame(rows, schema=["method", "fast_percent", "our_fast_percent"], orient="row")


def gains(found: tables.Found) -> pl.DataFrame:
    """Return the gain over fixed ½, percent: of sums of the K shortest T^max, of the fast regime's mean."""
    rows = []
    for (scenario, solver), methods in found.methods.items():
        base = methods[0]
        for method in methods[1:]:
            printed = published.FRONTERA if scenario == "event" else published.ANVIL if solver == "cg" else {}
            row = {"scenario": scenario, "solver": figures.NAMES[solver], "method": method.name}
            row["published"] = str(printed.get(method.name, "")) if scenario != "quiet" else ""
            for part in (0.25, 0.5, 0.9, 1.0):
                row[f"sum_of_{100 * part:.0f}_percent"] = tables.improvement(method, base, part)
            row["fast_regime"] = 100 * (1 - tables.fast(method)[0] / tables.fast(base)[0])
            rows.append(row)
    return pl.DataFrame(rows)


if __name__ == "__main__":
    into()
    main()
