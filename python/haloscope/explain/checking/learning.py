"""Rules from runs: what all of them agree in, and the times of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from haloscope.base.errors import UsageError
from haloscope.explain.checking.rules import CheckRules, Learned, RegionRules, TimeRule, write_rules
from haloscope.explain.checking.slowness import noticed_slowdown
from haloscope.explain.comparing import ComparedRun, read_run, times_of_runs, why_apart
from haloscope.profile.store import PROGRAM

File = str | PathLike[str]

FEWEST_TIMES = 3  # runs that times are learned from: of fewer, nobody knows how they scatter
_LEAST_AGAIN, _MOST_AGAIN = 5, 20  # runs that confirm a slow one
_MATTERS = 0.1  # of the time of the program: regions with less get no time rule


def learn_rules(profiles: File | Sequence[File], output: File | None = None) -> CheckRules:
    """Return rules that all these runs keep, and write them to `output`, if that is given.

    Counts in which the runs agree become exact rules; the others are named as varying. From three runs on
    the times of the program, and of the regions that take a tenth of it by themselves, become rules.

    Raises `UsageError` for runs of different programs or numbers of ranks, `ProfileError` for a profile that
    cannot be read or lacks ranks, `OutputError`.

    >>> haloscope.learn_rules(["good-1.halo", "good-2.halo", "good-3.halo"], "rules.toml")
    """
    paths = [Path(profiles)] if isinstance(profiles, (str, PathLike)) else [Path(path) for path in profiles]
    if not paths:
        raise UsageError("rules are learned from runs; name one profile at least")
    runs = [read_run(path) for path in paths]
    for run in runs[1:]:
        if why := why_apart(runs[0], run):
            raise UsageError(f"{run.path}: {why}; rules are learned from repetitions of one run")
    rules = learned_from(runs)
    if output is not None:
        write_rules(rules, Path(output))
    return rules


def learned_from(runs: Sequence[ComparedRun]) -> CheckRules:
    """Return rules that these runs keep."""
    tables: dict[str, dict[str, Any]] = defaultdict(lambda: defaultdict(dict))
    for region, table, quantity, count, varies in _counts(runs).iter_rows():
        if varies:
            tables[region].setdefault("varies", []).append(f"{table} {quantity}")
        elif count:
            tables[region][table][quantity] = count
    for region, what, times in _times(runs):
        tables[region][what] = times
    first = runs[0].told
    return CheckRules(
        program=runs[0].program,
        ranks=runs[0].ranks,
        again=min(max(len(runs), _LEAST_AGAIN), _MOST_AGAIN),
        learned=Learned(
            runs=len(runs), mpi_library=first.get("mpi_library") or "", hosts=list(first["hosts"] or ())
        ),
        regions={region: RegionRules(**tables[region]) for region in _in_order(runs, tables)},
    )


def find_detectable_share(rules: CheckRules) -> float | None:
    """Return the share by which the program must be slower to fail in about nine checks of ten, if known."""
    program = rules.regions.get(PROGRAM)
    if program is None or program.time is None or isinstance(program.time, TimeRule):
        return None
    times = sum((rule.time is not None) + (rule.own_time is not None) for rule in rules.regions.values())
    return noticed_slowdown(program.time, rules.again, rules.slower, times)


def _in_order(runs: Sequence[ComparedRun], tables: dict[str, Any]) -> list[str]:
    every = dict.fromkeys(region for run in runs for region in run.times["region"].to_list())
    return [
        *(region for region in every if region in tables),
        *(name for name in tables if name not in every),
    ]


def _counts(runs: Sequence[ComparedRun]) -> pl.DataFrame:
    """Return `region`, `table`, `quantity`, `count`, and whether the runs differ in it."""
    rows = pl.concat([run.facts for run in runs]).filter(pl.col("table") != "spread")
    keys = ["region", "table", "quantity"]
    differs = (pl.col("count").n_unique() > 1) | (pl.len() < len(runs))
    return rows.group_by(keys).agg(pl.col("count").first(), differs.alias("varies")).sort(keys)


def _times(runs: Sequence[ComparedRun]) -> list[tuple[str, str, list[float]]]:
    if len(runs) < FEWEST_TIMES:
        return []
    whole = times_of_runs(runs, PROGRAM, "inclusive")
    regions = runs[0].times["region"].to_list()
    own = [(region, times_of_runs(runs, region, "time")) for region in regions]
    least = _MATTERS * sum(whole)
    found = [
        (PROGRAM, "time", whole),
        *((region, "own_time", times) for region, times in own if sum(times) >= least),
    ]
    return [(region, what, times) for region, what, times in found if min(times) > 0]  # NaN is not
