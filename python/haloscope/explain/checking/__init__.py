"""Rules for continuous integration: learned from runs, checked on others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.checking.checker import Again as Again
    from haloscope.explain.checking.checker import Checked as Checked
    from haloscope.explain.checking.checker import check as check
    from haloscope.explain.checking.checker import make_repeater as make_repeater
    from haloscope.explain.checking.learning import Detectable as Detectable
    from haloscope.explain.checking.learning import find_detectable as find_detectable
    from haloscope.explain.checking.learning import learn_rules as learn_rules
    from haloscope.explain.checking.notices import as_junit as as_junit
    from haloscope.explain.checking.notices import as_markdown as as_markdown
    from haloscope.explain.checking.rules import CheckRules as CheckRules
    from haloscope.explain.checking.rules import read_rules as read_rules
    from haloscope.explain.checking.verdicts import CHECKED as CHECKED
    from haloscope.explain.checking.verdicts import CheckVerdict as CheckVerdict

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
