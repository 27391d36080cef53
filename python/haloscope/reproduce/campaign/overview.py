"""Overviews of campaigns: costs, states of runs, and results."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from haloscope import explain
from haloscope.base.errors import UsageError
from haloscope.base.units import duration_text, noun_text
from haloscope.profile.shown import columns, count, declare_table, number, region_text, text, time
from haloscope.reproduce.campaign.campaign import Campaign

_GROUP = ["experiment", "system", "program", "variant", "ranks"]
_STATES = ("done", "running", "waiting", "failed", "impossible")
_CONFIGURATION = columns(
    " ".join(_GROUP),
    "the configuration",
    experiment=text(),
    system=text(),
    program=text(),
    variant=text(),
    ranks=count(),
)
PLAN_TABLE = declare_table(
    "plan",
    _CONFIGURATION,
    columns("nodes", "of a run", nodes=count()),
    columns("runs impossible", "numbers of possible and of impossible runs", runs=count()),
    columns(
        "seconds core_hours",
        "of all runs together",
        seconds=time("time"),
        core_hours=number("core-hours", digits=3),
    ),
    columns("seconds_from", "source of the estimated times", seconds_from=text("source")),
    columns("why", "reason why runs are impossible", why=text("impossible, as")),
)
STANDING_TABLE = declare_table(
    "standing",
    _CONFIGURATION,
    columns(" ".join(_STATES), "runs in each state", **{state: count() for state in _STATES}),
    columns("seconds_left", "time of the remaining runs", seconds_left=time("left")),
    columns("why", "reason of the first failed run", why=text()),
)
RESULTS_TABLE = declare_table(
    "results",
    _CONFIGURATION,
    columns("parameters", "of the configuration", parameters=text()),
    columns("runs", "repetitions", runs=count()),
    columns(
        "seconds seconds_min seconds_max",
        "median and range over repetitions",
        seconds=time("time"),
        seconds_min=time("least"),
        seconds_max=time("most"),
    ),
    others=lambda name: number(region_text(name)),
)


def list_experiments(table: pl.DataFrame) -> pl.DataFrame:
    """Return the costs per experiment and number of ranks, from `Campaign.table()`."""
    possible = pl.col("state") != "impossible"
    return (
        table.group_by(_GROUP, maintain_order=True)
        .agg(
            pl.col("nodes").max(),
            possible.sum().cast(pl.Int64).alias("runs"),
            (~possible).sum().cast(pl.Int64).alias("impossible"),
            pl.col("seconds").filter(possible).sum().alias("seconds"),
            pl.col("core_hours").filter(possible).sum().alias("core_hours"),
            pl.col("seconds_from").unique().sort().str.join(" and "),
            pl.col("reason").filter(~possible).first().alias("why"),
        )
        .sort(_GROUP)
    )


def list_states(table: pl.DataFrame) -> pl.DataFrame:
    """Return the states of runs per experiment and number of ranks, from `Campaign.table()`."""
    states = ["waiting", "running", "done", "failed", "impossible"]
    return (
        table.group_by(_GROUP, maintain_order=True)
        .agg(
            *((pl.col("state") == state).sum().cast(pl.Int64).alias(state) for state in states),
            pl.col("seconds")
            .filter(pl.col("state").is_in(["waiting", "running"]))
            .sum()
            .alias("seconds_left"),
            pl.col("reason").filter(pl.col("state") == "failed").first().alias("why"),
        )
        .sort(_GROUP)
    )


def list_results(campaign: Campaign) -> pl.DataFrame:
    """Return one row per finished configuration: medians over repetitions, and the range of times."""
    table = campaign.table().filter(pl.col("state") == "done")
    figures = table.columns[table.columns.index("profile") + 1 :]
    return (
        table.group_by("configuration", maintain_order=True)
        .agg(
            *(pl.col(name).first() for name in _GROUP),
            pl.col("parameters").first(),
            pl.len().cast(pl.Int64).alias("runs"),
            pl.col("seconds").median(),
            pl.col("seconds").min().alias("seconds_min"),
            pl.col("seconds").max().alias("seconds_max"),
            *(pl.col(name).median() for name in figures),
        )
        .drop("configuration")
        .sort(_GROUP)
    )


def summarise(table: pl.DataFrame, campaign: Campaign) -> str:
    """Return a line with the number of runs, their states, and the remaining costs."""
    counts = dict(table.group_by("state").len().iter_rows())
    remaining = table.filter(pl.col("state").is_in(["waiting", "running"]))
    parts = [
        f"{counts[state]} {state}"
        for state in ("done", "running", "waiting", "failed", "impossible")
        if state in counts
    ]
    costs = ""
    if len(remaining):
        sources = " and ".join(sorted(set(remaining["seconds_from"])))
        costs = (
            f"; remaining: {duration_text(float(remaining['seconds'].sum()))} one after the other, "
            f"{remaining['core_hours'].sum():.3g} core-hours ({sources})"
        )
    runs = noun_text(len(table), "run")
    return f"{campaign.specification.campaign}: {runs}: {', '.join(parts)}{costs}"


def write_report(
    campaign: Campaign, output: Path, *, against: str = "run_ranks", by: str | None = None
) -> None:
    """Write the page of all profiles of a campaign.

    Args:
        campaign: The campaign.
        output: The page.
        against: The quantity on the horizontal axis.
        by: The quantity that distinguishes curves; None: the one of experiment, system and variant that has
            several values, or their combination.

    Raises:
        UsageError: No run has a profile yet.
    """

    table = campaign.table().filter(pl.col("profile").is_not_null())
    if table.is_empty():
        raise UsageError(
            f"{campaign.directory}: no run has a profile yet; haloscope campaign run writes them"
        )
    several = [name for name in ("experiment", "system", "variant") if table[name].n_unique() > 1]
    default = "curve" if len(several) > 1 else next(iter(several), "program")
    explain.report(table["profile"].to_list(), output, against=against, by=by or default)
