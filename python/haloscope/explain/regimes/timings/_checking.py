"""Which rows of a matrix are the times of a rank, and what is said of those that are not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.errors import ProfileError
from haloscope.base.units import ranks_text
from haloscope.explain.regimes.timings._timings import Timings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["checked"]

_MOST_WRONG = 0.1  # of a rank's instances, and of all, that may be left out for a rank to stay
_ROWS_AT_A_TIME = 16  # a megabyte of 8192 instances: what is read twice is still in the cache


def checked(
    name: str,
    region: str | None,
    durations: NDArray[np.float64],
    ranks: NDArray[np.int64],
    hosts: Sequence[str | None],
    others: Mapping[str, NDArray[np.float64]],
) -> Timings:
    """Return timings without the ranks that have none, or have some that no clock shows.

    `durations` is ranks × instances, NaN where there is nothing. A rank is left out if it has no
    instance at all. An instance is, on all ranks, if on one of them its duration is negative or
    infinite, or missing before the last one: closing one rank's gap alone would shift its later
    instances against the other ranks. Where more than a tenth would be lost so, the ranks are left
    out instead. Notes say so. Raises `ProfileError` if no rank is left.
    """
    counts, bad = np.zeros(len(durations), dtype=np.int64), np.zeros(len(durations), dtype=np.bool_)
    zeros = 0
    for first in range(0, len(durations), _ROWS_AT_A_TIME):
        part = slice(first, first + _ROWS_AT_A_TIME)
        counts[part], bad[part], zero = _looked_at(durations[part])
        zeros += zero
    wrong = _mendable(durations, counts, np.flatnonzero(bad))
    rows, columns = np.nonzero(wrong)
    bad[rows] = False
    kept = (counts > 0) & ~bad
    if not kept.any():
        raise ProfileError(f"{name}: {_why_nothing(durations, ranks, bad)}")
    notes = [*_left_out(ranks, counts, bad), *_ends(ranks[kept], counts[kept])]
    if zeros:
        notes.append(f"{zeros} durations are 0: shorter than the clock could tell")
    timings = Timings(name, region, durations, counts, ranks, tuple(hosts), others)
    if not kept.all():
        timings = timings.chosen(np.flatnonzero(kept))
        width = int(timings.counts.max())
        timings = replace(timings, durations=np.ascontiguousarray(timings.durations[:, :width]))
    if len(columns):
        notes.append(_lost(durations, ranks, rows, columns))
        every = np.arange(timings.durations.shape[1])
        timings = timings.at(np.isin(every, columns, invert=True))
    return replace(timings, notes=tuple(notes))


def _looked_at(rows: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_], int]:
    """Return how many instances each row has, which rows are bad, and how many times are 0."""
    width = rows.shape[1]
    least, most = rows.min(initial=np.inf), rows.max(initial=0.0)  # NaN if there is a NaN
    if least > 0 and most < np.inf:
        full = np.full(len(rows), width, dtype=np.int64)
        return full, np.zeros(len(rows), dtype=np.bool_), 0
    there = ~np.isnan(rows)
    last = width - there[:, ::-1].argmax(axis=1)
    counts = np.where(there.any(axis=1), last, 0)
    with np.errstate(invalid="ignore"):
        bad = (there.sum(axis=1) < counts) | (rows < 0).any(axis=1) | np.isinf(rows).any(axis=1)
    return counts, bad, int((rows[~bad] == 0).sum())


def _mendable(
    durations: NDArray[np.float64], counts: NDArray[np.int64], bad: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which durations are no times, of the ranks that can stay without these instances."""
    wrong = np.zeros((len(durations) if len(bad) else 0, durations.shape[1]), dtype=np.bool_)
    for row in bad.tolist():
        part = durations[row, : counts[row]]
        with np.errstate(invalid="ignore"):
            found = ~(part >= 0) | np.isinf(part)
        if found.sum() <= _MOST_WRONG * len(found):
            wrong[row, : counts[row]] = found
    if wrong.any(axis=0).sum() > _MOST_WRONG * durations.shape[1]:
        wrong[:] = False
    return wrong


def _lost(
    durations: NDArray[np.float64],
    ranks: NDArray[np.int64],
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
) -> str:
    number, value = len(np.unique(columns)), durations[rows[0], columns[0]]
    shown = "missing" if np.isnan(value) else f"{value:g} s"
    what = "1 instance is" if number == 1 else f"{number} instances are"
    first = "that" if len(rows) == 1 else "the first"
    return (
        f"{what} left out on all ranks, as a duration is missing, negative or infinite:"
        f" {first} of rank {ranks[rows[0]]}, instance {columns[0]}, is {shown}"
    )


def _why_nothing(durations: NDArray[np.float64], ranks: NDArray[np.int64], bad: NDArray[np.bool_]) -> str:
    if not bad.any():
        return "has no durations"
    row = int(np.flatnonzero(bad)[0])
    with np.errstate(invalid="ignore"):
        wrong = ~(durations[row] >= 0) | np.isinf(durations[row])
    instance = int(np.flatnonzero(wrong)[0])
    value = durations[row, instance]
    shown = "missing" if np.isnan(value) else f"{value:g} s"
    where = f"rank {ranks[row]}, instance {instance}"
    return f"the duration of {where} is {shown}; leave such instances out, or correct them"


def _left_out(ranks: NDArray[np.int64], counts: NDArray[np.int64], bad: NDArray[np.bool_]) -> list[str]:
    notes = []
    silent = ranks[(counts == 0) & ~bad]
    if len(silent):
        notes.append(f"left out, as nothing was recorded: {ranks_text(silent.tolist())}")
    if bad.any():
        wrong = ranks_text(ranks[bad].tolist())
        notes.append(f"left out, as durations are missing, negative or infinite: {wrong}")
    return notes


def _ends(ranks: NDArray[np.int64], counts: NDArray[np.int64]) -> list[str]:
    most = int(counts.max())
    early = ranks[counts < most]
    if not len(early):
        return []
    least = int(counts.min())
    who = ranks_text(early.tolist())
    return [f"ended before the others: {who}, the first after {least} of {most} instances"]
