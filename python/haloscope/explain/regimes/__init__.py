"""Regimes: hidden Markov models of timings, separating what the program does from its machine."""

from __future__ import annotations

from haloscope.explain.regimes._algorithm import Regimes, find_regimes, representative
from haloscope.explain.regimes._intervals import Intervals
from haloscope.explain.regimes._machine import MachineModel, MachineStates
from haloscope.explain.regimes._model import RegimeModel
from haloscope.explain.regimes._reading import read_timings
from haloscope.explain.regimes._selection import Selection, select
from haloscope.explain.regimes._timings import Timings

__all__ = [
    "Intervals",
    "MachineModel",
    "MachineStates",
    "RegimeModel",
    "Regimes",
    "Selection",
    "Timings",
    "find_regimes",
    "read_timings",
    "representative",
    "select",
]
