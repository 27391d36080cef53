"""Intervals of the study, its figures with the values that the slides print, and verdicts about times."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from common import lines

from haloscope.base.arrays import Floats
from haloscope.base.palette import RED
from haloscope.markov.figures import Trace

Interval = tuple[float, float, float]
_RESAMPLES = 1000


def lines_with_intervals(
    frame: pl.DataFrame, x: str, y: str, ends: tuple[str, str], by: str, names: Sequence[str]
) -> list[Trace]:
    """Return a line for each of `names` in column `by`, with bars from one column of `ends` to the other."""
    traces = lines(frame, x, y, by, names, {})
    for trace in traces:
        mine = frame.filter(pl.col(by) == trace["name"]).sort(x)
        above, below = (mine[ends[1]] - mine[y]).to_list(), (mine[y] - mine[ends[0]]).to_list()
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": above,
            "arrayminus": below,
            "thickness": 1.5,
            "width": 4,
        }
    return traces


def slides(points: Sequence[tuple[float, float]]) -> list[Trace]:
    """Return the values that the slides print, as stars; none without points."""
    if not points:
        return []
    x, y = zip(*points, strict=True)
    marker = {"symbol": "star", "size": 12, "color": RED}
    return [{"type": "scatter", "mode": "markers", "name": "slides", "x": [*x], "y": [*y], "marker": marker}]


def is_larger(first: Interval, second: Interval) -> bool | None:
    """Return whether the first value is larger than the second; None if their intervals overlap."""
    if first[1] > second[2]:
        return True
    return False if first[2] < second[1] else None


def any_of(verdicts: Iterable[bool | None]) -> bool | None:
    """Return whether one verdict is true; None if that is unknown."""
    found = set(verdicts)
    return True if True in found else None if None in found or not found else False


def all_of(verdicts: Iterable[bool | None]) -> bool | None:
    """Return whether all verdicts are true; None if that is unknown."""
    found = set(verdicts)
    return False if False in found else None if None in found or not found else True


def describe_cores(row: Mapping[str, Any]) -> str:
    """Return how many cores the ranks of a row have: ranks that compute keep others from their messages."""
    cores = len(os.sched_getaffinity(0))
    return f"{row['ranks']} ranks {'share' if row['ranks'] > cores else 'on'} {cores} cores"


def judged(ranks: int, holds: bool | None, evidence: str) -> tuple[bool | None, str]:
    """Return a verdict about times and its evidence; no verdict if ranks share cores."""
    cores = len(os.sched_getaffinity(0))
    if ranks > cores:
        return None, f"{ranks} ranks share {cores} cores; {evidence}"
    return holds, evidence if holds is not None else f"intervals overlap; {evidence}"


def interval(values: Floats) -> Interval:
    """Return the median and its 95 % bootstrap interval."""
    random = np.random.default_rng(0)
    medians = np.median(random.choice(values, (_RESAMPLES, len(values))), axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return float(np.median(values)), float(low), float(high)
