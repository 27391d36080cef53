"""A scaling model of one algorithm's time from measured points, with intervals between and beyond them.

For each measured size, the time is a constant plus the cost of two patterns of messages (`Growths`) with
non-negative factors. The points select the patterns: each pair is fitted to the smaller numbers of ranks and
scored at the larger ones, together with the neighbouring sizes. Beyond the largest measured number of ranks,
the pairs that are almost as good as the best are averaged, each shifted through the last measured point.
Between sizes the model interpolates linearly.

The interval combines the error of these scores per doubling of the ranks, the spread of the pairs, and for
unmeasured sizes the distance of lines from either side, because a protocol may change anywhere between. If
only powers of two of ranks were measured, the interval for other numbers is wider: some algorithms for powers
of two take two more steps, one before and one after all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from haloscope.base.arrays import Floats, Integers
from haloscope.predict.collective_growth import BYTES, LATENCIES, Growths

PAIRS = [(latency, byte) for latency in LATENCIES for byte in BYTES]
_FADING = 0.7  # weight of half the number of ranks
_FLOOR = 0.01  # relative errors below this are equal
_FEWEST = 3  # smallest number of different numbers of ranks that shows growth
_PLAUSIBLE = 8.0  # largest plausible multiple of the expected cost of a pattern
_IMPLAUSIBLE = 0.05  # penalty (error) per factor of e above that
_PULL = 1e-4  # weight of the prior (the cost of the machine's messages), as a share of all points
_NEIGHBOUR = 0.5  # weight of the score at a neighbouring size
_FARTHEST = 5.0  # doublings of the ranks beyond which there is no estimate


@dataclass(frozen=True)
class Estimate:
    """A time in seconds with the bounds of its 95 % interval; `high` is infinite if unknown."""

    time: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the width of the interval of the logarithm."""
        return float(np.log(self.high / self.time)) if self.high > self.time > 0 else float("inf")

    def is_significantly_below(self, other: Estimate, margin: float = 0.0) -> bool:
        """Return True if the interval of the ratio of both is below 1 / (1 + `margin`)."""
        if not (np.isfinite(self.half) and np.isfinite(other.half)):
            return False
        ratio = float(np.log(self.time * (1 + margin) / other.time))
        return ratio + float(np.hypot(self.half, other.half)) < 0


@dataclass(frozen=True)
class Width:
    """The errors of predictions of a sweep, from an algorithm's own points and from all points.

    `pooled` is the median error of all algorithms per doubling of ranks, or between sizes. `scale` converts
    both to half widths of 95 % intervals.
    """

    pooled: float = 0.05
    scale: float = 3.0

    def half(self, own: float, distance: float) -> float:
        """Return the half width at a distance of `distance` doublings."""
        return self.scale * float(np.hypot(own, self.pooled * distance))

    @classmethod
    def of(cls, errors: Floats, own: Floats, distances: Floats, held: float) -> Width:
        """Return the width that covers the share `held` of the errors, given each algorithm's own
        estimates."""
        pooled = max(float(np.median(errors / distances)), 1e-3)
        return cls(pooled, float(np.quantile(errors / np.hypot(own, pooled * distances), held)))


