"""One run's times of one region: input and output of this package."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from haloscope.base.arrays import Flags, Floats, Indices, Integers
from haloscope.base.errors import ProfileError
from haloscope.base.units import ranks_text

Reduction = Literal["max", "median", "mean"]
REDUCED = -1  # the rank of a series reduced over all ranks

_COLUMNS_AT_A_TIME = 256


@dataclass(frozen=True)
class Timings:
    """T[p, k], the seconds that instance k of a region took on rank p.

    `durations` is C-contiguous, ranks × instances, finite and not negative; NaN follows a rank's last
    instance. `counts` are the instances of each row, at least one; `ranks` and `hosts` its world rank and
    where it ran (None: unknown). `others` are further matrices of the same shape by name, read when they are
    asked for: `start` (seconds since MPI_Init), `wait`, and values that the program recorded, NaN where there
    is none. `notes` has a line for each kind of data that was left out.
    """

    name: str
    region: str | None
    durations: Floats
    counts: Integers
    ranks: Integers
    hosts: tuple[str | None, ...]
    others: Mapping[str, Floats] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()

    @classmethod
    def from_matrix(cls, durations: Floats, name: str = "timings", region: str | None = None) -> Timings:
        """Return a matrix, ranks × instances, as timings of ranks 0, 1, …, without copying it."""
        matrix = np.ascontiguousarray(np.atleast_2d(durations), dtype=np.float64)
        ranks = len(matrix)
        # A rank with the last instance has all instances: only the others are searched.
        ragged = np.isnan(matrix[:, -1]).any() if matrix.shape[1] else False
        width = np.full(ranks, matrix.shape[1], dtype=np.int64)
        counts = matrix.shape[1] - _trailing(matrix) if ragged else width
        return cls(name, region, matrix, counts, np.arange(ranks), (None,) * ranks)

    @property
    def whole(self) -> bool:
        """True if all ranks have equally many instances."""
        return bool(self.counts.min() == self.durations.shape[1])

    @property
    def rows(self) -> list[Floats]:
        """The durations of each rank without what follows its last one; views."""
        counts = self.counts.tolist()
        return [row[:count] for row, count in zip(self.durations, counts, strict=True)]

    def reduce(self, how: Reduction) -> Timings:
        """Return T[k] of the instances that all ranks have, as one row of rank −1 (Remark 1).

        Ranks that ended before half of the longest series are left out, and a note says so. The
        `start` is the mean over ranks; there are no other values.
        """
        kept = 2 * self.counts >= self.counts.max()
        if not kept.all():
            early = ranks_text(self.ranks[~kept].tolist())
            note = f"not in the {how} over ranks, as they ended early: {early}"
            rest = self.select(np.flatnonzero(kept))
            return replace(rest, notes=(*self.notes, note)).reduce(how)
        shared = int(self.counts.min())
        durations = _reduce_rows(self.durations[:, :shared], how)
        others = {}
        if "start" in self.others:
            others["start"] = _reduce_rows(self.others["start"][:, :shared], "mean")
        notes = self.notes
        if shared < self.durations.shape[1]:
            most = self.durations.shape[1]
            notes += (f"only the first {shared} of {most} instances are there on all ranks",)
        counts = np.array([shared], dtype=np.int64)
        ranks = np.array([REDUCED], dtype=np.int64)
        return replace(
            self, durations=durations, counts=counts, ranks=ranks, hosts=(None,), others=others, notes=notes
        )

    def select(self, rows: Sequence[int] | Integers) -> Timings:
        """Return only these rows."""
        index = np.asarray(rows, dtype=np.int64)
        return replace(
            self,
            durations=self.durations[index],
            counts=self.counts[index],
            ranks=self.ranks[index],
            hosts=tuple(self.hosts[row] for row in index.tolist()),
            others=_Chosen(self.others, index),
        )

    def select_instances(self, columns: Flags) -> Timings:
        """Return only these instances, which are then neighbours."""
        ends = np.arange(len(columns)) < self.counts[:, None]
        return replace(
            self,
            durations=np.ascontiguousarray(self.durations[:, columns]),
            counts=np.count_nonzero(ends & columns, axis=1),
            others=_Chosen(self.others, (slice(None), columns)),
        )


class _Chosen(Mapping[str, "Floats"]):
    """Rows or columns of matrices that are read when one is asked for."""

    def __init__(self, matrices: Mapping[str, Floats], index: Integers | tuple[slice, Flags]) -> None:
        self._matrices, self._index = matrices, index

    def __getitem__(self, name: str) -> Floats:
        return self._matrices[name][self._index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._matrices)

    def __len__(self) -> int:
        return len(self._matrices)


def _trailing(matrix: Floats) -> Integers:
    """Return how many NaN each row ends with."""
    there = ~np.isnan(matrix[:, ::-1])
    first: Integers = there.argmax(axis=1)
    return np.where(there.any(axis=1), first, matrix.shape[1])


def _reduce_rows(matrix: Floats, how: Reduction) -> Floats:
    """Return one row, from a few columns at a time, because a median copies its input."""
    functions: Mapping[Reduction, Callable[..., Floats]]
    functions = {"max": np.max, "median": np.median, "mean": np.mean}
    if not len(matrix) or not matrix.shape[1]:
        return np.empty((1, 0))
    parts = [
        functions[how](matrix[:, first : first + _COLUMNS_AT_A_TIME], axis=0)
        for first in range(0, matrix.shape[1], _COLUMNS_AT_A_TIME)
    ]
    return np.concatenate(parts)[None, :]


_MOST_WRONG = 0.1  # the largest share of a rank's instances, and of all, that may be left out
_ROWS_AT_A_TIME = 16  # a megabyte of 8192 instances: the second reading finds them in the cache


def check_timings(
    name: str,
    region: str | None,
    durations: Floats,
    ranks: Integers,
    hosts: Sequence[str | None],
    others: Mapping[str, Floats],
) -> Timings:
    """Return timings without the ranks that have none, or have durations that cannot be true.

    `durations` is ranks × instances, NaN where there is nothing. A rank without instances is left out. An
    instance is left out on all ranks if its duration on one of them is negative, infinite, or missing before
    the last one. Closing the gap of one rank alone would shift its later instances against the other ranks.
    If more than a tenth would be lost, the ranks are left out instead. `notes` reports it. Raises
    `ProfileError` if no rank is left.
    """
    counts, bad = np.zeros(len(durations), dtype=np.int64), np.zeros(len(durations), dtype=np.bool_)
    zeros = 0
    for first in range(0, len(durations), _ROWS_AT_A_TIME):
        part = slice(first, first + _ROWS_AT_A_TIME)
        counts[part], bad[part], zero = _inspect(durations[part])
        zeros += zero
    wrong = _mendable(durations, counts, np.flatnonzero(bad))
    rows, columns = np.nonzero(wrong)
    bad[rows] = False
    kept = (counts > 0) & ~bad
    if not kept.any():
        raise ProfileError(f"{name}: {_explain_nothing(durations, ranks, bad)}")
    notes = [*_describe_left_out(ranks, counts, bad), *_ends(ranks[kept], counts[kept])]
    if zeros:
        notes.append(f"{zeros} durations are 0: shorter than the clock's resolution")
    timings = Timings(name, region, durations, counts, ranks, tuple(hosts), others)
    if not kept.all():
        timings = timings.select(np.flatnonzero(kept))
        width = int(timings.counts.max())
        timings = replace(timings, durations=np.ascontiguousarray(timings.durations[:, :width]))
    if len(columns):
        notes.append(_lost(durations, ranks, rows, columns))
        every = np.arange(timings.durations.shape[1])
        timings = timings.select_instances(np.isin(every, columns, invert=True))
    return replace(timings, notes=tuple(notes))


def _inspect(rows: Floats) -> tuple[Integers, Flags, int]:
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


def _mendable(durations: Floats, counts: Integers, bad: Integers) -> Flags:
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


def _lost(durations: Floats, ranks: Integers, rows: Indices, columns: Indices) -> str:
    number, value = len(np.unique(columns)), durations[rows[0], columns[0]]
    shown = "missing" if np.isnan(value) else f"{value:g} s"
    what = "1 instance is" if number == 1 else f"{number} instances are"
    first = "that" if len(rows) == 1 else "the first"
    return (
        f"{what} left out on all ranks, as a duration is missing, negative or infinite:"
        f" {first} of rank {ranks[rows[0]]}, instance {columns[0]}, is {shown}"
    )


def _explain_nothing(durations: Floats, ranks: Integers, bad: Flags) -> str:
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


def _describe_left_out(ranks: Integers, counts: Integers, bad: Flags) -> list[str]:
    notes = []
    silent = ranks[(counts == 0) & ~bad]
    if len(silent):
        notes.append(f"left out, as nothing was recorded: {ranks_text(silent.tolist())}")
    if bad.any():
        wrong = ranks_text(ranks[bad].tolist())
        notes.append(f"left out, as durations are missing, negative or infinite: {wrong}")
    return notes


def _ends(ranks: Integers, counts: Integers) -> list[str]:
    most = int(counts.max())
    early = ranks[counts < most]
    if not len(early):
        return []
    least = int(counts.min())
    who = ranks_text(early.tolist())
    return [f"ended before the others: {who}, the first after {least} of {most} instances"]
