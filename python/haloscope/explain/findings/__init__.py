"""Findings: performance problems of a run, with cause, gain, remedy and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.findings.find import RULES as RULES
    from haloscope.explain.findings.find import FindingRule as FindingRule
    from haloscope.explain.findings.find import findings as findings
    from haloscope.explain.findings.finding import Evidence as Evidence
    from haloscope.explain.findings.finding import Finding as Finding
    from haloscope.explain.findings.ground import has_small_trace as has_small_trace
    from haloscope.explain.findings.machine_limits import MachineMeasurements as MachineMeasurements
    from haloscope.explain.findings.machine_limits import crowding_text as crowding_text
    from haloscope.explain.findings.machine_limits import find_crowded_host as find_crowded_host
    from haloscope.explain.findings.telling import describe_other_threads as describe_other_threads
    from haloscope.explain.findings.telling import describe_silence as describe_silence
    from haloscope.explain.findings.telling import describe_unjudged as describe_unjudged
    from haloscope.explain.findings.telling import finding_line as finding_line
    from haloscope.explain.findings.telling import finding_lines as finding_lines
    from haloscope.explain.findings.telling import show_command as show_command

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
