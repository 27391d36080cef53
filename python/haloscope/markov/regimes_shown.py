"""The table of `haloscope regimes`: a row per file and regime."""

from __future__ import annotations

from haloscope.profile.shown import columns, count, declare_table, exact, interval, part, text, time

REGIMES_TABLE = declare_table(
    "regimes",
    columns("file region", "the file's name without its ending; null if the region is unknown", file=text()),
    columns("regime", "from 1, the fastest", regime=exact()),
    columns(
        "mean std median",
        "of its times, all ranks together, seconds; null if there are too few",
        mean=time(),
        std=time(),
        median=time(),
    ),
    columns("share instances", "share of all instances, and their number", share=part(), instances=count()),
    columns("runs run_length", "stretches of instances of one rank in the regime, and their mean length"),
    columns("effective", "effective sample size, as the instances depend on each other"),
    columns(
        "mean_low mean_high",
        "95 % confidence interval of the mean",
        mean_low=interval("mean ±", of="mean", high="mean_high"),
    ),
    columns(
        "faster faster_low faster_high",
        "Percent by which the mean is less than that of the first file, with its interval. Only with "
        "several files; null if the comparison is in doubt or methods have several runs",
    ),
    note="share: of all instances; ±: half the 95 % interval of the mean",
)
