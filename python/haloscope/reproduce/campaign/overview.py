"""What a campaign will cost, how far it is, and what it gave."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from haloscope import explain
from haloscope.base.errors import UsageError
from haloscope.base.units import time_text
from haloscope.profile.shown import columns, count, declare_table, number, region_text, text, time
from haloscope.reproduce.campaign.campaign import Campaign

_GROUP = ["experiment", "system", "program", "variant", "ranks"]
_STATES = ("done", "running", "waiting", "failed", "impossible")
_CONFIGURATION = columns(
    " ".join(_GROUP),
    "what ran",
    experiment=text(),
    system=text(),
    program=text(),
    variant=text(),
    ranks=count(),
)
PLAN_TABLE = declare_table(
    "plan",
    _CONFIGURATION,
    columns("nodes", "that a run takes", nodes=count()),
    columns("runs impossible", "how many can run, and how many cannot", runs=count()),
    columns(
        "seconds core_hours",
        "of all runs together",
        seconds=time("time"),
        core_hours=number("core-hours", digits=3),
    ),
    columns("seconds_from", "what the times are estimated by", seconds_from=text("by what")),
    columns("why", "a run is impossible", why=text("impossible, as")),
)
STANDING_TABLE = declare_table(
    "standing",
    _CONFIGURATION,
    columns(" ".join(_STATES), "runs in each state", **{state: count() for state in _STATES}),
    columns("seconds_left", "that the remaining runs take", seconds_left=time("left")),
    columns("why", "the first failed run failed", why=text()),
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
    """Return a row for each number of ranks of each experiment, of `Campaign.table()`: what it costs."""
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


def standing(table: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each number of ranks of each experiment, of `Campaign.table()`: how far it is."""
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


def results(campaign: Campaign) -> pl.DataFrame:
    """Return a row for each configuration that ran: medians over repetitions, and the range of times."""
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


def summary(table: pl.DataFrame, campaign: Campaign) -> str:
    """Return the campaign in one line: runs, how far they are, and what is left to pay."""
    counts = dict(table.group_by("state").len().iter_rows())
    left = table.filter(pl.col("state").is_in(["waiting", "running"]))
    parts = [
        f"{counts[state]} {state}"
        for state in ("done", "running", "waiting", "failed", "impossible")
        if state in counts
    ]
    costs = ""
    if len(left):
        sources = " and ".join(sorted(set(left["seconds_from"])))
        costs = (
            f"; left: {time_text(float(left['seconds'].sum()))} one after the other, "
            f"{left['core_hours'].sum():.3g} core-hours ({sources})"
        )
    return f"{campaign.specification.campaign}: {len(table)} runs: {', '.join(parts)}{costs}"


def write_report(
    campaign: Campaign, output: Path, *, against: str = "run_ranks", by: str | None = None
) -> None:
    """Write the page about all profiles of a campaign.

    Without `by`, experiments, systems or variants are drawn side by side, of whichever there are several;
    if of more than one of these, each curve by itself. Raises `UsageError` if no run has a profile yet.
    """

    table = campaign.table().filter(pl.col("profile").is_not_null())
    if table.is_empty():
        raise UsageError(f"{campaign.directory}: no run has a profile yet; haloscope campaign run makes them")
    several = [name for name in ("experiment", "system", "variant") if table[name].n_unique() > 1]
    drawn = "curve" if len(several) > 1 else next(iter(several), "program")
    explain.report(table["profile"].to_list(), output, against=against, by=by or drawn)
