"""The times of one run or method, and their effective numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from haloscope.base.arrays import Bytes, Flags, Floats

# Rows per block, so that their results stay in the cache and memory is small.
ROWS = 64
# With fewer instances, their dependence cannot be estimated.
_FEWEST = 8


@dataclass(frozen=True)
class Sample:
    """The times of one run or method, with its name in tables and figures.

    `durations` are seconds, (ranks, instances), or (instances,) for a reduced series such as
    T^max; NaN where a rank has no instance. `states` are the decoded regimes in the same shape,
    0 the fastest and 255 where there is no instance; None where nothing was decoded.
    """

    name: str
    durations: Floats
    states: Bytes | None = None

    def __post_init__(self) -> None:
        """Make a single series a matrix of one row."""
        if self.states is not None and self.states.shape != self.durations.shape:
            shapes = f"{self.states.shape} and {self.durations.shape}"
            raise ValueError(f"{self.name}: states and durations differ in shape: {shapes}")
        object.__setattr__(self, "durations", np.atleast_2d(self.durations))
        if self.states is not None:
            object.__setattr__(self, "states", np.atleast_2d(self.states))

    def find_chosen(self, rows: slice, regime: int | None) -> Flags:
        """Return which instances of `rows` are in `regime`; with None, which exist."""
        if regime is None:
            return ~np.isnan(self.durations[rows])
        if self.states is None:
            raise ValueError(f"{self.name}: no regimes were decoded")
        return np.equal(self.states[rows], regime)

    def values(self, regime: int | None = None) -> Floats:
        """Return all times in `regime`, of all ranks, rank by rank."""
        parts = [self.durations[rows][self.find_chosen(rows, regime)] for rows in row_blocks(self)]
        return np.concatenate(parts) if parts else np.empty(0)


def row_blocks(sample: Sample) -> Iterator[slice]:
    """Yield blocks of rows, until all rows are done."""
    for first in range(0, len(sample.durations), ROWS):
        yield slice(first, first + ROWS)


def autocorrelation(series: Floats, lags: int) -> Floats:
    """Return the autocorrelation at lags 0 … `lags`, or … n − 1; none but lag 0 if constant."""
    lags = min(lags, series.size - 1)
    centred = series - series.mean()
    size = next_fast_len(series.size + lags)
    spectrum = rfft(centred, size)
    products: Floats = irfft(spectrum * spectrum.conj(), size)[: lags + 1]
    if products[0] <= 1e-24 * float(series @ series):
        products[:] = np.arange(lags + 1) == 0
        return products
    products /= products[0]
    return products


def long_run_variance(series: Floats) -> float:
    """Return the limit of n times the variance of the mean of `series`.

    This is the variance times the integrated autocorrelation time, with a flat-top lag window. Its width is
    twice the lag after which the next few correlations are not significant (Politis and White 2004, doi
    10.1081/ETC-120028836, section 3.2). The result is never below the variance of n independent values, even
    for a series that oscillates. NaN for fewer than 8 values.
    """
    n = series.size
    if n < _FEWEST:
        return float("nan")
    correlation = autocorrelation(series, min(n - 1, 4 * int(np.sqrt(n)) + 40))
    width = min(2 * max(1, _significant_lag(correlation, n)), correlation.size - 1)
    window = np.clip(2 * (1 - np.arange(1, width + 1) / width), 0, 1)
    time = 1 + 2 * float(window @ correlation[1 : width + 1])
    return float(series.var()) * max(1.0, time)


def _significant_lag(correlation: Floats, n: int) -> int:
    """Return the last lag before the first stretch of lags that are all near 0."""
    stretch = max(5, int(np.ceil(np.sqrt(np.log10(n)))))
    small = np.abs(correlation[1:]) < 2 * np.sqrt(np.log10(n) / n)
    quiet = np.convolve(small, np.ones(stretch), "valid") > stretch - 0.5
    if small.size >= stretch and quiet.any():
        return int(np.argmax(quiet))
    large = np.flatnonzero(~small)
    return int(large[-1]) + 1 if large.size else 0


@dataclass(frozen=True)
class Mean:
    """A mean over all points of all instances, its variance, and its effective number of instances.

    `variance` and `effective` (a number of independent instances) are NaN if unknown.
    """

    value: float
    variance: float
    effective: float


def ratio_mean(sums: Floats, counts: Floats) -> Mean | None:
    """Return Σ sums / Σ counts, both (instances,): each instance's sum over its `counts` points.

    The points of an instance may depend on each other in any way, and instances on their past: the
    unit is the instance. The variance is that of the linearised ratio. None without points.
    """
    if not counts.sum():
        return None
    value = float(sums.sum() / counts.sum())
    deviations = (sums - value * counts) / counts.mean()
    variance = long_run_variance(deviations)
    spread = float(deviations.var())
    effective = spread / variance * counts.size if variance else float(np.count_nonzero(counts))
    return Mean(value, variance / counts.size, effective)


def largest_distance(first: Floats, second: Floats, most: int) -> float:
    """Return the largest distance between the distributions of two ascending samples, neither empty.

    Of a sample with more than `most` values, `most` quantiles are compared; the result is then at most 1 /
    `most` too small.
    """
    times = np.concatenate((_quantiles(first, most), _quantiles(second, most)))
    shares = [np.searchsorted(part, times, "right") / part.size for part in (first, second)]
    return float(np.abs(shares[0] - shares[1]).max())


def _quantiles(ordered: Floats, most: int) -> Floats:
    if ordered.size <= most:
        return ordered
    return ordered[np.linspace(0, ordered.size - 1, most).astype(np.int64)]
