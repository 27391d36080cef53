"""Regimes: hidden Markov models of timings, separating what the program does from its machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.markov.analysis import Decoded as Decoded
    from haloscope.markov.analysis import RegimeAnalysis as RegimeAnalysis
    from haloscope.markov.analysis import RegimeOptions as RegimeOptions
    from haloscope.markov.analysis import Regimes as Regimes
    from haloscope.markov.analysis import RunTimings as RunTimings
    from haloscope.markov.analysis import analyse as analyse
    from haloscope.markov.analysis import find_regimes as find_regimes
    from haloscope.markov.analysis import representative as representative
    from haloscope.markov.fitting.intervals import Intervals as Intervals
    from haloscope.markov.fitting.regime_model import Criterion as Criterion
    from haloscope.markov.fitting.regime_model import RegimeModel as RegimeModel
    from haloscope.markov.fitting.regime_model import Selection as Selection
    from haloscope.markov.fitting.regime_model import select as select
    from haloscope.markov.fitting.saved import PARAMETERS as PARAMETERS
    from haloscope.markov.fitting.saved import read_model as read_model
    from haloscope.markov.fitting.whole_machine import MachineModel as MachineModel
    from haloscope.markov.fitting.whole_machine import MachineStates as MachineStates
    from haloscope.markov.latency import Event as Event
    from haloscope.markov.latency import InjectionPlan as InjectionPlan
    from haloscope.markov.latency import LatencyModel as LatencyModel
    from haloscope.markov.latency import parse_seconds as parse_seconds
    from haloscope.markov.latency import read_latencies as read_latencies
    from haloscope.markov.latency import read_latency as read_latency
    from haloscope.markov.profile_series import series_of as series_of
    from haloscope.markov.reading import read_timings as read_timings
    from haloscope.markov.regime_report import regimes as regimes
    from haloscope.markov.regimes_shown import REGIMES_TABLE as REGIMES_TABLE
    from haloscope.markov.results import Claim as Claim
    from haloscope.markov.results import ClaimMethod as ClaimMethod
    from haloscope.markov.results import Results as Results
    from haloscope.markov.results import claims as claims
    from haloscope.markov.timings import Reduction as Reduction
    from haloscope.markov.timings import Timings as Timings

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
