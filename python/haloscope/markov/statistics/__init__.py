"""Statistics of times that were decoded into regimes; docs/reference/regimes-statistics.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.markov.statistics.added_time import Added as Added
    from haloscope.markov.statistics.added_time import measure_added_time as measure_added_time
    from haloscope.markov.statistics.comparison import compare_distributions as compare_distributions
    from haloscope.markov.statistics.comparison import regime_means as regime_means
    from haloscope.markov.statistics.comparison import regime_table as regime_table
    from haloscope.markov.statistics.comparison import sentence as sentence
    from haloscope.markov.statistics.comparison import sentences as sentences
    from haloscope.markov.statistics.distributions import Cdfs as Cdfs
    from haloscope.markov.statistics.distributions import CumulativeSum as CumulativeSum
    from haloscope.markov.statistics.distributions import Density as Density
    from haloscope.markov.statistics.distributions import FunctionalBoxplot as FunctionalBoxplot
    from haloscope.markov.statistics.distributions import band_depth as band_depth
    from haloscope.markov.statistics.distributions import box_table as box_table
    from haloscope.markov.statistics.distributions import common_times as common_times
    from haloscope.markov.statistics.distributions import cumulative_sums as cumulative_sums
    from haloscope.markov.statistics.distributions import density as density
    from haloscope.markov.statistics.distributions import functional_boxplot as functional_boxplot
    from haloscope.markov.statistics.distributions import modified_band_depth as modified_band_depth
    from haloscope.markov.statistics.distributions import rank_cdfs as rank_cdfs
    from haloscope.markov.statistics.distributions import rank_medians as rank_medians
    from haloscope.markov.statistics.fit_quality import Goodness as Goodness
    from haloscope.markov.statistics.fit_quality import goodness as goodness
    from haloscope.markov.statistics.repeated import faster_by_medians as faster_by_medians
    from haloscope.markov.statistics.repeated import faster_by_runs as faster_by_runs
    from haloscope.markov.statistics.repeated import means_apart as means_apart
    from haloscope.markov.statistics.samples import Sample as Sample
    from haloscope.markov.statistics.slow_episodes import episodes as episodes

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
