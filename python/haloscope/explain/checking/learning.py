"""Learning of rules: counts in which all runs agree, and the times of each run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from haloscope.base.errors import UsageError
from haloscope.explain.checking.rules import CheckRules, Learned, RegionRules, TimeRule, write_rules
from haloscope.explain.checking.slowness import estimate_detectable_slowdown, find_needed_runs
from haloscope.explain.comparing import ComparedRun, explain_difference, list_times, read_run
from haloscope.profile.store import PROGRAM

File = str | PathLike[str]


FEWEST_TIMES = 3  # smallest number of runs to learn times from; fewer do not show their scatter
_LEAST_AGAIN, _MOST_AGAIN = 5, 20  # runs that confirm a slow one
_MOST_RUNS = 50  # largest number of runs that is recommended
_MATTERS = 0.1  # smallest share of the program's time of a region with a time rule


def learn_rules(profiles: File | Sequence[File], output: File | None = None) -> CheckRules:
    """Learn rules that all these runs satisfy.

    Counts in which the runs agree become exact rules; the others are listed as varying. With three runs or
    more, the times of the program, and of regions that take a tenth of it without nested ones, become rules.

    Args:
        profiles: Profiles of good runs.
        output: File to write the rules to.

    Returns:
        The rules.

    Raises:
        UsageError: The runs differ in the program or the number of ranks.
        ProfileError: A profile cannot be read or has missing ranks.
        OutputError: `output` cannot be written.

    Examples:
        >>> haloscope.learn_rules(["good-1.halo", "good-2.halo", "good-3.halo"], "rules.toml")
    """
    paths = [Path(profiles)] if isinstance(profiles, (str, PathLike)) else [Path(path) for path in profiles]
    if not paths:
        raise UsageError("rules are learned from runs; give one profile or more")
    runs = [read_run(path) for path in paths]
    for run in runs[1:]:
        if why := explain_difference(runs[0], run):
            raise UsageError(f"{run.path}: {why}; rules are learned from repetitions of one run")
    rules = derive_rules(runs)
    if output is not None:
        write_rules(rules, Path(output))
    return rules


def derive_rules(runs: Sequence[ComparedRun]) -> CheckRules:
    """Return rules that these runs satisfy."""
    tables: dict[str, dict[str, Any]] = defaultdict(lambda: defaultdict(dict))
    for region, table, quantity, count, varies in _compare_counts(runs).iter_rows():
        if varies:
            tables[region].setdefault("varies", []).append(f"{table} {quantity}")
        elif count:
            tables[region][table][quantity] = count
    for region, what, times in _list_times(runs):
        tables[region][what] = times
    first = runs[0].info
    return CheckRules(
        program=runs[0].program,
        ranks=runs[0].ranks,
        again=_count_again(len(runs)),
        learned=Learned(
            runs=len(runs), mpi_library=first.get("mpi_library") or "", hosts=list(first["hosts"] or ())
        ),
        regions={region: RegionRules(**tables[region]) for region in _sort_regions(runs, tables)},
    )


def _count_again(runs: int) -> int:
    return min(max(runs, _LEAST_AGAIN), _MOST_AGAIN)


@dataclass(frozen=True)
class Detectable:
    """What rules detect: a slowdown of the program that fails in about nine of ten checks, as a share.

    `share` is None if they detect none. Then `runs` is the number of runs from which rules would; None: even
    many runs of this scatter would not.
    """

    share: float | None
    runs: int | None = None


def find_detectable(rules: CheckRules) -> Detectable:
    """Return the slowdown that these rules detect, if the machine is as in the learned runs."""
    program = rules.regions.get(PROGRAM)
    learned = None if program is None or isinstance(program.time, TimeRule) else program.time
    if learned is None:
        return Detectable(None, FEWEST_TIMES if rules.learned.runs < FEWEST_TIMES else None)
    times = sum((rule.time is not None) + (rule.own_time is not None) for rule in rules.regions.values())
    share = estimate_detectable_slowdown(learned, rules.again, rules.slower, times)
    if isfinite(share):
        return Detectable(share)
    return Detectable(None, find_needed_runs(learned, _count_again, rules.slower, times, _MOST_RUNS))


def _sort_regions(runs: Sequence[ComparedRun], tables: dict[str, Any]) -> list[str]:
    every = dict.fromkeys(region for run in runs for region in run.times["region"].to_list())
    return [
        *(region for region in every if region in tables),
        *(name for name in tables if name not in every),
    ]


def _compare_counts(runs: Sequence[ComparedRun]) -> pl.DataFrame:
    """Return `region`, `table`, `quantity`, `count`, and `varies`: whether the runs differ."""
    rows = pl.concat([run.facts for run in runs]).filter(pl.col("table") != "spread")
    keys = ["region", "table", "quantity"]
    differs = (pl.col("count").n_unique() > 1) | (pl.len() < len(runs))
    return rows.group_by(keys).agg(pl.col("count").first(), differs.alias("varies")).sort(keys)


def _list_times(runs: Sequence[ComparedRun]) -> list[tuple[str, str, list[float]]]:
    if len(runs) < FEWEST_TIMES:
        return []
    whole = list_times(runs, PROGRAM, "inclusive")
    regions = runs[0].times["region"].to_list()
    own = [(region, list_times(runs, region, "time")) for region in regions]
    least = _MATTERS * sum(whole)
    found = [
        (PROGRAM, "time", whole),
        *((region, "own_time", times) for region, times in own if sum(times) >= least),
    ]
    return [(region, what, times) for region, what, times in found if min(times) > 0]  # NaN is not
