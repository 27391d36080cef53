"""Verdicts as sections of the page of a study: numbers that differ, worst first, equal ones, and claims."""

from __future__ import annotations

from collections.abc import Sequence

from haloscope.base.errors import printable
from haloscope.base.units import UNKNOWN
from haloscope.markov.figures import Cell, Section, Table
from haloscope.reproduce.study.judging import ClaimVerdict, NumberVerdict, Verdicts

_WORST_FIRST = ("differs", "not reproduced", "within 10 %", "equal")
_CLAIM_ORDER = ("does not hold", "holds", "cannot be tested here")


def make_verdict_sections(verdicts: Verdicts) -> list[Section]:
    """Return the sections for numbers and claims; none if the study has neither."""
    sections = []
    if verdicts.numbers:
        kept = ", ".join(verdicts.originals)
        text = [f"Original: kept results of {kept}, or of the programs given by --with."] if kept else []
        tables = [
            _make_numbers("Not equal, largest difference first.", _order(verdicts.numbers, equal=False)),
            _make_numbers(
                "Equal to the printed digits or within the tolerance.", _order(verdicts.numbers, equal=True)
            ),
        ]
        filled = [table for table in tables if table.rows]
        sections.append(Section("numbers", "Published numbers", tables=filled, text=text))
    if verdicts.claims:
        rows = sorted(verdicts.claims, key=lambda claim: _CLAIM_ORDER.index(claim.state))
        sections.append(Section("claims", "Published claims", tables=[_make_claims(rows)]))
    return sections


def number_text(value: float) -> str:
    """Return a number with six digits, without an exponent where a person would write none."""
    if abs(value) < 1e15 and value == int(value):
        return str(int(value))
    if abs(value) >= 1e5 and abs(value) < 1e15:
        return f"{value:.1f}"
    return f"{value:.6g}"


def _order(numbers: Sequence[NumberVerdict], *, equal: bool) -> list[NumberVerdict]:
    chosen = [number for number in numbers if (number.state == "equal") == equal]
    if equal:
        return chosen
    return sorted(chosen, key=lambda one: (_WORST_FIRST.index(one.state), -abs(one.difference or 0.0)))


def _make_numbers(caption: str, numbers: Sequence[NumberVerdict]) -> Table:
    with_originals = any(number.original is not None for number in numbers)
    rows: list[list[Cell]] = []
    for number in numbers:
        value = number.ours.value if number.ours else None
        unit = f" {number.unit}" if number.unit else ""
        row: list[Cell] = [
            _cell(number.name),
            (None, printable(number.printed + unit)),
            (value, UNKNOWN if value is None else _number_with_interval(number) + unit),
        ]
        if with_originals:
            original = number.original
            row.append((original, UNKNOWN if original is None else number_text(original) + unit))
        row += [
            (
                number.difference,
                UNKNOWN if number.difference is None else f"{100 * number.difference:+.1f} %",
            ),
            (number.state, number.state),
            _cell(number.why),
            _cell(number.where),
            _cell(number.ours.source if number.ours else UNKNOWN),
        ]
        rows.append(row)
    columns = [
        ("number", ""),
        ("paper", "As printed"),
        ("here", "With its 95 % interval where there is one"),
        *([("original", "By the paper's own program")] if with_originals else []),
        ("difference", "Here relative to the paper"),
        ("verdict", ""),
        # Before the place and the source, so that a narrow page shows it without scrolling.
        ("reason", "Of the difference, or of the tolerance"),
        ("place", "In the paper"),
        ("source", "How the value here was obtained"),
    ]
    return Table(caption, columns, rows)


def _number_with_interval(number: NumberVerdict) -> str:
    ours = number.ours
    if ours is None or ours.value is None:
        return UNKNOWN
    if ours.low is None or ours.high is None:
        return number_text(ours.value)
    value, low, high = (
        f"{one:.4g}" if abs(one) < 1e4 else number_text(one) for one in (ours.value, ours.low, ours.high)
    )
    return f"{value} [{low}, {high}]"


def _make_claims(claims: Sequence[ClaimVerdict]) -> Table:
    columns = [
        ("claim", ""),
        ("place", "In the paper"),
        ("verdict", ""),
        ("evidence", "From this run's data"),
    ]
    rows = [
        [_cell(claim.text), _cell(claim.where), _cell(claim.state), _cell(claim.evidence)] for claim in claims
    ]
    return Table("", columns, rows)


def _cell(text: str) -> Cell:
    return text, printable(text)
