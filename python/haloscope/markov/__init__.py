"""Regimes: hidden Markov models of timings, separating what the program does from its machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.markov.analysis import (
        Analysis,
        Decoded,
        Options,
        Regimes,
        View,
        analyse,
        find_regimes,
        representative,
    )
    from haloscope.markov.reading import read_timings
    from haloscope.markov.regime_report import regimes
    from haloscope.markov.results import Method as ClaimMethod
    from haloscope.markov.results import Results, claims
    from haloscope.markov.timings import Reduction, Timings
    from haloscope.markov.fitting.intervals import Intervals
    from haloscope.markov.fitting.regime_model import Criterion, RegimeModel, Selection, select
    from haloscope.markov.fitting.saved import PARAMETERS
    from haloscope.markov.fitting.saved import read as read_model
    from haloscope.markov.fitting.whole_machine import MachineModel, MachineStates

__all__ = [
    "PARAMETERS",
    "Analysis",
    "ClaimMethod",
    "Criterion",
    "Decoded",
    "Intervals",
    "MachineModel",
    "MachineStates",
    "Options",
    "Reduction",
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
    "regimes",
    "representative",
    "select",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Analysis": "_analysis",
            "ClaimMethod": "_results:Method",
            "Criterion": "fitting._regime_model",
            "Decoded": "_analysis",
            "Intervals": "fitting._intervals",
            "MachineModel": "fitting._whole_machine",
            "MachineStates": "fitting._whole_machine",
            "Options": "_analysis",
            "PARAMETERS": "fitting._saved",
            "Reduction": "_timings",
            "RegimeModel": "fitting._regime_model",
            "Regimes": "_analysis",
            "Results": "_results",
            "Selection": "fitting._regime_model",
            "Timings": "_timings",
            "View": "_analysis",
            "analyse": "_analysis",
            "claims": "_results",
            "find_regimes": "_analysis",
            "read_model": "fitting._saved:read",
            "read_timings": "_reading",
            "regimes": "_regimes",
            "representative": "_analysis",
            "select": "fitting._regime_model",
        },
    )
