"""Regimes: hidden Markov models of timings, separating what the program does from its machine."""

from __future__ import annotations

from haloscope.explain.regimes._algorithm import Regimes, find_regimes, representative
from haloscope.explain.regimes._model import RegimeModel
from haloscope.explain.regimes._reading import read_timings
from haloscope.explain.regimes._timings import Timings

__all__ = [
    "RegimeModel",
    "Regimes",
    "Timings",
    "find_regimes",
    "read_timings",
    "representative",
]
