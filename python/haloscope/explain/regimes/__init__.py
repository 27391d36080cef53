"""Regimes: hidden Markov models of timings, separating what the program does from its machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.regimes._algorithm import Regimes, find_regimes, representative
    from haloscope.explain.regimes._analysis import Analysis, Options, analyse
    from haloscope.explain.regimes._claims import Method as ClaimMethod
    from haloscope.explain.regimes._claims import claims
    from haloscope.explain.regimes._intervals import Intervals
    from haloscope.explain.regimes._machine import MachineModel, MachineStates
    from haloscope.explain.regimes._model import RegimeModel
    from haloscope.explain.regimes._reading import read_timings
    from haloscope.explain.regimes._regimes_page import write_regimes_page
    from haloscope.explain.regimes._results import FASTER, Results, results_of, tests_told, told
    from haloscope.explain.regimes._saved import PARAMETERS
    from haloscope.explain.regimes._saved import read as read_model
    from haloscope.explain.regimes._selection import Criterion, Selection, select
    from haloscope.explain.regimes._timings import Timings
    from haloscope.explain.regimes._view import Decoded, View

__all__ = [
    "FASTER",
    "PARAMETERS",
    "Analysis",
    "ClaimMethod",
    "Criterion",
    "Decoded",
    "Intervals",
    "MachineModel",
    "MachineStates",
    "Options",
    "RegimeModel",
    "Regimes",
    "Results",
    "Selection",
    "Timings",
    "View",
    "analyse",
    "claims",
    "find_regimes",
    "read_model",
    "read_timings",
    "representative",
    "results_of",
    "select",
    "tests_told",
    "told",
    "write_regimes_page",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Analysis": "_analysis",
            "ClaimMethod": "_claims:Method",
            "Criterion": "_selection",
            "Decoded": "_view",
            "FASTER": "_results",
            "Intervals": "_intervals",
            "MachineModel": "_machine",
            "MachineStates": "_machine",
            "Options": "_analysis",
            "PARAMETERS": "_saved",
            "RegimeModel": "_model",
            "Regimes": "_algorithm",
            "Results": "_results",
            "Selection": "_selection",
            "Timings": "_timings",
            "View": "_view",
            "analyse": "_analysis",
            "claims": "_claims",
            "find_regimes": "_algorithm",
            "read_model": "_saved:read",
            "read_timings": "_reading",
            "representative": "_algorithm",
            "results_of": "_results",
            "select": "_selection",
            "tests_told": "_results",
            "told": "_results",
            "write_regimes_page": "_regimes_page",
        },
    )
