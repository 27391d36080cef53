"""Regimes: hidden Markov models of timings, separating what the program does from its machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.explain.regimes._analysis import (
        Analysis,
        Decoded,
        Options,
        Regimes,
        View,
        analyse,
        find_regimes,
        representative,
    )
    from haloscope.explain.regimes._reading import read_timings
    from haloscope.explain.regimes._regimes import regimes
    from haloscope.explain.regimes._results import Method as ClaimMethod
    from haloscope.explain.regimes._results import Results, claims
    from haloscope.explain.regimes._timings import Reduction, Timings
    from haloscope.explain.regimes.fitting._intervals import Intervals
    from haloscope.explain.regimes.fitting._regime_model import Criterion, RegimeModel, Selection, select
    from haloscope.explain.regimes.fitting._saved import PARAMETERS
    from haloscope.explain.regimes.fitting._saved import read as read_model
    from haloscope.explain.regimes.fitting._whole_machine import MachineModel, MachineStates

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
