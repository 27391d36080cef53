"""The table of `haloscope tune`: a row per point, with the chosen algorithm and its gain."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from haloscope.predict.tune.choice import Candidate
from haloscope.predict.tune.trial import gain_interval
from haloscope.predict.tune.tuner import Tuning
from haloscope.profile.shown import columns, declare_table, exact, gain, text, time, yes_no

TUNE_TABLE = declare_table(
    "tune",
    columns(
        "collective ranks bytes",
        "bytes as in OSU: a rank's block for allgather, alltoall, gather, scatter, else the whole",
        collective=text(),
        ranks=exact(),
        bytes=exact(),
    ),
    columns(
        "default_algorithm",
        "the function that runs without rules (Open MPI), else `default`",
        default_algorithm=text("by default"),
    ),
    columns(
        "default_time",
        "median over the rounds of a launch's median, of the slowest rank, in seconds; null without a "
        "second measurement",
        default_time=time("time"),
    ),
    columns(
        "algorithm",
        "the algorithm of the rule, with segment size and fan-out (`×`); `default` is the library's own "
        "choice",
        algorithm=text("tuned"),
    ),
    columns("tuned_time", "as `default_time`, with the rule", tuned_time=time("time")),
    columns(
        "gain gain_low gain_high",
        "default / tuned: geometric mean over the rounds with its 95 % interval (Student's t), corrected "
        "for selection",
        gain=gain(low="gain_low", high="gain_high"),
    ),
    columns("verified", "whether the rule took effect; null without a rule", verified=yes_no()),
)


def make_table(tuning: Tuning) -> pl.DataFrame:
    """Return a row for each point. Times are medians over the rounds, gains default / tuned."""
    return pl.DataFrame(
        [_make_row(tuning, point) for point in sorted(tuning.chosen)], schema=list_column_types()
    )


def list_column_types() -> dict[str, Any]:
    """Return the type of each column."""
    kinds: dict[str, Any] = dict.fromkeys(TUNE_TABLE.columns, pl.Float64)
    kinds |= {"collective": pl.String, "ranks": pl.Int64, "bytes": pl.Int64}
    return kinds | {"default_algorithm": pl.String, "algorithm": pl.String, "verified": pl.Boolean}


def _make_row(tuning: Tuning, point: Any) -> dict[str, Any]:
    candidate, trial, verdict = tuning.chosen[point], tuning.trials.get(point), tuning.verdicts.get(point)
    row: dict[str, Any] = dict.fromkeys(TUNE_TABLE.columns)
    row.update(collective=point.collective, ranks=point.ranks, bytes=point.bytes)
    row["default_algorithm"] = tuning.defaults.get(point, "default")
    row["algorithm"] = name_algorithm(candidate)
    if candidate != Candidate():
        row["verified"] = bool(verdict and verdict.verified)
    if trial is not None:
        gain, low, high = gain_interval(trial.gains, tuning.level)
        row.update(
            default_time=float(np.median(trial.default)),
            tuned_time=float(np.median(trial.tuned)),
            gain=gain,
            gain_low=low,
            gain_high=high,
        )
    return row


def name_algorithm(candidate: Candidate) -> str:
    """Return an algorithm's name with its segment size and fan-out."""
    segment = f" {candidate.segment} B" if candidate.segment else ""
    return f"{candidate.name}{segment}{f' ×{candidate.fanout}' if candidate.fanout else ''}"