class Law:
    """The scaling model of one algorithm; `widths` are those of its sweep, for ranks and for sizes."""

    def __init__(
        self,
        growths: Growths,
        times: Mapping[tuple[int, int], float],
        *,
        widths: tuple[Width, Width] | None = None,
    ) -> None:
        self.ranks = np.array(sorted({ranks for ranks, _ in times}), np.int64)
        self.sizes = np.array(sorted({size for _, size in times}), np.int64)
        self._widths = widths or (Width(), Width())
        self._known: dict[int, tuple[Floats, Floats]] = {}
        self._growths = growths
        table = np.full((len(self.ranks), len(self.sizes)), np.nan)
        rows = {int(ranks): i for i, ranks in enumerate(self.ranks)}
        columns = {int(size): j for j, size in enumerate(self.sizes)}
        for (ranks, size), time in times.items():
            table[rows[ranks], columns[size]] = np.log(time)
        self._table = table
        self._columns = [self._design(int(ranks)) for ranks in self.ranks]
        self._fits = [self._fit_size(j) for j in range(len(self.sizes))]
        self._scores = self._score_pairs()

    def estimate(self, ranks: int, size: int) -> Estimate:
        """Return the time; the interval is 0 to infinity if the points do not support an estimate."""
        middle, half = self.log_estimate(ranks, size)
        if not np.isfinite(half):
            return Estimate(float(np.exp(middle)), 0.0, float("inf"))
        return Estimate(*(float(np.exp(value)) for value in (middle, middle - half, middle + half)))

    def log_estimate(self, ranks: int, size: int) -> tuple[float, float]:
        """Return the logarithm of the time, and the half width of its interval."""
        middle, away, between = self.estimate_parts(ranks, size)
        distance = self.distance(ranks)
        for_ranks = self._widths[0].half(away, distance)
        for_sizes = self._widths[1].half(between, float(size not in self.sizes))
        return middle, float(np.sqrt(_FLOOR**2 + for_ranks**2 + for_sizes**2 + self._extra_steps(ranks) ** 2))

    def _extra_steps(self, ranks: int) -> float:
        """Return the logarithm of the relative cost of two more steps if they are possible, else 0."""
        counts = np.append(self.ranks, ranks)
        is_power = counts & (counts - 1) == 0
        if is_power[-1] or not is_power[:-1].all():
            return 0.0
        return float(np.log1p(2 / (ranks.bit_length() - 1)))

    def distance(self, ranks: int) -> float:
        """Return the distance in doublings from the nearest measured number of ranks."""
        return float(np.abs(np.log2(self.ranks / ranks)).min())

    def estimate_parts(self, ranks: int, size: int) -> tuple[float, float, float]:
        """Return the logarithm of the time, and its errors due to ranks and due to sizes."""
        middles, widths = self._estimate_sizes(ranks)
        known = np.flatnonzero(np.isfinite(middles))
        if not len(known):
            return float("nan"), float("inf"), 0.0
        sizes, middles, widths = self.sizes[known], middles[known], widths[known]
        exact = np.flatnonzero(sizes == size)
        if len(exact):
            return float(middles[exact[0]]), float(widths[exact[0]]), 0.0
        return _interpolate(sizes.astype(np.float64), middles, widths, float(size))

    def _design(self, ranks: int) -> Floats:
        """Return the seconds of each pair of patterns on `ranks` ranks: pairs × (1, latencies, time per
        byte)."""
        latencies, byte_times = self._growths.latencies(ranks), self._growths.bytes(ranks)
        return np.array([(1.0, latencies[level], byte_times[other]) for level, other in PAIRS])

    def _fit_size(self, column: int) -> _Size:
        rows = np.flatnonzero(np.isfinite(self._table[:, column]))
        ranks, logs = self.ranks[rows], self._table[rows, column]
        designs = np.array([self._columns[row] for row in rows]) * (1.0, 1.0, max(1.0, self.sizes[column]))
        return _Size(ranks, logs, designs)

    def _score_pairs(self) -> Floats:
        """Return the error of each size and pair per doubling of ranks; neighbouring sizes count half."""
        own = np.array([fit.errors() for fit in self._fits]) ** 2
        known = np.where(np.isfinite(own), 1.0, 0.0)
        errors = np.where(np.isfinite(own), own, 0.0)
        total, weights = errors.copy(), known.copy()
        for own_sizes, neighbours in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
            total[own_sizes] += _NEIGHBOUR * errors[neighbours]
            weights[own_sizes] += _NEIGHBOUR * known[neighbours]
        judged = total / np.maximum(weights, 1e-9)
        if self._growths.known:
            judged += np.array([fit.penalise_implausible() for fit in self._fits]) ** 2
        return np.asarray(np.where(np.isfinite(own), np.sqrt(judged), np.inf))

    def _estimate_sizes(self, ranks: int) -> tuple[Floats, Floats]:
        """Return the logarithms of the times at each measured size, and their half widths."""
        if ranks in self._known:
            return self._known[ranks]
        design = self._design(ranks)
        pairs = [
            fit.at(ranks, design * (1.0, 1.0, max(1.0, size)), scores)
            for fit, scores, size in zip(self._fits, self._scores, self.sizes, strict=True)
        ]
        result = np.array([middle for middle, _ in pairs]), np.array([width for _, width in pairs])
        self._known[ranks] = result
        return result


