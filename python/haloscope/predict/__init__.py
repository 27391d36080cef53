"""Predict: measurements of machines, models, tuning of collectives, simulation and placement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.predict.bench.foreign import read_imb as read_imb
    from haloscope.predict.bench.foreign import read_osu as read_osu
    from haloscope.predict.bench.surroundings import noise as noise
    from haloscope.predict.bench.sweep import Sweep as Sweep
    from haloscope.predict.budget import Measuring as Measuring
    from haloscope.predict.budget import TrialLaunch as TrialLaunch
    from haloscope.predict.budget import measure_within as measure_within
    from haloscope.predict.budget import reduce_calls as reduce_calls
    from haloscope.predict.collective_model import ALGORITHMS as ALGORITHMS
    from haloscope.predict.collective_model import algorithms_of as algorithms_of
    from haloscope.predict.collective_model import model as model
    from haloscope.predict.kinds import Kind as Kind
    from haloscope.predict.kinds import find_kind as find_kind
    from haloscope.predict.law import Estimate as Estimate
    from haloscope.predict.laws import CollectiveLaws as CollectiveLaws
    from haloscope.predict.laws import Decision as Decision
    from haloscope.predict.laws import Way as Way
    from haloscope.predict.machine import Level as Level
    from haloscope.predict.machine import Machine as Machine
    from haloscope.predict.machine_files import load_machine as load_machine
    from haloscope.predict.machine_files import machines as machines
    from haloscope.predict.machine_files import save_fitted as save_fitted
    from haloscope.predict.machine_files import write_machine as write_machine
    from haloscope.predict.machine_page import write_machine_page as write_machine_page
    from haloscope.predict.model_page import write_measured_page as write_measured_page
    from haloscope.predict.model_page import write_page as write_page
    from haloscope.predict.prediction import ERRORS_TABLE as ERRORS_TABLE
    from haloscope.predict.prediction import MODEL_TABLE as MODEL_TABLE
    from haloscope.predict.prediction import Chosen as Chosen
    from haloscope.predict.prediction import choose as choose
    from haloscope.predict.prediction import error_summary as error_summary
    from haloscope.predict.prediction import error_table as error_table
    from haloscope.predict.prediction import errors as errors
    from haloscope.predict.prediction import losses as losses
    from haloscope.predict.prediction import predict as predict
    from haloscope.predict.sweep_fitting import fit_points as fit_points

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
