"""Which criterion and family find three planted regimes, where no model may be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from calibration import report_rate
from laws import LAWS

from haloscope.explain.regimes import Criterion, select

__all__ = ["measure_order"]

CRITERIA: tuple[Criterion, ...] = ("aic", "bic", "icl", "elbow")
PLANTED = 3
SHAPE = (4, 500)


def measure_order(repetitions: int, families: Sequence[str]) -> None:
    """A row for each law, family and criterion: how often three regimes are found."""
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
