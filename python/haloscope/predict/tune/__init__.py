"""Tuning: rules for the MPI library, chosen, written, verified and measured again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.predict.bench.workload import Point
    from haloscope.predict.tune.choice import Candidate, choose_by_model, choose_from, model_points
    from haloscope.predict.tune.formats import check_output, settings, usage
    from haloscope.predict.tune.gains import Gains, program_gain, program_text, summary, table, write_page
    from haloscope.predict.tune.sources import Choice
    from haloscope.predict.tune.trial import Trial, gain_interval, measure_all, measure_both, steps_of_all
    from haloscope.predict.tune.tuner import Plan, Tuning, tune, write_rules
    from haloscope.predict.tune.verification import Bench, Verdict, verify

__all__ = [
    "Bench",
    "Candidate",
    "Choice",
    "Gains",
    "Plan",
    "Point",
    "Trial",
    "Tuning",
    "Verdict",
    "check_output",
    "choose_by_model",
    "choose_from",
    "gain_interval",
    "measure_all",
    "measure_both",
    "model_points",
    "program_gain",
    "program_text",
    "settings",
    "steps_of_all",
    "summary",
    "table",
    "tune",
    "usage",
    "verify",
    "write_page",
    "write_rules",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Bench": "_verify",
            "Candidate": "_choice",
            "Plan": "_tune",
            "Point": "_choice",
            "Trial": "_trial",
            "Tuning": "_tune",
            "Verdict": "_verify",
            "check_output": "_formats",
            "choose_by_model": "_choice",
            "choose_from": "_choice",
            "gain_interval": "_trial",
            "measure_all": "_trial",
            "measure_both": "_trial",
            "model_points": "_choice",
            "program_gain": "_gains",
            "program_text": "_gains",
            "settings": "_formats",
            "steps_of_all": "_trial",
            "summary": "_gains",
            "table": "_gains",
            "tune": "_tune",
            "usage": "_formats",
            "verify": "_verify",
            "write_page": "_gains",
            "write_rules": "_tune",
            "Choice": "_sources",
            "Gains": "_gains",
        },
    )
