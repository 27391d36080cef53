"""Verdicts: how each published number and claim came out in a run."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from haloscope.base.errors import UsageError
from haloscope.base.units import noun_text
from haloscope.reproduce.study.conditions import BUSY
from haloscope.reproduce.study.outcomes import PartOutcome
from haloscope.reproduce.study.published import parse_printed
from haloscope.reproduce.study.reproduced import Reproduced, Tested, read_reproduced
from haloscope.reproduce.study.study_folder import Study

NumberState = Literal["equal", "within 10 %", "differs", "not reproduced"]
ClaimState = Literal["holds", "does not hold", "cannot be tested here"]
NUMBER_STATES: tuple[NumberState, ...] = ("equal", "within 10 %", "differs", "not reproduced")
CLAIM_STATES: tuple[ClaimState, ...] = ("holds", "does not hold", "cannot be tested here")
_PLURALS = {"differs": "differ", "holds": "hold", "does not hold": "do not hold"}
_NEAR = 0.1
_ORIGINALS = "originals.csv"
_COLUMNS = {"name", "value", "program", "version", "date"}


@dataclass(frozen=True)
class NumberVerdict:
    """A published number with ours; `difference` is relative, `why` the reason for a state."""

    name: str
    where: str
    unit: str
    printed: str
    ours: Reproduced | None
    original: float | None
    difference: float | None
    state: NumberState
    why: str


@dataclass(frozen=True)
class ClaimVerdict:
    """A published claim, and what this run's data are evidence for."""

    text: str
    where: str
    state: ClaimState
    evidence: str


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of a study. `originals` are the programs of the column of that name."""

    numbers: tuple[NumberVerdict, ...]
    claims: tuple[ClaimVerdict, ...]
    originals: tuple[str, ...]

    def summary(self) -> str:
        """Return the counts of the states in one sentence; empty if nothing is published as data."""
        sentences = []
        if self.numbers:
            counts = _count([verdict.state for verdict in self.numbers], NUMBER_STATES)
            sentences.append(f"Of {noun_text(len(self.numbers), 'published number')} {counts}.")
        if self.claims:
            counts = _count([verdict.state for verdict in self.claims], CLAIM_STATES)
            sentences.append(f"Of {noun_text(len(self.claims), 'claim')} {counts}.")
        return " ".join(sentences)

    def tiles(self) -> list[tuple[str, str, str]]:
        """Return the head of the page: name, value and unit of a count of numbers, and of one of claims."""
        equal = sum(verdict.state == "equal" for verdict in self.numbers)
        holding = sum(verdict.state == "holds" for verdict in self.claims)
        tiles = []
        if self.numbers:
            tiles.append(("equal", f"{equal} of {len(self.numbers)}", "published numbers"))
        if self.claims:
            tiles.append(("holding", f"{holding} of {len(self.claims)}", "published claims"))
        return tiles


def judge_study(study: Study, directory: Path, outcomes: Sequence[PartOutcome]) -> Verdicts:
    """Return the verdicts on all published numbers and claims, from the results in `directory`.

    Raises:
        OutputError: A file of results is damaged.
        UsageError: The kept results of original programs are damaged.
    """
    by_part = {outcome.part.name: outcome for outcome in outcomes}
    done = [name for name, outcome in by_part.items() if outcome.state == "done"]
    found = {name: read_reproduced(directory, name) for name in done}
    originals, programs = _read_originals(study)
    for part, results in found.items():
        busy = _explain_busy(by_part[part])
        originals |= {one.name: None if one.is_measured and busy else one.value for one in results.originals}
    numbers = []
    for group in study.published.numbers:
        outcome = by_part[group.part]
        ours = {one.name: one for one in found[group.part].numbers} if group.part in found else {}
        for name, printed in group.values.items():
            one = ours.get(name)
            if one is not None and group.timed and one.is_measured:
                one = _drop_busy(one, outcome)
            state, difference, why = _judge_number(printed, group.tolerance, one, outcome)
            original = originals.get(name)
            numbers.append(
                NumberVerdict(
                    name,
                    group.where,
                    group.unit,
                    printed,
                    one,
                    original,
                    difference,
                    state,
                    why or group.reason,
                )
            )
    tested = {one.name: one for results in found.values() for one in results.claims}
    claims = [
        _judge_claim(claim.text, claim.where, claim.timed, tested.get(claim.name), by_part[claim.part])
        for claim in study.published.claims
    ]
    return Verdicts(tuple(numbers), tuple(claims), programs)


def _count(states: Sequence[str], kinds: Sequence[str]) -> str:
    counts = {kind: states.count(kind) for kind in kinds}
    return ", ".join(
        f"{count} {kind if count == 1 else _PLURALS.get(kind, kind)}" for kind, count in counts.items()
    )


def _explain_missing(outcome: PartOutcome) -> str:
    if outcome.state == "failed":  # the page has the reason once, above its tables
        return "part failed"
    return f"part {outcome.state}" + (f": {outcome.why}" if outcome.why else "")


def _explain_busy(outcome: PartOutcome) -> str:
    """Return why times of a part are not judged; empty if they are."""
    conditions = outcome.conditions
    if conditions is None or not conditions.is_busy or conditions.others is None:
        return ""
    return (
        f"other programs used {100 * conditions.others:.0f} % of the processors (at most {100 * BUSY:.0f} %)"
    )


def _drop_busy(ours: Reproduced, outcome: PartOutcome) -> Reproduced:
    why = _explain_busy(outcome)
    return Reproduced(ours.name, None, ours.source, why=why) if why else ours


def _judge_number(
    printed: str, tolerance: float, ours: Reproduced | None, outcome: PartOutcome
) -> tuple[NumberState, float | None, str]:
    """Return the state of a number, its relative difference, and the reason."""
    if ours is None:
        return "not reproduced", None, _explain_missing(outcome)
    if ours.value is None:
        return "not reproduced", None, ours.why
    value, half_digit = parse_printed(printed)
    away = abs(ours.value - value)
    difference = ours.value / value - 1 if value else None
    # The rounding of decimal fractions to binary ones must not decide.
    if away <= max(half_digit, tolerance * abs(value)) * (1 + 1e-9):
        return "equal", difference, ours.why
    return ("within 10 %" if away <= _NEAR * abs(value) else "differs"), difference, ours.why


def _judge_claim(
    text: str, where: str, timed: bool, tested: Tested | None, outcome: PartOutcome
) -> ClaimVerdict:
    if tested is None:
        return ClaimVerdict(text, where, "cannot be tested here", _explain_missing(outcome))
    busy = _explain_busy(outcome) if timed and tested.is_measured else ""
    if tested.holds is None or busy:
        return ClaimVerdict(text, where, "cannot be tested here", busy or tested.evidence)
    return ClaimVerdict(text, where, "holds" if tested.holds else "does not hold", tested.evidence)


def _read_originals(study: Study) -> tuple[dict[str, float | None], tuple[str, ...]]:
    """Return kept results of the paper's own programs, and which versions of them made these, and when."""
    file = study.folder / _ORIGINALS
    try:
        with file.open(encoding="utf-8", newline="") as rows:
            read = list(csv.DictReader(rows))
        programs = dict.fromkeys(f"{row['program']} {row['version']} ({row['date']})" for row in read)
        values: dict[str, float | None] = {row["name"]: float(row["value"]) for row in read}
    except FileNotFoundError:
        return {}, ()
    except (OSError, ValueError, TypeError, KeyError, csv.Error):
        raise UsageError(f"{file}: not a table of {', '.join(sorted(_COLUMNS))}") from None
    return values, tuple(programs)
