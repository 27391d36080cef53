"""What `haloscope tune` gains on this machine, and that nothing gets slower by its rules.

Every algorithm of some collectives is measured on two ranks. Rules are chosen, verified and
measured again, as the command does, and once more, since what was kept had a part in that.
First row: the geometric mean of the gain over all points (1 where there is no rule). Second row:
the worst point. It may not be slower for certain: the upper end of its interval, of 95 % for all
points together (Bonferroni), must reach 1. How much there is to gain is the library's matter.
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
    """Print the rows, and on standard error how many rules there are."""
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
    """Default against the rules as they were written."""
    if not made.rules:
        return {}
    touched = sorted({point.collective for point in made.tuned})
    points = [point for point in made.chosen if point.collective in touched]
    environment = make_settings(bench.form, file, touched)
    return measure_both(bench, points, environment, METHOD, ROUNDS, lambda what: None)


def mean_row(made: Tuning, trials: Mapping[Point, Trial]) -> None:
    """The geometric mean over the whole grid."""
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
    """The point whose interval lies lowest."""
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
