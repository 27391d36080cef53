"""Statistics of times that were decoded into regimes; docs/reference/regimes-statistics.md."""

from __future__ import annotations

from haloscope.explain.regimes._boxes import box_table, rank_medians
from haloscope.explain.regimes._cdfs import Cdfs, common_times, rank_cdfs
from haloscope.explain.regimes._comparison import compare_distributions
from haloscope.explain.regimes._density import Density, density
from haloscope.explain.regimes._depth import (
    FunctionalBoxplot,
    band_depth,
    functional_boxplot,
    modified_band_depth,
)
from haloscope.explain.regimes._episodes import episodes
from haloscope.explain.regimes._goodness import Goodness, goodness
from haloscope.explain.regimes._means import regime_means, sentences
from haloscope.explain.regimes._samples import Sample
from haloscope.explain.regimes._sums import CumulativeSum, cumulative_sums
from haloscope.explain.regimes._tables import regime_table

__all__ = [
    "Cdfs",
    "CumulativeSum",
    "Density",
    "FunctionalBoxplot",
    "Goodness",
    "Sample",
    "band_depth",
    "box_table",
    "common_times",
    "compare_distributions",
    "cumulative_sums",
    "density",
    "episodes",
    "functional_boxplot",
    "goodness",
    "modified_band_depth",
    "rank_cdfs",
    "rank_medians",
    "regime_means",
    "regime_table",
    "sentences",
]
