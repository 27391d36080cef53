"""The likeliest model: many starts are tried on a part, the best climb on everything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain.regimes._chains import NATIVE, Parameters, Work
from haloscope.explain.regimes._climbing import Climb, Rules, climb
from haloscope.explain.regimes._splits import splits
from haloscope.explain.regimes._starts import starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from haloscope.explain.regimes._emissions import Emission
    from haloscope.explain.regimes._sequences import Sequences

__all__ = ["Search", "Searched"]

# Starts are tried on so many instances, and on fewer if the family has no kernels of its own.
_TRIED, _TRIED_SLOWLY = 1 << 14, 1 << 13
_WINDOW = 512  # instances of a sequence that are left together at least
_STEPS = 30  # of a start that is tried
_CLIMBED = 3  # starts that go on to the top
# Of more instances than this a part chooses the one start that goes on to the top of everything.
_MANY, _PART = 1 << 20, 1 << 18
_SLOWER = 3  # powers of two, for families without kernels of their own
_SAME = 2.0  # in log likelihood, beside what is left to gain: the same top


@dataclass(frozen=True)
class Searched:
    """The likeliest top; how many starts were tried; how many of `climbed` ended there.

    `next_best` is by how much the likeliest of the other ends is less likely (natural logarithm).
    """

    best: Climb
    starts: int
    climbed: int
    agreed: int
    next_best: float


@dataclass(frozen=True)
class Search:
    """How to look for the likeliest model of so many regimes."""

    kind: type[Emission]
    regimes: int
    number: int
    seed: int | None
    rules: Rules
    threads: int

    def of(self, sequences: Sequences, fewer: Parameters | None) -> Searched:
        """Try `number` starts and the splits of a model with one regime `fewer`; climb.

        Of several starts one grows: from one regime, that regime is split which gains most by it.
        """
        native = self.kind in NATIVE
        slower = 0 if native else _SLOWER
        part = _part(sequences, _MANY >> slower, _PART >> slower)
        sample = _windows(part, _TRIED if native else _TRIED_SLOWLY)
        first = list(starts(part, self.kind, self.regimes, self.number, self.seed))
        if fewer is not None:
            first += splits(fewer, part)
        elif self.number > 1 and self.regimes > 1:
            first[-1] = self._grown(sample)
        found = self._climbed(part, self._tried(sample, first), len(first))
        if part is sequences:
            return found
        return replace(found, best=self._top(sequences, found.best.parameters))

    def _tried(self, sample: Sequences, first: Sequence[Parameters]) -> list[Parameters]:
        """Return where starts get in a few steps, the likeliest first."""
        if len(first) == 1:
            return list(first)
        work = self._work(sample)
        tried = [climb(work, start, self._short) for start in first]
        tried.sort(key=lambda end: -end.log_likelihood)
        return [end.parameters for end in tried[:_CLIMBED]]

    def _climbed(self, part: Sequences, first: Sequence[Parameters], number: int) -> Searched:
        work = self._work(part)
        ends = [climb(work, start, self.rules) for start in first]
        ends.sort(key=lambda end: -end.log_likelihood)
        best = ends[0]
        below = np.array([best.log_likelihood - end.log_likelihood for end in ends])
        other = below > _SAME + 10 * max(self.rules.tol, 0.0) * part.points
        next_best = float(below[other].min()) if other.any() else 0.0
        return Searched(best, number, len(ends), int((~other).sum()), next_best)

    def _grown(self, sample: Sequences) -> Parameters:
        """Return a model that grew by splits from one regime."""
        work = self._work(sample)
        found = next(starts(sample, self.kind, 1, 1, self.seed))
        for _ in range(1, self.regimes):
            tried = [climb(work, start, self._short) for start in splits(found, sample)]
            found = max(tried, key=lambda end: end.log_likelihood).parameters
        return found

    def _top(self, sequences: Sequences, start: Parameters) -> Climb:
        return climb(self._work(sequences), start, self.rules)

    def _work(self, sequences: Sequences) -> Work:
        return Work(sequences, self.kind, self.threads)

    @property
    def _short(self) -> Rules:
        return replace(self.rules, max_iter=min(_STEPS, self.rules.max_iter))


def _part(sequences: Sequences, many: int, some: int) -> Sequences:
    """Equidistant ones of many sequences, for a first look."""
    number = len(sequences.lengths)
    if sequences.points <= many or number == 1:
        return sequences
    kept = max(1, number * some // sequences.points)
    return sequences.some(np.linspace(0, number - 1, kept).round().astype(np.int64))


def _windows(sequences: Sequences, points: int) -> Sequences:
    """Stretches of equidistant sequences, from the first one's begin to the last one's end."""
    number = len(sequences.lengths)
    if sequences.points <= points:
        return sequences
    window = max(_WINDOW, points // number)
    rows = np.unique(np.linspace(0, number - 1, min(number, points // window)).astype(np.int64))
    lengths = np.minimum(sequences.lengths[rows], max(window, points // len(rows)))
    places = np.linspace(0.0, 1.0, len(rows)) if len(rows) > 1 else np.array([0.5])
    later = ((sequences.lengths[rows] - lengths) * places).astype(np.int64)
    return replace(sequences, begins=sequences.begins[rows] + later, lengths=lengths, shape=None)
