"""Findings: what is wrong in a run, why, and what it would bring to put it right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.findings.find import RULES, Rule, findings
    from haloscope.explain.findings.finding import Evidence, Finding
    from haloscope.explain.findings.ground import Measured, is_crowded
    from haloscope.explain.findings.telling import finding_line, finding_lines

__all__ = [
    "RULES",
    "Evidence",
    "Finding",
    "Measured",
    "Rule",
    "finding_line",
    "finding_lines",
    "findings",
    "is_crowded",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Evidence": "_finding",
            "Finding": "_finding",
            "Measured": "_ground",
            "RULES": "_find",
            "Rule": "_find",
            "finding_line": "_telling",
            "finding_lines": "_telling",
            "findings": "_find",
            "is_crowded": "_ground",
        },
    )
