"""Gain by `haloscope tune` on this machine, and a check that its rules make no point slower.

All algorithms of some collectives are measured on two ranks. Rules are chosen, verified and measured again,
as the command does. Then they are measured once more, because the earlier measurements selected them. First
row: the geometric mean of the gain over all points (1 without a rule). Second row: the worst point. It must
not be significantly slower: the upper end of its interval, of 95 % for all points together (Bonferroni), must
reach 1. The possible gain depends on the MPI library.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import Estimate, emit

from haloscope.predict.bench import CollectiveMethod as Method
from haloscope.predict.tune import (
    Bench,
    ComparisonPlan,
    Point,
    Trial,
    Tuning,
    choose_from,
    gain_interval,
    make_settings,
    measure_all,
    measure_both,
    write_rules,
)

CASES = ("geometric mean gain by tuning", "worst point with rules, upper end of its interval")

COLLECTIVES = ("allgather", "allreduce", "alltoall", "bcast", "reduce", "reduce_scatter")
SIZES = (8, 256, 4096, 65536, 524288)
METHOD = Method(iterations=200, warmup=20)
ROUNDS = 5


def measure() -> None:
    """Print the rows, and on standard error the number of rules."""
    bench = Bench.here()
    points = [Point(collective, 2, size) for collective in COLLECTIVES for size in SIZES]
    sweep = measure_all(bench, points, [0], METHOD, lambda what: None)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "rules"
        made = write_rules(bench, choose_from(sweep), file, ComparisonPlan(METHOD, ROUNDS))
        trials = measured_once_more(bench, made, file)
    mean_row(made, trials)
    worst_row(made, trials)


def measured_once_more(bench: Bench, made: Tuning, file: Path) -> dict[Point, Trial]:
    """Measure the default and the written rules."""
    if not made.rules:
        return {}
    touched = sorted({point.collective for point in made.tuned})
    points = [point for point in made.chosen if point.collective in touched]
    environment = make_settings(bench.form, file, touched)
    return measure_both(bench, points, environment, METHOD, ROUNDS, lambda what: None)


def mean_row(made: Tuning, trials: Mapping[Point, Trial]) -> None:
    """Print the geometric mean over the whole grid."""
    still = np.zeros(ROUNDS)
    gains = [trials[p].gains if p in trials else still for p in made.chosen]
    mean, low, high = gain_interval(np.mean(gains, axis=0))
    rules = f"{len(made.tuned)} of {len(made.chosen)} points have a rule"
    print(f"tune: {rules}", file=sys.stderr)
    emit(
        "predict",
        CASES[0],
        ours=mean,
        peer=1.0,
        peer_name=made.bench.library.name,
        unit="gain",
        ratio=Estimate(mean, low, high),
    )


def worst_row(made: Tuning, trials: Mapping[Point, Trial]) -> None:
    """Print the point whose interval has the lowest upper end."""
    gains = {p: gain_interval(trial.gains, 0.05 / len(trials)) for p, trial in trials.items()}
    gain, low, high = min(gains.values(), key=lambda each: each[2], default=(1.0, 1.0, 1.0))
    emit(
        "predict",
        CASES[1],
        ours=gain,
        peer=1.0,
        peer_name=made.bench.library.name,
        unit="gain",
        ratio=Estimate(high, low, high),
        target=1.0,
    )
