"""Distributions of times: box plots, ranks' curves and their depth, densities, cumulative sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.fft import dct, idct

from haloscope.base.arrays import Floats, Integers
from haloscope.markov.statistics.samples import Sample, row_blocks
from haloscope.profile import kernels

# Outliers that are listed; more would make a figure slow.
MOST_POINTS = 1000
_BOX_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "name": pl.String,
    "regime": pl.Int64,
    "instances": pl.Int64,
    **dict.fromkeys(("share", "low", "first_quartile", "median", "third_quartile", "high"), pl.Float64),
    "outliers": pl.Int64,
    "points": pl.List(pl.Float64),
}
# Times of each sample from which common quantiles are computed; more would not be more precise.
_MOST_COMMON = 1 << 19


def box_table(samples: Sequence[Sample], n_regimes: int) -> pl.DataFrame:
    """Return Tukey's box plots of times: one row per sample and regime.

    Columns: `name`, `regime` (from 1), `instances`, `share` of the sample's instances, `low`, `high`, the
    quartiles, `median`, `outliers` and `points`. `low` and `high` are the whiskers: extreme times within 1.5
    interquartile ranges of the box. `outliers` is the number of times beyond, `points` are these times,
    ascending; of more than `MOST_POINTS` the two extremes, and others at equal steps of rank. An empty regime
    has nulls.
    """
    rows = []
    for sample in samples:
        boxes = [_box(sample.values(state)) for state in range(n_regimes)]
        total = sum(int(box["instances"]) for box in boxes)
        for state, box in enumerate(boxes):
            share = box["instances"] / total if total else None
            rows.append({"name": sample.name, "regime": state + 1, "share": share, **box})
    return pl.DataFrame(rows, schema=_BOX_SCHEMA)


def _box(values: Floats) -> dict[str, float]:
    if not values.size:
        return {"instances": 0, "outliers": 0}
    first, median, third = np.percentile(values, [25, 50, 75])
    reach = 1.5 * (third - first)
    inside = (values >= first - reach) & (values <= third + reach)
    within, outliers = values[inside], np.sort(values[~inside])
    steps = np.linspace(0, outliers.size - 1, min(outliers.size, MOST_POINTS)).astype(np.int64)
    return {
        "instances": values.size,
        "low": within.min(),
        "first_quartile": first,
        "median": median,
        "third_quartile": third,
        "high": within.max(),
        "outliers": outliers.size,
        "points": outliers[steps],
    }


def rank_medians(durations: Floats) -> Floats:
    """Return each rank's median time, (ranks,), from (ranks, instances); NaN for a rank without any."""
    medians = np.full(len(durations), np.nan)
    for rank, row in enumerate(durations):
        values = row[~np.isnan(row)]
        if values.size:
            medians[rank] = np.median(values, overwrite_input=True)
    return medians


@dataclass(frozen=True)
class Cdfs:
    """The ranks' cumulative distributions: `curves[i, j]` is the share of times ≤ `times[j]`.

    `times` are seconds, ascending; `rows` has the row of the sample for each curve: ranks without a time (in
    the regime) have no curve.
    """

    times: Floats
    curves: Floats
    rows: Integers


def common_times(samples: Sequence[Sample], regime: int | None = None, points: int = 512) -> Floats:
    """Return at most `points` ascending times, so that all samples' curves can be compared.

    They are quantiles of all times pooled, from the smallest to the largest; each sample has the same weight.
    So they are dense where the times are, and depths are the same for times and for their logarithms. Equal
    times are merged.
    """
    found = [picked for sample in samples if (picked := _pick_times(sample, regime, 8 * points)).size]
    if not found:
        return np.empty(0)
    inner = np.quantile(np.concatenate(found), np.linspace(0, 1, points), method="lower")
    return np.unique(inner)


def _pick_times(sample: Sample, regime: int | None, count: int) -> Floats:
    """Return `count` quantiles of a sample's times, the first and last of them exact."""
    step = 1 + sample.durations.size // _MOST_COMMON
    some, ends = [], []
    for rows in row_blocks(sample):
        values = sample.durations[rows][sample.find_chosen(rows, regime)]
        if values.size:
            some.append(values[::step])
            ends += [values.min(), values.max()]
    if not some:
        return np.empty(0)
    quantiles = np.quantile(np.concatenate(some), np.linspace(0, 1, count), method="nearest")
    quantiles[0], quantiles[-1] = min(ends), max(ends)
    return quantiles


