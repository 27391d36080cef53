"""What each rule says of a run: counts at once, times only when they were measured again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from haloscope.base.units import time_text
from haloscope.explain.checking.rules import CheckRules, Count, Limits, RegionRules, Time, TimeRule
from haloscope.explain.checking.slowness import looks_slow, quick_half, surely_slower
from haloscope.explain.comparing import ComparedRun, times_of_runs
from haloscope.profile.store import PROGRAM, region_text

Status = Literal["passed", "failed", "suspect"]
_TABLES = ("regions", "calls", "sizes", "memory", "collectives", "communicators")

CHECKED = {
    "region": pl.String,
    "rule": pl.String,
    "status": pl.String,
    "expected": pl.String,
    "found": pl.Float64,
    "sentence": pl.String,
}


@dataclass(frozen=True)
class CheckVerdict:
    """What became of a rule: `status` is `suspect` for a slow time that nobody measured again."""

    region: str
    rule: str
    status: Status
    expected: str
    found: float | None
    text: str


def count_verdicts(rules: CheckRules, run: ComparedRun) -> list[CheckVerdict]:
    """Return a verdict for each rule about counts; if they are complete, for counts without a rule, too."""
    facts: dict[str, dict[str, int]] = {}
    known = set()
    for region, table, quantity, count in run.facts.iter_rows():
        facts.setdefault(region, {})[f"{table} {quantity}"] = count
        known.add(f"{table} {quantity}" if table == "regions" else table)
    for table in _TABLES:
        if table not in run.unknown:
            known.add(table)
    verdicts = [
        verdict
        for region, rule in rules.regions.items()
        for verdict in _of_region(region, rule, facts.get(region, {}), known, rules.complete)
    ]
    if rules.complete:
        verdicts += [
            _new_region(region) for region in run.times["region"].to_list() if _is_new(region, rules, facts)
        ]
    return verdicts


def _is_new(region: str, rules: CheckRules, facts: Mapping[str, Mapping[str, int]]) -> bool:
    return region not in rules.regions and any(facts.get(region, {}).values())


def _new_region(region: str) -> CheckVerdict:
    return CheckVerdict(
        region, "region", "failed", "not there", None, f"{region_text(region)}: is a new region"
    )


def _of_region(
    region: str, rule: RegionRules, facts: Mapping[str, int], known: set[str], complete: bool
) -> Iterator[CheckVerdict]:
    ruled: dict[str, Count] = {
        f"{table} {name}": count for table in _TABLES for name, count in getattr(rule, table).items()
    }
    if not facts and any(ruled.values()):
        yield CheckVerdict(region, "region", "failed", "there", None, f"{region_text(region)}: is not there")
        return
    for name, count in ruled.items():
        table = name.partition(" ")[0]
        if (name if table == "regions" else table) not in known:
            text = f"{region_text(region)}: {_plain(name)} is not known of this run"
            yield CheckVerdict(region, name, "failed", _expected(count), None, text)
        else:
            yield _count(region, name, count, facts.get(name, 0))
    for name, found in facts.items() if complete else ():
        if found and name not in ruled and name not in rule.varies and not name.startswith("spread "):
            yield _count(region, name, 0, found)


def _count(region: str, name: str, count: Count, found: int) -> CheckVerdict:
    expected = _expected(count)
    if isinstance(count, Limits):
        passed = (count.at_least or 0) <= found <= (2**63 if count.at_most is None else count.at_most)
    else:
        passed = found == count
    text = f"{region_text(region)}: {_plain(name)} is {found}, not {expected}" if not passed else ""
    return CheckVerdict(region, name, "passed" if passed else "failed", expected, float(found), text)


def _plain(name: str) -> str:
    return region_text(name.removeprefix("regions "))


def _expected(count: Count) -> str:
    if not isinstance(count, Limits):
        return str(count)
    ends = (("at least", count.at_least), ("at most", count.at_most))
    return " and ".join(f"{word} {number}" for word, number in ends if number is not None)


def _time_rules(rules: CheckRules) -> Iterator[tuple[str, str, Time]]:
    for region, rule in rules.regions.items():
        for what, time in (("time", rule.time), ("own_time", rule.own_time)):
            if time is not None:
                yield region, what, time


def slow_ones(rules: CheckRules, run: ComparedRun) -> list[tuple[str, str]]:
    """Return region and rule of the times that look slow in this one run, so have to be measured again."""
    return [
        (region, what)
        for region, what, time in _time_rules(rules)
        if _looks_slow(time, _times([run], region, what)[0], rules.slower)
    ]


def _times(runs: Sequence[ComparedRun], region: str, what: str) -> list[float]:
    return times_of_runs(runs, region, "inclusive" if what == "time" else "time")


def _looks_slow(time: Time, found: float, slower: float) -> bool:
    return found > time.at_most if isinstance(time, TimeRule) else looks_slow(time, found, slower)


def time_verdicts(rules: CheckRules, run: ComparedRun, again: Sequence[ComparedRun]) -> list[CheckVerdict]:
    """Return a verdict for each rule about times.

    A time fails that looks slow in `run` and, measured in the runs `again` alone, is surely longer than in
    the runs that were learned from, and by `slower` at least. A limit fails if the run and the middle one of
    those again are over it. A time that is not known fails.
    """
    every = list(_time_rules(rules))
    return [_time(rules, item, run, again, len(every)) for item in every]


def _time(
    rules: CheckRules, item: tuple[str, str, Time], run: ComparedRun, again: Sequence[ComparedRun], every: int
) -> CheckVerdict:
    region, what, time = item
    found = _times([run], region, what)[0]
    limit = isinstance(time, TimeRule)
    expected = (
        f"at most {time_text(time.at_most)}" if isinstance(time, TimeRule) else time_text(quick_half(time))
    )
    name = "the program" if region == PROGRAM and what == "time" else region_text(region)
    if np.isnan(found):
        return CheckVerdict(
            region, what, "failed", expected, None, f"{name}: {what} is not known of this run"
        )
    if not _looks_slow(time, found, rules.slower):
        return CheckVerdict(region, what, "passed", expected, found, "")
    head = f"{name}: {what.replace('_', ' ')} {time_text(found)}, {'' if limit else 'learned '}{expected}"
    if not again:
        text = f"{head}; not measured again (--again), so no failure"
        return CheckVerdict(region, what, "suspect", expected, found, text)
    others = [value for value in _times(again, region, what) if not np.isnan(value)]
    status, told = _judge_again(time, others, rules.slower, every)
    return CheckVerdict(region, what, status, expected, found, f"{head}; {told}")


def _judge_again(time: Time, others: Sequence[float], slower: float, every: int) -> tuple[Status, str]:
    if isinstance(time, TimeRule):
        middle = float(np.median(others)) if others else float("inf")
        told = f"{time_text(middle)} in the middle of {len(others)} runs again"
        return _status(middle > time.at_most), told
    found = surely_slower(time, others, slower, every)
    return _status(found.sure), found.text


def _status(failed: bool) -> Status:
    return "failed" if failed else "passed"


def verdict_frame(verdicts: Sequence[CheckVerdict]) -> pl.DataFrame:
    """Return a row a verdict, with the columns `CHECKED`."""
    rows = [(v.region, v.rule, v.status, v.expected, v.found, v.text) for v in verdicts]
    return pl.DataFrame(rows, schema=CHECKED, orient="row")
