"""Haloscope watches what the processes of an MPI program say to each other, and explains it.

What the verbs of the command line do, functions do here; names are looked up when they are used first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.base.errors import (
        ComponentError,
        HaloscopeError,
        LaunchError,
        MachineError,
        OutputError,
        ProfileError,
        RecorderError,
        SimulationError,
        TimingsError,
        UsageError,
    )
    from haloscope.explain import history, open, open_all, report
    from haloscope.explain.checking import check, learn_rules
    from haloscope.explain.comparing import compare
    from haloscope.explain.export import export
    from haloscope.explain.findings import findings
    from haloscope.markov import regimes
    from haloscope.hide import inject, place, stencil
    from haloscope.hide.improve import improve
    from haloscope.predict import model
    from haloscope.predict.bench import collective as bench_collective
    from haloscope.predict.bench import noise as bench_noise
    from haloscope.predict.bench import p2p as bench_p2p
    from haloscope.predict.bench import stencil as bench_stencil
    from haloscope.predict.placement import propose as propose_placement
    from haloscope.predict.simulate import simulate
    from haloscope.predict.tune import tune
    from haloscope.watch import comm_region, doctor, env, metadata, recover, region, run, top, value

    __version__: str

__all__ = [
    "ComponentError",
    "HaloscopeError",
    "LaunchError",
    "MachineError",
    "OutputError",
    "ProfileError",
    "RecorderError",
    "SimulationError",
    "TimingsError",
    "UsageError",
    "__version__",
    "bench_collective",
    "bench_noise",
    "bench_p2p",
    "bench_stencil",
    "check",
    "comm_region",
    "compare",
    "doctor",
    "env",
    "export",
    "findings",
    "history",
    "improve",
    "inject",
    "learn_rules",
    "metadata",
    "model",
    "open",
    "open_all",
    "place",
    "propose_placement",
    "recover",
    "regimes",
    "region",
    "report",
    "run",
    "simulate",
    "stencil",
    "top",
    "tune",
    "value",
]

if not TYPE_CHECKING:
    _look_up, __dir__ = lazily(
        __name__,
        {
            "ComponentError": "base.errors",
            "HaloscopeError": "base.errors",
            "LaunchError": "base.errors",
            "MachineError": "base.errors",
            "OutputError": "base.errors",
            "ProfileError": "base.errors",
            "RecorderError": "base.errors",
            "SimulationError": "base.errors",
            "TimingsError": "base.errors",
            "UsageError": "base.errors",
            "bench_collective": "predict.bench:collective",
            "bench_noise": "predict.bench:noise",
            "bench_p2p": "predict.bench:p2p",
            "bench_stencil": "predict.bench:stencil",
            "check": "explain.checking",
            "comm_region": "watch",
            "compare": "explain.comparing",
            "doctor": "watch",
            "env": "watch",
            "export": "explain.export",
            "findings": "explain.findings",
            "history": "explain",
            "improve": "hide.improve",
            "inject": "hide",
            "learn_rules": "explain.checking",
            "metadata": "watch",
            "model": "predict",
            "open": "explain",
            "open_all": "explain",
            "place": "hide",
            "propose_placement": "predict.placement:propose",
            "recover": "watch",
            "regimes": "explain.regimes",
            "region": "watch",
            "report": "explain",
            "run": "watch",
            "simulate": "predict.simulate",
            "stencil": "hide",
            "top": "watch",
            "tune": "predict.tune",
            "value": "watch",
        },
    )

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from haloscope.base.version import own_version

            return own_version()
        return _look_up(name)
