"""Tune: rules for the MPI library that are selected, written, verified and measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.predict.tune.choice import Candidate as Candidate
    from haloscope.predict.tune.choice import Point as Point
    from haloscope.predict.tune.choice import choose_by_model as choose_by_model
    from haloscope.predict.tune.choice import choose_from as choose_from
    from haloscope.predict.tune.formats import check_output as check_output
    from haloscope.predict.tune.formats import make_settings as make_settings
    from haloscope.predict.tune.formats import make_usage as make_usage
    from haloscope.predict.tune.gains import Gains as Gains
    from haloscope.predict.tune.gains import describe_program_gain as describe_program_gain
    from haloscope.predict.tune.gains import estimate_program_gain as estimate_program_gain
    from haloscope.predict.tune.gains import summarise_gains as summarise_gains
    from haloscope.predict.tune.gains import write_page as write_page
    from haloscope.predict.tune.sources import RuleChoice as RuleChoice
    from haloscope.predict.tune.trial import Trial as Trial
    from haloscope.predict.tune.trial import gain_interval as gain_interval
    from haloscope.predict.tune.trial import measure_all as measure_all
    from haloscope.predict.tune.trial import measure_both as measure_both
    from haloscope.predict.tune.tuner import ComparisonPlan as ComparisonPlan
    from haloscope.predict.tune.tuner import Tuning as Tuning
    from haloscope.predict.tune.tuner import tune as tune
    from haloscope.predict.tune.tuner import write_rules as write_rules
    from haloscope.predict.tune.tuning_table import TUNE_TABLE as TUNE_TABLE
    from haloscope.predict.tune.tuning_table import make_table as make_table
    from haloscope.predict.tune.verification import Bench as Bench
    from haloscope.predict.tune.verification import TuneVerdict as TuneVerdict
    from haloscope.predict.tune.verification import verify as verify

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
