"""Regime tables, cumulative sums, box plots and densities, of ordinary and of extreme series."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from haloscope.markov import statistics
from haloscope.markov.statistics import (
    Sample,
    box_table,
    cumulative_sums,
    density,
    rank_medians,
    regime_table,
)

NONE = 255


def ragged() -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Two ranks, the second of which died after its third instance."""
    durations = np.array([[1.0, 2.0, 20.0, 30.0, 3.0], [4.0, 40.0, 50.0, np.nan, np.nan]])
    states = np.array([[0, 0, 2, 2, 0], [0, 2, 2, NONE, NONE]], dtype=np.uint8)
    return durations, states


def test_the_regime_table() -> None:
    table = regime_table(*ragged(), n_regimes=3)
    assert table["regime"].to_list() == [1, 2, 3]
    assert table["instances"].to_list() == [4, 0, 4]
    assert table["share"].to_list() == [0.5, 0.0, 0.5]
    assert table["mean"].to_list() == [2.5, None, 35.0]
    assert table["median"].to_list() == [2.5, None, 35.0]
    assert table["std"].to_list() == pytest.approx([np.std([1, 2, 3, 4], ddof=1), None, 12.909944])
    assert table["runs"].to_list() == [3, 0, 2]
    assert table["run_length"].to_list() == [4 / 3, None, 2.0]


def test_the_regime_table_of_a_few_times() -> None:
    one = regime_table(np.array([2.0]), np.zeros(1, dtype=np.uint8), 2)
    assert one.row(0) == (1, 2.0, None, 2.0, 1.0, 1, 1, 1.0)
    assert one.row(1) == (2, None, None, None, 0.0, 0, 0, None)
    none = regime_table(np.empty((3, 0)), np.empty((3, 0), dtype=np.uint8), 1)
    assert none.row(0) == (1, None, None, None, None, 0, 0, None)


def test_cumulative_sums_and_their_differences() -> None:
    durations, states = ragged()
    first, second = cumulative_sums(
        [Sample("slow", durations, states), Sample("fast", durations[:1] / 2, states[:1])]
    )
    assert first.sums.tolist() == [1, 3, 6, 10, 30, 60, 100, 150]
    assert second.sums.tolist() == [0.5, 1.5, 3, 13, 28]
    assert first.difference.tolist() == [0] * 8
    assert second.difference == pytest.approx([-50, -50, -50, 30, -100 * 2 / 30])
    fast = cumulative_sums([Sample("all", durations, states)], regime=0)[0]
    assert fast.sums.tolist() == [1, 3, 6, 10]
    nobody = cumulative_sums([Sample("all", durations, states)], regime=1)[0]
    assert nobody.sums.size == nobody.difference.size == 0


def test_samples_report_shapes_that_do_not_fit() -> None:
    durations, states = ragged()
    with pytest.raises(ValueError, match="run: states and durations differ"):
        Sample("run", durations, states[:1])
    with pytest.raises(ValueError, match="run: no regimes"):
        Sample("run", durations).values(0)
    assert Sample("run", durations).values().size == 8
    many = np.arange(200.0).reshape(-1, 1)
    assert Sample("run", many).values().tolist() == many.ravel().tolist()


def test_boxes_are_tukeys() -> None:
    values = np.concatenate((np.arange(1.0, 101.0), [500.0, 600.0]))
    states = np.zeros(102, dtype=np.uint8)
    box, nobody = box_table([Sample("run", values, states)], 2).to_dicts()
    first, median, third = np.percentile(values, [25, 50, 75])
    assert [box["first_quartile"], box["median"], box["third_quartile"]] == [first, median, third]
    assert (box["low"], box["high"], box["outliers"]) == (1, 100, 2)
    assert box["points"] == [500, 600]
    assert (box["share"], nobody["share"], nobody["median"]) == (1, 0, None)


def test_only_some_of_many_outliers_are_drawn() -> None:
    values = np.concatenate((np.zeros(100_000), np.arange(1.0, 20_001.0)))
    box = box_table([Sample("run", values, np.zeros(values.size, dtype=np.uint8))], 1)
    points = box["points"][0]
    assert box["outliers"][0] == 20_000
    assert (len(points), points[0], points[-1]) == (1000, 1, 20_000)