def rank_cdfs(
    sample: Sample, regime: int | None = None, times: Floats | None = None, points: int = 512
) -> Cdfs:
    """Evaluate every rank's empirical distribution, of all its times or those in `regime`.

    Evaluated at `times`, by default at `common_times` of the sample.
    """
    if times is None:
        times = common_times([sample], regime, points)
    curves, rows = [], []
    for row, durations in enumerate(sample.durations):
        values = durations[sample.find_chosen(slice(row, row + 1), regime)[0]]
        if values.size:
            values.sort()
            curves.append(np.searchsorted(values, times, side="right") / values.size)
            rows.append(row)
    stacked = np.array(curves) if curves else np.empty((0, times.size))
    return Cdfs(times, stacked, np.array(rows, dtype=np.int64))


@dataclass(frozen=True)
class Density:
    """A probability density: `values` in 1/s at `times` in seconds; `bandwidth` in seconds.

    Figure 2 of Heldman, Rudi and Bessac (2025) has the square root of `values`, so that small modes are seen.
    """

    times: Floats
    values: Floats
    bandwidth: float


def density(values: Floats, points: int = 512) -> Density | None:
    """Estimate the density of `values` (NaN are left out) at `points` equidistant times.

    The kernel is Gaussian. Its width comes from the improved Sheather-Jones rule of Botev, Grotowski and
    Kroese (2010, doi 10.1214/10-AOS799). This rule does not assume a normal distribution, so it separates
    modes that the usual rule of thumb merges. None if all values are equal, or none is left.
    """
    values = values[np.isfinite(values)]
    if not values.size or values.min() == values.max():
        return None
    low, high = values.min(), values.max()
    margin = 0.1 * (high - low)
    low, high = low - margin, high + margin
    shares = np.histogram(values, bins=points, range=(low, high))[0] / values.size
    step = (high - low) / points
    time = _diffusion_time(shares, np.unique(values).size)
    modes = np.arange(points)
    smooth = dct(shares) * np.exp(-(modes**2) * np.pi**2 * time / 2)
    heights = np.maximum(idct(smooth), 0)
    times = low + step * (modes + 0.5)
    return Density(times, heights / (heights.sum() * step), float(np.sqrt(time) * (high - low)))


def _diffusion_time(shares: Floats, count: int) -> float:
    """Return the squared bandwidth, on an interval of length 1: a root of the rule's equation."""
    from scipy.optimize import brentq  # slow to import, and seldom needed

    squares = np.arange(1, shares.size, dtype=np.float64) ** 2
    power = (dct(shares)[1:] / 2) ** 2
    rule_of_thumb = 0.28 * count ** (-2 / 5)
    end = min(0.1, rule_of_thumb)
    try:
        return float(brentq(_excess, 1e-12, end, args=(count, squares, power)))
    except ValueError:  # no root: too few values
        return float((0.9 * _spread(shares) * count**-0.2) ** 2)


def _excess(time: float, count: int, squares: Floats, power: Floats) -> float:
    """Return `time` less its image under the rule, in seven stages."""
    norm = _roughness(7, time, squares, power)
    for stage in range(6, 1, -1):
        if norm <= 0:  # smooth at this width: the rule would return an infinite width
            return -1.0
        odd = float(np.prod(np.arange(1, 2 * stage, 2))) / np.sqrt(2 * np.pi)
        constant = (1 + 0.5 ** (stage + 0.5)) / 3
        inner = (2 * constant * odd / (count * norm)) ** (2 / (3 + 2 * stage))
        norm = _roughness(stage, inner, squares, power)
    return -1.0 if norm <= 0 else float(time - (2 * count * np.sqrt(np.pi) * norm) ** (-2 / 5))


def _roughness(stage: int, time: float, squares: Floats, power: Floats) -> float:
    terms = squares**stage * power * np.exp(-squares * np.pi**2 * time)
    return float(2 * np.pi ** (2 * stage) * terms.sum())


def _spread(shares: Floats) -> float:
    places = (np.arange(shares.size) + 0.5) / shares.size
    return float(np.sqrt((shares * (places - (shares * places).sum()) ** 2).sum()))


@dataclass(frozen=True)
class CumulativeSum:
    """S_K of one run or method: the sum of its K shortest times, K = 1, 2, …

    `sums` are seconds, one for each instance; `difference` is (S_K − S_K of the baseline) / |S_K
    of the baseline| in percent, negative where this one is faster, for the K that both have.
    """

    name: str
    sums: Floats
    difference: Floats


