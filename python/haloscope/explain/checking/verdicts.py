"""The verdict of each rule: counts are judged at once, slow times only after they are measured again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from haloscope.base.units import noun_text, time_text
from haloscope.explain.checking.rules import CheckRules, Count, Limits, RegionRules, Time, TimeRule
from haloscope.explain.checking.slowness import judge_slowdown, looks_slow, mean_faster_half
from haloscope.explain.comparing import ComparedRun, list_times
from haloscope.profile.store import PROGRAM, list_regions, region_text

Status = Literal["passed", "failed", "suspect"]
_TABLES = ("regions", "calls", "sizes", "memory", "collectives", "communicators")

CHECKED = {
    **dict.fromkeys(("region", "rule", "status", "expected"), pl.String),
    "found": pl.Float64,
    "sentence": pl.String,
}


@dataclass(frozen=True)
class CheckVerdict:
    """The result of a rule. `status` is `suspect` for a slow time that was not measured again."""

    region: str
    rule: str
    status: Status
    expected: str
    found: float | None
    text: str


def judge_counts(rules: CheckRules, run: ComparedRun) -> list[CheckVerdict]:
    """Return a verdict for each rule about counts.

    If the rules are complete, also for counts without a rule.
    """
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
        for verdict in _judge_region(region, rule, facts, known, rules.complete)
    ]
    if rules.complete:
        verdicts += [
            _make_region_verdict(region)
            for region in run.times["region"].to_list()
            if region not in rules.regions and any(facts.get(region, {}).values())
        ]
    return verdicts


def _make_region_verdict(region: str) -> CheckVerdict:
    return CheckVerdict(region, "region", "failed", "absent", None, f"{region_text(region)}: is a new region")


def _judge_region(
    region: str, rule: RegionRules, run: Mapping[str, Mapping[str, int]], known: set[str], complete: bool
) -> Iterator[CheckVerdict]:
    facts = run.get(region, {})
    ruled: dict[str, Count] = {
        f"{table} {name}": count for table in _TABLES for name, count in getattr(rule, table).items()
    }
    if not facts and any(ruled.values()):
        text = f"{region_text(region)}: is missing; {list_regions(region, [*map(region_text, run)])}"
        yield CheckVerdict(region, "region", "failed", "present", None, text)
        return
    for name, count in ruled.items():
        table = name.partition(" ")[0]
        if (name if table == "regions" else table) not in known:
            text = f"{region_text(region)}: {_plain_name(name)} is unknown for this run"
            yield CheckVerdict(region, name, "failed", _expected_text(count), None, text)
        else:
            yield _judge_count(region, name, count, facts.get(name, 0))
    for name, found in facts.items() if complete else ():
        if found and name not in ruled and name not in rule.varies and not name.startswith("spread "):
            yield _judge_count(region, name, 0, found)


def _judge_count(region: str, name: str, count: Count, found: int) -> CheckVerdict:
    expected = _expected_text(count)
    if isinstance(count, Limits):
        passed = (count.at_least or 0) <= found <= (2**63 if count.at_most is None else count.at_most)
    else:
        passed = found == count
    text = f"{region_text(region)}: {_plain_name(name)} is {found}, expected {expected}" if not passed else ""
    return CheckVerdict(region, name, "passed" if passed else "failed", expected, float(found), text)


def _plain_name(name: str) -> str:
    return region_text(name.removeprefix("regions "))


def _expected_text(count: Count) -> str:
    if not isinstance(count, Limits):
        return str(count)
    ends = (("at least", count.at_least), ("at most", count.at_most))
    return " and ".join(f"{word} {number}" for word, number in ends if number is not None)


def _list_time_rules(rules: CheckRules) -> Iterator[tuple[str, str, Time]]:
    for region, rule in rules.regions.items():
        for what, time in (("time", rule.time), ("own_time", rule.own_time)):
            if time is not None:
                yield region, what, time


def find_slow_times(rules: CheckRules, run: ComparedRun) -> list[tuple[str, str]]:
    """Return region and rule of the times that look slow in this run and have to be measured again."""
    return [
        (region, what)
        for region, what, time in _list_time_rules(rules)
        if _looks_slow(time, _read_times([run], region, what)[0], rules.slower)
    ]


def _read_times(runs: Sequence[ComparedRun], region: str, what: str) -> list[float]:
    return list_times(runs, region, "inclusive" if what == "time" else "time")


def _looks_slow(time: Time, found: float, slower: float) -> bool:
    return found > time.at_most if isinstance(time, TimeRule) else looks_slow(time, found, slower)


def judge_times(rules: CheckRules, run: ComparedRun, again: Sequence[ComparedRun]) -> list[CheckVerdict]:
    """Return a verdict for each rule about times.

    A time fails if it looks slow in `run` and is significantly longer in the runs `again` than in the learned
    runs, by `slower` or more. A limit fails if both the run and the median of the runs `again` exceed it. An
    unknown time fails.
    """
    every = list(_list_time_rules(rules))
    return [_judge_time(rules, item, run, again, len(every)) for item in every]


def _judge_time(
    rules: CheckRules, item: tuple[str, str, Time], run: ComparedRun, again: Sequence[ComparedRun], every: int
) -> CheckVerdict:
    region, what, time = item
    found = _read_times([run], region, what)[0]
    limit = isinstance(time, TimeRule)
    expected = (
        f"at most {time_text(time.at_most)}"
        if isinstance(time, TimeRule)
        else time_text(mean_faster_half(time))
    )
    name = "the program" if region == PROGRAM and what == "time" else region_text(region)
    if np.isnan(found):
        return CheckVerdict(region, what, "failed", expected, None, f"{name}: {what} is unknown for this run")
    if not _looks_slow(time, found, rules.slower):
        return CheckVerdict(region, what, "passed", expected, found, "")
    head = f"{name}: {what.replace('_', ' ')} {time_text(found)}, {'' if limit else 'learned '}{expected}"
    if not again:
        text = f"{head}; not measured again, so it does not fail (measure it with --again)"
        return CheckVerdict(region, what, "suspect", expected, found, text)
    others = [value for value in _read_times(again, region, what) if not np.isnan(value)]
    status, result = _judge_again(time, others, rules.slower, every)
    return CheckVerdict(region, what, status, expected, found, f"{head}; {result}")


def _judge_again(time: Time, others: Sequence[float], slower: float, every: int) -> tuple[Status, str]:
    if not others:
        return "failed", "the repeated runs have no such time"
    if isinstance(time, TimeRule):
        middle = float(np.median(others))
        text = f"median {time_text(middle)} of {noun_text(len(others), 'repeated run')}"
        return _status(middle > time.at_most), text
    found = judge_slowdown(time, others, slower, every)
    return _status(found.sure), found.text


def _status(failed: bool) -> Status:
    return "failed" if failed else "passed"


def verdict_frame(verdicts: Sequence[CheckVerdict]) -> pl.DataFrame:
    """Return one row per verdict, with the columns `CHECKED`."""
    rows = [(v.region, v.rule, v.status, v.expected, v.found, v.text) for v in verdicts]
    return pl.DataFrame(rows, schema=CHECKED, orient="row")
