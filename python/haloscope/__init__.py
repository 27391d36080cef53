"""Haloscope watches what the processes of an MPI program say to each other, and explains it."""

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
    from haloscope.explain import open, open_all
    from haloscope.watch import comm_region, doctor, env, recover, region, run, value

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
    "comm_region",
    "doctor",
    "env",
    "open",
    "open_all",
    "recover",
    "region",
    "run",
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
            "comm_region": "watch",
            "doctor": "watch",
            "env": "watch",
            "open": "explain",
            "open_all": "explain",
            "recover": "watch",
            "region": "watch",
            "run": "watch",
            "value": "watch",
        },
    )

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            return version("haloscope")
        return _look_up(name)
