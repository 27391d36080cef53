"""How often statements about regimes are correct: false alarms, power, starts and the number of regimes.

`run.py` measures it with all other topics; `truths.py [REPETITIONS] [TOPIC…]` measures only this.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from calibration import measure_comparisons, measure_episodes, measure_starts, report_rate
from laws import LAWS

from haloscope.markov import Criterion, select

FAMILIES = ("gaussian", "lognormal")  # with kernels of their own

CRITERIA: tuple[Criterion, ...] = ("aic", "bic", "icl", "elbow")
PLANTED = 3
SHAPE = (4, 500)


def measure_truths(repetitions: int, topics: tuple[str, ...] = ()) -> None:
    """Emit the rates. Comparisons are repeated `repetitions` times, faster topics five times as often."""
    topics = topics or ("starts", "episodes", "comparisons", "order")
    if "starts" in topics:
        measure_starts(20)
    if "episodes" in topics:
        measure_episodes(5 * repetitions)
    if "comparisons" in topics:
        measure_comparisons(repetitions)
    if "order" in topics:
        measure_order(max(repetitions // 5, 1), FAMILIES)
    for topic in topics:
        if topic.startswith("order:"):  # slow families
            measure_order(max(repetitions // 20, 1), topic.split(":")[1:])


def measure_order(repetitions: int, families: Sequence[str]) -> None:
    """Report for each law, family and criterion how often three planted regimes are found."""
    for family in families:
        for name, law in LAWS.items():
            chosen = [
                select(law(np.random.default_rng(seed), *SHAPE), emission=family)
                for seed in range(repetitions)
            ]
            for criterion in CRITERIA:
                hits = [
                    replace(selection, criterion=criterion).model.n_regimes == PLANTED for selection in chosen
                ]
                case = f"{name}, {family}, {criterion}: {PLANTED} regimes are found"
                report_rate(case, hits, wanted=True)


if __name__ == "__main__":
    measure_truths(int((sys.argv[1:] or ["100"])[0]), tuple(sys.argv[2:]))