def cumulative_sums(
    samples: Sequence[Sample], regime: int | None = None, baseline: int = 0
) -> list[CumulativeSum]:
    """Return S_K (section 4.3) of each sample's times in state `regime`, or of all times.

    Heldman, Rudi and Bessac (2025) sum T^max, so pass reduced series. Their formulas for the lines of Figure
    11 are (S_K^1/2 − S_K^1/2) / |S_K^1/2|, which is 0, and (S_K^test − S_K^α) / |S_K^1/2|. The formula used
    here is (S_K^method − S_K^baseline) / |S_K^baseline|.
    """
    sums = [np.cumsum(np.sort(sample.values(regime))) for sample in samples]
    return [
        CumulativeSum(sample.name, own, _difference(own, sums[baseline]))
        for sample, own in zip(samples, sums, strict=True)
    ]


def _difference(sums: Floats, baseline: Floats) -> Floats:
    common = min(sums.size, baseline.size)
    return 100 * (sums[:common] - baseline[:common]) / np.abs(baseline[:common])


@dataclass(frozen=True)
class FunctionalBoxplot:
    """A functional boxplot of n curves at p points.

    `depth` (n,): of each curve, larger is more central. `median`: the deepest curve's index.
    `central_low`, `central_high` (p,): the band of the deeper half. `fence_low`, `fence_high`
    (p,): that band, widened by `factor` times its height on either side. `outliers`: indices,
    ascending, of the curves that leave the fences anywhere. `low`, `high` (p,): the
    envelope of the curves that don't.
    """

    depth: Floats
    median: int
    central_low: Floats
    central_high: Floats
    fence_low: Floats
    fence_high: Floats
    low: Floats
    high: Floats
    outliers: Integers


def functional_boxplot(
    curves: Floats, factor: float = 1.5, depth: Floats | None = None
) -> FunctionalBoxplot | None:
    """Summarise `curves` (n, p) as Sun and Genton (2011, doi 10.1198/jcgs.2011.09224) do.

    `depth` is the modified band depth by default. Of equal depths, the lower index comes first. None without
    curves or points.
    """
    if not curves.size:
        return None
    curves = np.ascontiguousarray(curves, dtype=np.float64)
    if depth is None:
        depth = modified_band_depth(curves)
    order = np.argsort(-depth, kind="stable")
    low, high = kernels.envelope(curves, order[: (len(curves) + 1) // 2])
    reach = factor * (high - low)
    outside = kernels.outside(curves, low - reach, high + reach)
    least, largest = kernels.envelope(curves, np.flatnonzero(~outside))
    return FunctionalBoxplot(
        depth=depth,
        median=int(order[0]),
        central_low=low,
        central_high=high,
        fence_low=low - reach,
        fence_high=high + reach,
        low=least,
        high=largest,
        outliers=np.flatnonzero(outside),
    )


def modified_band_depth(curves: Floats) -> Floats:
    """Return for each curve the share of points and of pairs of curves between which it lies there.

    Computed from ranks at each point, after Sun, Genton and Nychka (2012, doi 10.1002/sta4.8), in at most O(p
    n log n). With ties, the result is still that of counting all pairs: of n(n−1)/2 pairs, those fail that
    are both above or both below. Raises `ValueError` for NaN.
    """
    if len(curves) < 2 or not curves.shape[1]:
        return np.ones(len(curves))
    contiguous = np.ascontiguousarray(curves, dtype=np.float64)
    return kernels.band_depth(contiguous, kernels.available_threads())


def band_depth(curves: Floats) -> Floats:
    """Return for each curve the share of pairs of curves between which it lies everywhere (J = 2).

    After López-Pintado and Romo (2009, doi 10.1198/jasa.2009.0108), from the definition, in O(n³ p): for a
    few hundred curves. The faster formula with extreme ranks holds only for curves that do not cross.
    """
    n = len(curves)
    if n < 2:
        return np.ones(n)
    depth = np.empty(n)
    for index, curve in enumerate(curves):
        above = (curves > curve).astype(np.float32)
        below = (curves < curve).astype(np.float32)
        same_side = above @ above.T + below @ below.T
        depth[index] = np.triu(same_side == 0, 1).sum() / (n * (n - 1) / 2)
    return depth
