"""The paper's study in virtual time, and on two ranks.

    .venv/bin/python benchmarks/hide/run.py --runs 10 --matvecs 8192

CG and GMG-CG run with each method of hiding under the scenarios of scenario.py on 1792 simulated ranks. A
sweep varies elements per rank and ranks. Each run is a file in --results; a second start continues with the
missing runs. The default is three runs of 2048 MatVecs, some minutes.
studies/hmm-regimes-communication-hiding/figures.py draws the results.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "studies" / "hmm-regimes-communication-hiding"))

import cells
import real
import scenario
from cells import run_all
from common import emit, estimate

BENCHMARK = "hide"


def report(todo: list[cells.Cell], results: Path) -> None:
    """Print a row per scenario, solver and method: sums of T^max compared with fixed α."""
    groups = sorted({(cell.scenario, cell.solver) for cell in todo})
    for name, solver in groups:
        chosen = [cell for cell in todo if (cell.scenario, cell.solver) == (name, solver)]
        sums: dict[str, list[float]] = {}
        for cell in chosen:
            times = np.sort(cells.load(cell, results)["slowest"])
            # Only the fast part, which the paper calls latencies that are no outliers.
            part = times[: round(0.6 * times.size)]
            sums.setdefault(cell.method, []).append(float(part.mean()))
        for method in list(sums)[1:]:
            emit(
                BENCHMARK,
                f"fastest 60 % of T^max, simulated, {name}, {solver}: {method}",
                ours=1e3 * float(np.median(sums[method])),
                peer=1e3 * float(np.median(sums["fixed"])),
                peer_name="fixed half",
                unit="ms",
                ratio=estimate(np.array(sums["fixed"]) / np.array(sums[method])),
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--runs", type=int, default=3)
    add("--matvecs", type=int, default=2048)
    add("--ranks", type=int, default=1792, help="simulated ranks [1792]")
    add("--solver", choices=(*cells.SOLVERS, "both"), default="both")
    add("--scenario", choices=(*scenario.SCENARIOS, "all"), default="all")
    add("--results", type=Path, default=cells.HERE.parents[1] / "build" / "hide")
    add("--no-sweep", action="store_true", help="skip the sweep of elements per rank × ranks")
    add("--no-real", action="store_true", help="skip the program on two ranks")
    add("--level", type=int, default=4, help="of the program on two ranks: 2^(3 level) elements")
    options = parser.parse_args()
    solvers = cells.SOLVERS if options.solver == "both" else (options.solver,)
    scenarios = tuple(scenario.SCENARIOS) if options.scenario == "all" else (options.scenario,)
    todo = list(cells.study(scenarios, solvers, options.runs, options.ranks, options.matvecs))
    run_all(todo, options.results)
    report(todo, options.results)
    if not options.no_sweep:
        run_all(list(cells.sweep()), options.results)
    if not options.no_real:
        real.measure(options.results, options.runs, options.matvecs, options.level, solvers)


if __name__ == "__main__":
    main()
