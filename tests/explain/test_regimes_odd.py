"""Ragged, short, constant series, and regimes that nobody is in: nulls, never a traceback."""

from __future__ import annotations

import numpy as np
import pytest

from haloscope.explain.regimes import statistics


@pytest.mark.filterwarnings("error")
def test_whatever_the_shape_there_is_an_answer() -> None:
    for seed in range(80):
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
