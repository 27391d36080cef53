"""Simulate: programs and the patterns of profiles on described networks, with SimGrid's SMPI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.predict.simulate.description import Change, host_names
    from haloscope.predict.simulate.library import SmpiLibrary
    from haloscope.predict.simulate.platform import load_platform, platforms
    from haloscope.predict.simulate.running import Options
    from haloscope.predict.simulate.simgrid import smpirun
    from haloscope.predict.simulate.simulation import Simulation, is_profile, simulate
    from haloscope.predict.simulate.works import (
        ProfileWork,
        ProgramWork,
        TraceWork,
        Work,
        sensitivity,
        what_if,
    )

__all__ = [
    "Change",
    "Options",
    "ProfileWork",
    "ProgramWork",
    "Simulation",
    "SmpiLibrary",
    "TraceWork",
    "Work",
    "host_names",
    "is_profile",
    "load_platform",
    "platforms",
    "sensitivity",
    "simulate",
    "smpirun",
    "what_if",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Change": "_description",
            "Options": "_running",
            "ProfileWork": "_works",
            "ProgramWork": "_works",
            "SmpiLibrary": "_library",
            "TraceWork": "_works",
            "Work": "_works",
            "host_names": "_description",
            "load_platform": "_platform",
            "platforms": "_platform",
            "Simulation": "_simulation",
            "sensitivity": "_works",
            "is_profile": "_simulation",
            "simulate": "_simulation",
            "smpirun": "_simgrid",
            "what_if": "_works",
        },
    )