def test_medians_of_ranks() -> None:
    durations = np.array([[1.0, 5.0, 3.0], [4.0, 2.0, np.nan], [np.nan] * 3])
    np.testing.assert_array_equal(rank_medians(durations), [3, 3, np.nan])


def test_the_density_separates_modes() -> None:
    random = np.random.default_rng(0)
    modes = [(1.8e-3, 1e-5, 3000), (1.9e-3, 1e-5, 3000), (2.9e-3, 2e-5, 1168)]
    medians = np.concatenate([random.normal(*mode) for mode in modes])
    found = density(medians)
    assert found is not None
    step = found.times[1] - found.times[0]
    assert found.values.sum() * step == pytest.approx(1)
    assert 1e-6 < found.bandwidth < 1e-5
    true = sum(
        count / 7168 * np.exp(-0.5 * ((found.times - mean) / std) ** 2) / std / np.sqrt(2 * np.pi)
        for mean, std, count in modes
    )
    assert np.abs(found.values - true).sum() * step < 0.08
    peaks = (found.values[1:-1] > found.values[:-2]) & (found.values[1:-1] > found.values[2:])
    high = peaks & (found.values[1:-1] > 0.05 * found.values.max())
    assert np.count_nonzero(high) == 3


def test_there_is_no_density_of_one_value() -> None:
    assert density(np.full(9, 2.0)) is None
    assert density(np.array([np.nan])) is None


@pytest.mark.parametrize("count", [2, 3, 5, 20])
def test_a_few_values_have_a_density(count: int) -> None:
    for seed in range(20):
        values = np.random.default_rng(seed).lognormal(size=count)
        found = density(values)
        assert found is not None
        step = found.times[1] - found.times[0]
        assert found.values.sum() * step == pytest.approx(1)
        assert 0 < found.bandwidth < 10 * np.ptp(values)


@pytest.mark.filterwarnings("error")
def test_any_shape_gives_a_result() -> None:
    """Ragged, short and constant series, and empty regimes, give nulls and no traceback."""
    for seed in range(30):
        random = np.random.default_rng(seed)
        ranks, instances = random.integers(1, 5), random.integers(1, 40)
        shape = (int(ranks), int(instances))
        durations = random.lognormal(size=shape) if seed % 3 else np.full(shape, 2.0)
        states = random.integers(0, 1 if seed % 5 == 0 else 3, shape).astype(np.uint8)
        for row in range(ranks if seed % 2 else 0):
            ends = random.integers(0, instances + 1)
            durations[row, ends:], states[row, ends:] = np.nan, 255
        samples = [
            statistics.Sample("all", durations, states),
            statistics.Sample("one", 1.1 * durations[0], states[0]),
        ]
        table = statistics.regime_table(durations, states, 4)
        assert table["instances"].sum() == np.count_nonzero(~np.isnan(durations))
        assert statistics.box_table(samples, 4)["instances"][:4].equals(table["instances"])
        for regime in (None, 0, 3):
            assert len(statistics.compare_distributions(samples, regime)) == 1
            means = statistics.regime_means(samples, regime)
            assert len(statistics.sentences(means)) == 1
            sums = statistics.cumulative_sums(samples, regime)[0].sums
            cdfs = statistics.rank_cdfs(samples[0], regime)
            assert (cdfs.curves[:, -1:] == 1).all()
            box = statistics.functional_boxplot(cdfs.curves)
            assert (box is None) == (sums.size == 0)
        statistics.density(statistics.rank_medians(durations))
        hosts = tuple(("a", "b", None)[which] for which in random.integers(0, 3, ranks))
        starts = np.where(np.isnan(durations), np.nan, 10.0 * np.arange(instances))
        found = statistics.episodes(
            durations, states, 3, ranks=np.arange(ranks), hosts=hosts, starts=starts, slow=2
        )
        assert (found["first"] <= found["last"]).all()
        assert found["start"].is_not_null().all()
