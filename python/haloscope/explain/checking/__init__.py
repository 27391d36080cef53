"""Rules for continuous integration: learned from runs, checked on others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.checking.checker import Again, Checked, check, measured
    from haloscope.explain.checking.learning import learn_rules, noticed
    from haloscope.explain.checking.notices import as_junit, as_markdown
    from haloscope.explain.checking.rules import Rules, read_rules
    from haloscope.explain.checking.verdicts import CHECKED, Verdict

__all__ = [
    "CHECKED",
    "Again",
    "Checked",
    "Rules",
    "Verdict",
    "as_junit",
    "as_markdown",
    "check",
    "learn_rules",
    "measured",
    "noticed",
    "read_rules",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Again": "_check",
            "CHECKED": "_verdicts",
            "Checked": "_check",
            "Rules": "_rules",
            "Verdict": "_verdicts",
            "as_junit": "_notices",
            "as_markdown": "_notices",
            "check": "_check",
            "learn_rules": "_learning",
            "measured": "_check",
            "noticed": "_learning",
            "read_rules": "_rules",
        },
    )
