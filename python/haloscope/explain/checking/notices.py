"""Verdicts in other formats: JUnit XML for CI servers, and Markdown for a merge request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from haloscope.base.errors import printable
from haloscope.base.units import noun_text

if TYPE_CHECKING:
    from haloscope.explain.checking.checker import Checked
    from haloscope.explain.checking.verdicts import CheckVerdict

_MOST_ROWS = 100  # of a comment on a merge request
_TIMES = ("time", "own_time")


def as_junit(checked: Checked) -> str:
    """Return JUnit XML: one test case for the counts of each region, and one for each rule about time.

    Times that look slow and were not measured again are skipped tests.
    """
    cases = _group_cases(checked.verdicts)
    suite = ElementTree.Element(
        "testsuite",
        name=f"haloscope check {printable(checked.rules.program)}",
        tests=str(len(cases)),
        failures=str(sum(any(v.status == "failed" for v in case) for case in cases.values())),
        errors="0",
        skipped=str(sum(any(v.status == "suspect" for v in case) for case in cases.values())),
    )
    for (region, what), verdicts in cases.items():
        case = ElementTree.SubElement(suite, "testcase", classname=_escape_xml(region), name=what)
        _add_result(case, verdicts)
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, "unicode") + "\n"


def _group_cases(verdicts: Sequence[CheckVerdict]) -> dict[tuple[str, str], list[CheckVerdict]]:
    cases: dict[tuple[str, str], list[CheckVerdict]] = {}
    for verdict in verdicts:
        what = verdict.rule if verdict.rule in _TIMES else "counts"
        cases.setdefault((verdict.region, what), []).append(verdict)
    return cases


def _add_result(case: ElementTree.Element, verdicts: Sequence[CheckVerdict]) -> None:
    for status, name in (("failed", "failure"), ("suspect", "skipped")):
        lines = [_escape_xml(verdict.text) for verdict in verdicts if verdict.status == status]
        if lines:
            ElementTree.SubElement(case, name, message=lines[0]).text = "\n".join(lines)
            return


def _escape_xml(text: str) -> str:
    """Return text without characters that XML cannot hold, as names of regions may have any."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "�", printable(text))


def as_markdown(checked: Checked) -> str:
    """Return a comment for a merge request: the verdict, and a table of failed and suspect rules."""
    mark = "❌" if checked.failures else "⚠️" if checked.suspects else "✅"
    lines = [f"### {mark} Haloscope: {_escape_cell(checked.headline())}", ""]
    rows = [*checked.failures, *checked.suspects]
    if rows:
        lines += ["| region | rule | expected | found | |", "| --- | --- | --- | --- | --- |"]
        lines += [_row(verdict) for verdict in rows[:_MOST_ROWS]]
        lines += ["", f"… and {len(rows) - _MOST_ROWS} more"] if len(rows) > _MOST_ROWS else []
        lines.append("")
    if checked.again:
        lines += [f"Slow times were measured again in {noun_text(checked.again, 'run')}.", ""]
    lines += [f"* {_escape_cell(remark)}" for remark in checked.remarks]
    return "\n".join(lines).rstrip() + "\n"


def _row(verdict: CheckVerdict) -> str:
    found = (
        "–"
        if verdict.found is None
        else f"{verdict.found:.6g}"
        if verdict.rule in _TIMES
        else f"{verdict.found:.0f}"
    )
    cells = (verdict.region, verdict.rule, verdict.expected, found, verdict.text)
    return f"| {' | '.join(map(_escape_cell, cells))} |"


def _escape_cell(text: str) -> str:
    """Return untrusted text escaped for Markdown: it cannot contain markup, cells or mentions."""
    return re.sub(r"([\\`*_{}\[\]()#+!|<>@~&])", lambda found: f"&#{ord(found[1])};", printable(text))
