"""Figures 3 to 5, 9 and 10 of the paper for many ranks, and gains, in virtual time under injected regimes.

    .venv/bin/python studies/hmm-regimes-communication-hiding/paper.py DIR

Writes `figure-N.json`, `sweep.json`, `regimes-of-many-ranks.csv` and `gains.csv`. Simulations that are in DIR
already are reused.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import cells
import figures
import many_ranks
import numpy as np
import own_figures
import polars as pl
import published
import tables
from common import into
from study import Method

from haloscope.markov.figures import Figure, Section, Trace, axis, margin
from haloscope.reproduce.study import write_figures, write_reproduced

RUNS, MATVECS, RANKS = 1, 2048, 1792
SCENARIOS = ("table1", "event", "quiet")
# Sections of figures.py by the paper's figure, which may have several.
PAPER = {
    4: ("alpha",),
    5: ("waits-fixed", "waits-dynamic", "waits-test"),
    9: ("cdfs-cg", "cdfs-gmg"),
    10: ("regime-cdfs-gmg",),
}


def main() -> None:
    """Simulate all that is missing, and write figures, tables and verdicts."""
    results = Path("runs")
    todo = list(cells.study(SCENARIOS, cells.SOLVERS, RUNS, RANKS, MATVECS))
    cells.run_all([*todo, *cells.sweep()], results)
    made, found = figures.sections(todo, results)
    named = {section.name: section for section in made}
    for number, names in PAPER.items():
        write_figures(numbered(named, names, number), Path(f"figure-{number}.json"))
    write_figures(named["sweep"].figures, Path("sweep.json"))
    few = {
        solver: [method for method in found.methods["table1", solver] if method.name in figures.PAPERS]
        for solver in cells.SOLVERS
    }
    write_figures([schedule(few["cg"])], Path("figure-3.json"))
    regimes = table_1(few["cg"]).with_columns(decoded_right=many_ranks.decoded_right(few["cg"]))
    regimes.write_csv("regimes-of-many-ranks.csv", float_scientific=True, float_precision=3)
    gains(found).write_csv("gains.csv", float_precision=2)
    swept = {name: own_figures.gains(found.swept, name) for name in ("dynamic", "test")}
    write_reproduced("many-ranks", many_ranks.numbers(), many_ranks.claims(few, swept))


def numbered(named: Mapping[str, Section], names: Sequence[str], number: int) -> list[Figure]:
    """Return the figures of these sections, with the number of the paper's figure in their titles."""
    return [figure for name in names if name in named for figure in titled(named[name], number)]


def titled(section: Section, number: int) -> list[Figure]:
    """Return a section's figures; the first one's title has the number of the paper's figure."""
    first, *others = section.figures
    title = ": ".join(filter(None, (f"Figure {number}", section.title, first.title)))
    return [replace(first, title=title), *others]


def schedule(methods: Sequence[Method]) -> Figure:
    """Return Figure 3: parts of a MatVec with α = ½ and dynamic α, medians over ranks of their medians."""
    rows = [method for method in methods if method.name in ("fixed", "dynamic")]
    parts: dict[str, list[float]] = {}
    for method in rows:
        run = method.fastest
        for name, values in (
            ("first block", run["t_in"] - run["input_wait"]),
            ("waits for input", run["input_wait"]),
            ("second block", run["t_out"] - run["output_wait"]),
            ("waits for contributions", run["output_wait"]),
        ):
            parts.setdefault(name, []).append(float(np.median(np.median(values, axis=1))))
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
        "Median over ranks of each rank's median over its MatVecs, in virtual time. The paper's figure is a"
        " sketch without numbers, in which input is late. Here, as in its Figure 5, contributions are late."
        " Paper: Figure 3."
    )
    return Figure(caption, traces, layout, "Figure 3: parts of a MatVec's time")


def table_1(methods: Sequence[Method]) -> pl.DataFrame:
    """Return Table 1 and the result of Algorithm 1 for these times; seconds."""
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


def gains(found: tables.Found) -> pl.DataFrame:
    """Return the gain over fixed ½, percent: of sums of the K shortest T^max, of the fast regime's mean."""
    rows = []
    for (scenario, solver), methods in found.methods.items():
        base = methods[0]
        for method in methods[1:]:
            printed = published.FRONTERA if scenario == "event" else published.ANVIL if solver == "cg" else {}
            row: dict[str, str | float] = {"scenario": scenario, "solver": figures.NAMES[solver]}
            row["method"] = method.name
            row["published"] = str(printed.get(method.name, "")) if scenario != "quiet" else ""
            for part in (0.25, 0.5, 0.9, 1.0):
                row[f"sum_of_{100 * part:.0f}_percent"] = tables.improvement(method, base, part)
            row["fast_regime"] = 100 * (1 - tables.fast(method)[0] / tables.fast(base)[0])
            rows.append(row)
    return pl.DataFrame(rows)


if __name__ == "__main__":
    into()
    main()
