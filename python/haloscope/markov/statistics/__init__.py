"""Statistics of times that were decoded into regimes; docs/reference/regimes-statistics.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.markov.statistics.added_time import Added, added
    from haloscope.markov.statistics.comparison import (
        compare_distributions,
        regime_means,
        regime_table,
        sentences,
    )
    from haloscope.markov.statistics.distributions import (
        Cdfs,
        CumulativeSum,
        Density,
        FunctionalBoxplot,
        band_depth,
        box_table,
        common_times,
        cumulative_sums,
        density,
        functional_boxplot,
        modified_band_depth,
        rank_cdfs,
        rank_medians,
    )
    from haloscope.markov.statistics.slow_episodes import episodes
    from haloscope.markov.statistics.fit_quality import Goodness, goodness
    from haloscope.markov.statistics.repeated import faster_by_runs, means_apart
    from haloscope.markov.statistics.samples import Sample

__all__ = [
    "Added",
    "Cdfs",
    "CumulativeSum",
    "Density",
    "FunctionalBoxplot",
    "Goodness",
    "Sample",
    "added",
    "band_depth",
    "box_table",
    "common_times",
    "compare_distributions",
    "cumulative_sums",
    "density",
    "episodes",
    "faster_by_runs",
    "functional_boxplot",
    "goodness",
    "means_apart",
    "modified_band_depth",
    "rank_cdfs",
    "rank_medians",
    "regime_means",
    "regime_table",
    "sentences",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Added": "_added",
            "Cdfs": "_distributions",
            "CumulativeSum": "_distributions",
            "Density": "_distributions",
            "FunctionalBoxplot": "_distributions",
            "Goodness": "_goodness",
            "Sample": "_samples",
            "added": "_added",
            "band_depth": "_distributions",
            "box_table": "_distributions",
            "common_times": "_distributions",
            "compare_distributions": "_comparison",
            "cumulative_sums": "_distributions",
            "density": "_distributions",
            "episodes": "_episodes",
            "faster_by_runs": "_repeated",
            "functional_boxplot": "_distributions",
            "goodness": "_goodness",
            "means_apart": "_repeated",
            "modified_band_depth": "_distributions",
            "rank_cdfs": "_distributions",
            "rank_medians": "_distributions",
            "regime_means": "_comparison",
            "regime_table": "_comparison",
            "sentences": "_comparison",
        },
    )