class _Size:
    """The times of one size on growing numbers of ranks."""

    def __init__(self, ranks: Integers, logs: Floats, designs: Floats) -> None:
        self.ranks, self.logs, self.designs = ranks, logs, designs
        self._octaves = np.log2(ranks.astype(np.float64))
        self._found, self._models = self._fit(len(ranks))

    def _fit(self, count: int) -> tuple[Floats, Floats]:
        """Return each pair's factors, fitted to the first `count` ranks, and logarithms, shape (pairs,
        ranks)."""
        if count < 1:
            return np.zeros((len(PAIRS), 3)), np.full((len(PAIRS), len(self.ranks)), np.nan)
        weights = _FADING ** (self._octaves[count - 1] - self._octaves[:count])
        last = self.designs[count - 1]
        scales = np.where(last > 0, last, 1.0) / np.exp(self.logs[count - 1])
        relative = self.designs[:count] * (weights / np.exp(self.logs[:count]))[:, None, None] / scales
        found = _solve_non_negative(relative.transpose(1, 0, 2), weights, scales) / scales
        models = np.einsum("rpk,pk->pr", self.designs, found)
        return found, np.log(np.maximum(models, 1e-12))

    def errors(self) -> Floats:
        """Return each pair's error per doubling at the last numbers of ranks, fitted to the earlier ones."""
        count = len(self.ranks)
        total, weight = np.zeros(len(PAIRS)), 0.0
        for cut in (1, 2):
            last = count - cut
            if last < _FEWEST - 1:
                break
            _, models = self._fit(last)
            anchored = models - models[:, last - 1 : last] + self.logs[last - 1]
            for index in range(last, count):
                distance = self._octaves[index] - self._octaves[last - 1]
                total += ((anchored[:, index] - self.logs[index]) / max(distance, 0.5)) ** 2
                weight += 1
        inside = self._models - self._models[:, -1:] - (self.logs - self.logs[-1])
        steps = _FADING ** (self._octaves[-1] - self._octaves)
        within = (inside**2 * steps).sum(axis=1) / steps.sum()
        if not weight:
            return np.full(len(PAIRS), np.inf) if count < 2 else np.sqrt(within + 0.25)
        return np.asarray(np.sqrt((total + 0.5 * weight * within) / (1.5 * weight)))

    def penalise_implausible(self) -> Floats:
        """Return a penalty for pairs that fit only with a large multiple of the cost of the machine's
        messages."""
        over = np.maximum(0.0, np.log(np.maximum(self._found[:, 1:], 1e-9) / _PLAUSIBLE))
        return np.asarray(_IMPLAUSIBLE * over.sum(axis=1))

    def at(self, ranks: int, design: Floats, scores: Floats) -> tuple[float, float]:
        """Return the logarithm of the time on `ranks` ranks, and its half width."""
        if not len(self.ranks):
            return float("nan"), float("inf")
        octave = float(np.log2(ranks))
        exact = np.flatnonzero(self.ranks == ranks)
        if len(exact):
            return float(self.logs[exact[0]]), 0.0
        best = float(scores.min())
        if not np.isfinite(best):
            return float(self.logs[-1]), float("inf")
        likely = np.flatnonzero(scores <= 1.5 * best + _FLOOR)
        models = np.log(np.maximum(np.einsum("pk,pk->p", design, self._found), 1e-12))[likely]
        residuals = self.logs[None, :] - self._models[likely]
        shift = np.array([np.interp(octave, self._octaves, row) for row in residuals])
        votes = 1 / (scores[likely] + _FLOOR / 10) ** 2
        logs = models + shift
        middle = float((logs * votes).sum() / votes.sum())
        distance = float(np.abs(self._octaves - octave).min())
        if ranks > self.ranks[-1] and distance > _FARTHEST:
            return middle, float("inf")
        spread = float(np.sqrt((votes * (logs - middle) ** 2).sum() / votes.sum()))
        return middle, float(np.hypot(best * distance, spread))


_SUBSETS = [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]


def _solve_non_negative(left: Floats, right: Floats, expected: Floats) -> Floats:
    """Solve left @ x = right by non-negative least squares with three unknowns, for each `left`.

    Unknowns except the first are drawn weakly to `expected`. The solution is the best of the unconstrained
    solutions for all subsets of columns, computed for all `left` at once.
    """
    pull = _PULL * len(right) * np.array([0.0, 1.0, 1.0])
    squares = np.einsum("pni,pnj->pij", left, left) + np.diag(pull)
    products = np.einsum("pni,n->pi", left, right) + pull * expected
    best, found = np.zeros(len(left)), np.zeros((len(left), 3))
    for subset in _SUBSETS:
        part = squares[:, subset][:, :, subset] + 1e-12 * np.eye(len(subset))
        some = np.linalg.solve(part, products[:, subset, None])[..., 0]
        less = -np.einsum("pi,pi->p", some, products[:, subset])  # sum of squares, relative to no columns
        better = (some >= 0).all(axis=1) & (less < best - 1e-12)
        best[better] = less[better]
        found[better] = 0
        found[np.ix_(better, subset)] = some[better]
    return found


def _interpolate(sizes: Floats, middles: Floats, widths: Floats, size: float) -> tuple[float, float, float]:
    """Return the linear interpolation between two sizes, its width, and the distance of lines from either
    side."""
    if len(sizes) == 1:
        return float(middles[0]), float(widths[0]), float("inf")
    index = int(np.clip(np.searchsorted(sizes, size) - 1, 0, len(sizes) - 2))
    times = np.exp(middles)

    def along(first: int) -> float:
        slope = max(0.0, (times[first + 1] - times[first]) / (sizes[first + 1] - sizes[first]))
        return float(times[first] + slope * (size - sizes[first]))

    middle = max(along(index), 1e-12)
    if index + 1 < len(sizes) and times[index + 1] < times[index] and sizes[index] < size < sizes[index + 1]:
        middle = float(np.sqrt(times[index] * times[index + 1]))
    width = float(max(widths[index], widths[index + 1]))
    if size > sizes[-1] or size < sizes[0]:
        edge = sizes[-1] if size > sizes[-1] else sizes[0]
        beyond = abs(np.log2(size / edge)) if edge > 0 and size > 0 else 1.0
        return float(np.log(middle)), width, float("inf") if beyond > 4 else float(0.1 * beyond)
    sides = [along(first) for first in (index - 1, index + 1) if 0 <= first <= len(sizes) - 2]
    off = [abs(float(np.log(max(side, 1e-12) / middle))) for side in sides]
    return float(np.log(middle)), width, 0.5 * max(off, default=0.2)
