"""Overviews of campaigns: costs, states of runs, and results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from haloscope.base.errors import UsageError, printable
from haloscope.base.units import UNKNOWN, count_text, duration_text, noun_text, time_text
from haloscope.explain.ensembles import PageHead, Speeds, open_all, write_ensemble_page
from haloscope.markov.figures import Column, Section, Table, fill_table
from haloscope.profile.shown import columns, count, declare_table, number, region_text, text, time
from haloscope.reproduce.campaign.campaign import Campaign

_GROUP = ["experiment", "system", "program", "variant", "ranks"]
_MOST_REASONS = 8  # runs that failed, with their reasons, on the page
_MOST_FIGURES = 2  # of the program, in the head of the page
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
    campaign: Campaign,
    output: Path,
    *,
    against: str = "run_ranks",
    by: str | None = None,
    machine: Speeds | None = None,
) -> None:
    """Write the page of a campaign: its runs, costs and figures, then the scaling of all profiles.

    Args:
        campaign: The campaign.
        output: The page.
        against: The quantity on the horizontal axis.
        by: The quantity that distinguishes curves; None: the one of experiment, system and variant that has
            several values, or their combination.
        machine: Speed of the machine, for comparison with messages.

    Raises:
        UsageError: No run has a profile yet.
    """
    table = campaign.table()
    known = table.filter(pl.col("profile").is_not_null())
    if known.is_empty():
        raise UsageError(
            f"{campaign.directory}: no run has a profile yet; haloscope campaign run writes them"
        )
    several = [name for name in ("experiment", "system", "variant") if known[name].n_unique() > 1]
    default = "curve" if len(several) > 1 else next(iter(several), "program")
    write_ensemble_page(
        open_all(known["profile"].to_list()),
        output,
        against=against,
        by=by or default,
        machine=machine,
        head=make_head(campaign, table),
    )


def make_head(campaign: Campaign, table: pl.DataFrame) -> PageHead:
    """Return the head of a campaign's page: states of runs, costs, figures, and reasons of failures."""
    states = dict(table.group_by("state").len().iter_rows())
    done = table.filter(pl.col("state") == "done")
    name = printable(campaign.specification.campaign)
    runs = noun_text(len(table), "run")
    tiles = [
        ("done", f"{states.get('done', 0)} of {runs}", ""),
        ("failed", count_text(states.get("failed", 0)), ""),
        ("time", duration_text(float(done["seconds"].sum())), "of all finished runs"),
        ("core-hours", f"{done['core_hours'].sum():.3g}", "of all finished runs"),
        *_list_figures(table, done),
    ]
    lines = [
        f"{row['run']}: {row['state']}: {row['reason']}"
        for row in table.filter(pl.col("state").is_in(["failed", "impossible"])).to_dicts()
    ]
    more = [f"and {len(lines) - _MOST_REASONS} more"] if len(lines) > _MOST_REASONS else []
    text = [printable(line) for line in [*lines[:_MOST_REASONS], *more]]
    section = Section("campaign", "Runs of the campaign", tables=[_make_results(campaign, table)], text=text)
    return PageHead("campaign", f"{name}: {states.get('done', 0)} of {runs} done", tiles, [section])


def _list_figures(table: pl.DataFrame, done: pl.DataFrame) -> list[tuple[str, str, str]]:
    """Return the first figures of the program on most ranks."""
    names = table.columns[table.columns.index("profile") + 1 :][:_MOST_FIGURES]
    largest = done.filter(pl.col("ranks") == pl.col("ranks").max())
    where = f"median on {noun_text(largest['ranks'][0], 'rank')}" if len(largest) else ""
    values = [(name, largest[name].drop_nulls()) for name in names]
    return [
        (printable(name), _number_text(float(np.median(found))), where)
        for name, found in values
        if len(found)
    ]


def _make_results(campaign: Campaign, table: pl.DataFrame) -> Table:
    """Return a row per configuration: its runs by state, its time and cost, and its figures."""
    results = list_results(campaign).drop("runs")
    costs = table.filter(pl.col("state") == "done").group_by(_GROUP).agg(pl.col("core_hours").sum())
    rows = list_states(table).join(results, on=_GROUP, how="left", maintain_order="left")
    rows = rows.join(costs, on=_GROUP, how="left", maintain_order="left")
    figures = [
        name for name in results.columns if name in table.columns[table.columns.index("profile") + 1 :]
    ]
    differ = [name for name in _GROUP if name == "ranks" or rows[name].n_unique() > 1]
    columns: list[Column] = [
        *((name, "", name, str) for name in differ),
        *((state, "Runs", state, count_text) for state in _STATES if rows[state].sum()),
        *([("parameters", "", "parameters", _or_unknown)] if rows["parameters"].n_unique() > 1 else []),
        ("time", "Median over repetitions", "seconds", time_text),
        ("core-hours", "Of all finished runs", "core_hours", _number_text),
        *((printable(name), "Median over repetitions", name, _number_text) for name in figures),
    ]
    return fill_table("One row per configuration.", columns, rows.to_dicts())


def _number_text(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.4g}"


def _or_unknown(value: str | None) -> str:
    return printable(value or UNKNOWN)
