"""Functional boxplots: band depths against their definitions, and outliers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from statsmodels.graphics.functional import banddepth

from haloscope.markov.statistics import (
    Sample,
    band_depth,
    common_times,
    functional_boxplot,
    modified_band_depth,
    rank_cdfs,
)

Floats = NDArray[np.float64]

# There are few different values, so most curves have ties.
SHAPES = st.tuples(st.integers(2, 9), st.integers(1, 6))
TIED = SHAPES.flatmap(lambda shape: arrays(np.float64, shape, elements=st.integers(0, 4)))


def between(curves: Floats) -> NDArray[np.bool_]:
    """Return, for pairs × curves × points, whether the curve is between the pair or on one of the two."""
    pairs = [curves[list(pair)] for pair in combinations(range(len(curves)), 2)]
    low, high = (np.array([end(pair, axis=0) for pair in pairs]) for end in (np.min, np.max))
    return (low[:, None] <= curves) & (curves <= high[:, None])


@given(TIED)
@settings(max_examples=100)
def test_both_depths_are_what_counting_all_pairs_gives(curves: Floats) -> None:
    inside = between(curves)
    np.testing.assert_allclose(modified_band_depth(curves), inside.mean(axis=(0, 2)))
    np.testing.assert_allclose(band_depth(curves), inside.all(axis=2).mean(axis=0))


def test_without_ties_the_modified_depth_is_that_of_statsmodels() -> None:
    curves = np.random.default_rng(0).normal(size=(300, 40)).cumsum(axis=1)
    np.testing.assert_allclose(modified_band_depth(curves), banddepth(curves), rtol=1e-12)


def test_values_far_apart_and_nearly_alike() -> None:
    """Buckets of equal width do not separate these values, so they are sorted."""
    random = np.random.default_rng(3)
    curves = random.normal(size=(40, 12)) * 10.0 ** random.integers(-300, 300, 12)
    curves[:, :4] = 1 + random.integers(0, 9, (40, 4)) * 2.0**-52
    curves[:5, 5] = np.inf
    curves[7, 6] = -1e308
    curves[8, 6] = 1e308
    curves[9, 7] = 1e6
    inside = between(curves)
    np.testing.assert_allclose(modified_band_depth(curves), inside.mean(axis=(0, 2)))
    threaded = modified_band_depth(np.tile(curves, (1, 30)))
    np.testing.assert_allclose(threaded, inside.mean(axis=(0, 2)))


def test_nan_has_no_depth() -> None:
    curves = np.ones((3, 20))
    curves[1, 13] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        modified_band_depth(curves)


@pytest.mark.parametrize("count", [0, 1])
def test_few_curves(count: int) -> None:
    curves = np.ones((count, 5))
    assert modified_band_depth(curves).tolist() == band_depth(curves).tolist() == [1.0] * count
    box = functional_boxplot(curves)
    assert (box is None) == (count == 0)
    assert box is None or box.outliers.size == 0


def test_the_boxplot_names_the_curves_that_leave_the_fences() -> None:
    random = np.random.default_rng(1)
    curves = np.sin(np.linspace(0, 3, 50)) + np.linspace(-0.1, 0.1, 101)[random.permutation(101), None]
    curves[7] += 3
    outer = int(np.argsort(curves[:, 0])[3])
    curves[outer, 25] -= 2  # one point of an outer curve is enough
    box = functional_boxplot(curves)
    assert box is not None
    assert box.outliers.tolist() == sorted([7, outer])
    order = np.argsort(curves[:, 0])
    assert box.median in order[45:56]
    central = curves[np.argsort(-box.depth, kind="stable")[:51]]
    np.testing.assert_array_equal(box.central_low, central.min(axis=0))
    np.testing.assert_array_equal(box.central_high, central.max(axis=0))
    height = box.central_high - box.central_low
    np.testing.assert_allclose(box.fence_high, box.central_high + 1.5 * height)
    np.testing.assert_allclose(box.fence_low, box.central_low - 1.5 * height)
    usual = np.delete(curves, [7, outer], axis=0)
    np.testing.assert_array_equal(box.high, usual.max(axis=0))
    np.testing.assert_array_equal(box.low, usual.min(axis=0))
    wide = functional_boxplot(curves, factor=100)
    assert wide is not None
    assert wide.outliers.size == 0


def test_the_cdf_of_each_rank_counts_its_times() -> None:
    random = np.random.default_rng(2)
    durations = random.lognormal(size=(20, 300))
    durations[3, 200:] = np.nan
    states = random.integers(0, 2, durations.shape).astype(np.uint8)
    states[5] = 0
    states[np.isnan(durations)] = 255
    sample = Sample("run", durations, states)
    for regime in (None, 1):
        found = rank_cdfs(sample, regime, points=64)
        assert found.rows.tolist() == [row for row in range(20) if regime is None or row != 5]
        assert found.times.size == 64
        for row, curve in zip(found.rows, found.curves, strict=True):
            chosen = ~np.isnan(durations[row]) if regime is None else states[row] == regime
            values = durations[row][chosen]
            share = [(values <= time).mean() for time in found.times]
            np.testing.assert_allclose(curve, share)
        assert (found.curves[:, -1] == 1).all()
        assert found.curves[:, 0].sum() == pytest.approx(1 / chosen.sum(), rel=2)


def test_common_times_cover_all_samples() -> None:
    samples = [Sample("a", np.arange(1.0, 101.0)), Sample("b", np.arange(1001.0, 1011.0))]
    times = common_times(samples, points=50)
    assert times[0] == 1
    assert times[-1] == 1010
    assert np.count_nonzero(times > 500) == pytest.approx(np.count_nonzero(times < 500), abs=15)
    assert common_times([Sample("c", np.full((3, 5), 2.0))]).tolist() == [2.0]
    assert common_times([Sample("d", np.full((3, 5), np.nan))]).size == 0


def test_an_empty_regime_has_no_curves() -> None:
    sample = Sample("run", np.ones((4, 6)), np.zeros((4, 6), dtype=np.uint8))
    found = rank_cdfs(sample, 2)
    assert found.curves.shape == (0, 0)
    assert functional_boxplot(found.curves) is None
