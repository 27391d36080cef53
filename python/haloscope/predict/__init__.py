"""Predict: what collectives take on a machine, from a model of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.predict._budget import Launch, Measuring, few_calls, measure_within
    from haloscope.predict._fitting import fit_points
    from haloscope.predict._kinds import Kind, kind_of
    from haloscope.predict._law import Estimate
    from haloscope.predict._laws import Decision, Laws, Way
    from haloscope.predict._machine import Level, Machine
    from haloscope.predict._machine_files import load_machine, machines, save_fitted, write_machine
    from haloscope.predict._machine_page import write_machine_page
    from haloscope.predict._model import ALGORITHMS, FORMULAS, algorithms_of, model
    from haloscope.predict._model_page import write_measured_page, write_page
    from haloscope.predict._prediction import (
        Chosen,
        choose,
        error_summary,
        error_table,
        errors,
        losses,
        predict,
    )
    from haloscope.predict.bench._foreign import read_imb, read_osu
    from haloscope.predict.bench._surroundings import noise
    from haloscope.predict.bench._sweep import Sweep

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
