"""Improve: remedies for the problems of a profile, tried in real runs; significant ones are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.hide.improve.candidates import list_remedies as list_remedies
    from haloscope.hide.improve.improve_page import write_improve_page as write_improve_page
    from haloscope.hide.improve.improvement import Improvement as Improvement
    from haloscope.hide.improve.merit import FigureOfMerit as FigureOfMerit
    from haloscope.hide.improve.proof import Proof as Proof
    from haloscope.hide.improve.remedy import Remedy as Remedy
    from haloscope.hide.improve.search import RemedySearch as RemedySearch
    from haloscope.hide.improve.search import TrialPlan as TrialPlan
    from haloscope.hide.improve.search import improve as improve
    from haloscope.hide.improve.trial_runs import Runner as Runner
    from haloscope.hide.improve.trial_runs import TrialRun as TrialRun

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
