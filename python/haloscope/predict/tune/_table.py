"""What tuning gains, as a table and in a line."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from haloscope.base.units import time_text
from haloscope.predict.tune._choice import Candidate
from haloscope.predict.tune._trial import gain_interval, mean_gain
from haloscope.predict.tune._tune import Tuning

if TYPE_CHECKING:
    import polars as pl

    from haloscope.predict.tune._workload import Workload

__all__ = ["percent", "program_gain", "program_text", "said", "summary", "table"]

_SCHEMA = (
    "collective",
    "ranks",
    "bytes",
    "default_algorithm",
    "default_time",
    "algorithm",
    "tuned_time",
    "gain",
    "gain_low",
    "gain_high",
    "verified",
)


def table(made: Tuning) -> pl.DataFrame:
    """Return a row for each point. Times are medians over the rounds, gains default / tuned."""
    import polars as pl

    kinds: dict[str, Any] = dict.fromkeys(_SCHEMA, pl.Float64)
    kinds |= {"collective": pl.String, "ranks": pl.Int64, "bytes": pl.Int64}
    kinds |= {"default_algorithm": pl.String, "algorithm": pl.String, "verified": pl.Boolean}
    return pl.DataFrame([_row(made, point) for point in sorted(made.chosen)], schema=kinds)


def _row(made: Tuning, point: Any) -> dict[str, Any]:
    one, trial, verdict = made.chosen[point], made.trials.get(point), made.verdicts.get(point)
    row: dict[str, Any] = dict.fromkeys(_SCHEMA)
    row.update(collective=point.collective, ranks=point.ranks, bytes=point.bytes)
    row["default_algorithm"] = made.defaults.get(point, "default")
    row["algorithm"] = said(one)
    if one != Candidate():
        row["verified"] = bool(verdict and verdict.verified)
    if trial is not None:
        gain, low, high = gain_interval(trial.gains)
        row.update(
            default_time=float(np.median(trial.default)),
            tuned_time=float(np.median(trial.tuned)),
            gain=gain,
            gain_low=low,
            gain_high=high,
        )
    return row


def said(one: Candidate) -> str:
    """An algorithm with what is set of it."""
    segment = f" {one.segment} B" if one.segment else ""
    return f"{one.name}{segment}{f' ×{one.fanout}' if one.fanout else ''}"


def summary(made: Tuning) -> str:
    """Return the gain over the grid in a line."""
    count = f"{len(made.tuned)} of {len(made.chosen)} points have a rule"
    if not made.trials:
        return count
    gain, low, high = mean_gain(made.trials)
    return (
        f"{count}; geometric mean gain over the {len(made.trials)} points of their collectives: "
        f"{gain:.3f} ({low:.3f} to {high:.3f})"
    )


def program_gain(made: Tuning, work: Workload) -> tuple[float, float, float, float] | None:
    """The seconds, of all ranks, that a program's collectives take by default, and which share of
    them the rules save, with its interval over the rounds; None where there are no rules."""
    if not made.trials:
        return None
    points = [point for point in made.trials if point in work.calls]
    calls = np.array([work.calls[point] for point in points], dtype=np.float64)
    default = calls @ np.array([made.trials[point].default for point in points])
    tuned = calls @ np.array([made.trials[point].tuned for point in points])
    ratio, low, high = gain_interval(np.log(default / tuned))
    return float(np.median(default)), 1 - 1 / ratio, 1 - _inverse(low), 1 - _inverse(high)


def _inverse(value: float) -> float:
    return 0.0 if math.isinf(value) else 1 / value if value else math.inf


def percent(value: float) -> str:
    """A share as people say it."""
    return f"{100 * value:.1f} %"


def program_text(gain: tuple[float, float, float, float] | None, work: Workload) -> str:
    """Return what the program gains, in a line."""
    if gain is None:
        return "the program gains nothing: there is no rule for what it calls"
    total, share, low, high = gain
    apart = work.left_out + sum(work.other.values())
    others = f"; {time_text(apart)} of its collectives' time was not looked at" if apart else ""
    return (
        f"the program's calls of these collectives take {time_text(total)} of all ranks' time by "
        f"these measurements; the rules save {percent(share)} of it ({percent(low)} to "
        f"{percent(high)}){others}"
    )
