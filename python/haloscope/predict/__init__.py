"""Predict: what collectives take on a machine, from a model of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.predict.budget import Launch, Measuring, few_calls, measure_within
    from haloscope.predict.sweep_fitting import fit_points
    from haloscope.predict.kinds import Kind, kind_of
    from haloscope.predict.law import Estimate
    from haloscope.predict.laws import Decision, Laws, Way
    from haloscope.predict.machine import Level, Machine
    from haloscope.predict.machine_files import load_machine, machines, save_fitted, write_machine
    from haloscope.predict.machine_page import write_machine_page
    from haloscope.predict.collective_model import ALGORITHMS, FORMULAS, algorithms_of, model
    from haloscope.predict.model_page import write_measured_page, write_page
    from haloscope.predict.prediction import (
        Chosen,
        choose,
        error_summary,
        error_table,
        errors,
        losses,
        predict,
    )
    from haloscope.predict.bench.foreign import read_imb, read_osu
    from haloscope.predict.bench.surroundings import noise
    from haloscope.predict.bench.sweep import Sweep

__all__ = [
    "ALGORITHMS",
    "FORMULAS",
    "Chosen",
    "Decision",
    "Estimate",
    "Kind",
    "Launch",
    "Laws",
    "Level",
    "Machine",
    "Measuring",
    "Sweep",
    "Way",
    "algorithms_of",
    "choose",
    "error_summary",
    "error_table",
    "errors",
    "few_calls",
    "fit_points",
    "kind_of",
    "load_machine",
    "losses",
    "machines",
    "measure_within",
    "model",
    "noise",
    "predict",
    "read_imb",
    "read_osu",
    "save_fitted",
    "write_machine",
    "write_machine_page",
    "write_measured_page",
    "write_page",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "ALGORITHMS": "_model",
            "Chosen": "_prediction",
            "Decision": "_laws",
            "Estimate": "_law",
            "FORMULAS": "_model",
            "Kind": "_kinds",
            "Launch": "_budget",
            "Laws": "_laws",
            "Level": "_machine",
            "kind_of": "_kinds",
            "Machine": "_machine",
            "Measuring": "_budget",
            "Sweep": "bench._sweep",
            "Way": "_laws",
            "algorithms_of": "_model",
            "choose": "_prediction",
            "error_summary": "_prediction",
            "error_table": "_prediction",
            "errors": "_prediction",
            "few_calls": "_budget",
            "fit_points": "_fitting",
            "load_machine": "_machine_files",
            "losses": "_prediction",
            "machines": "_machine_files",
            "measure_within": "_budget",
            "model": "_model",
            "noise": "bench._surroundings",
            "predict": "_prediction",
            "read_imb": "bench._foreign",
            "read_osu": "bench._foreign",
            "save_fitted": "_machine_files",
            "write_machine": "_machine_files",
            "write_machine_page": "_machine_page",
            "write_measured_page": "_model_page",
            "write_page": "_model_page",
        },
    )
