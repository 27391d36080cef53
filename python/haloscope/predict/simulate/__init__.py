"""Simulate: programs and patterns of profiles on described networks, with SimGrid's SMPI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.predict.simulate.change import Change as Change
    from haloscope.predict.simulate.description import name_hosts as name_hosts
    from haloscope.predict.simulate.library import SmpiLibrary as SmpiLibrary
    from haloscope.predict.simulate.platform import load_platform as load_platform
    from haloscope.predict.simulate.platform import platforms as platforms
    from haloscope.predict.simulate.scaled_work import PREDICTION_TABLE as PREDICTION_TABLE
    from haloscope.predict.simulate.simgrid import find_smpirun as find_smpirun
    from haloscope.predict.simulate.simulation import Simulation as Simulation
    from haloscope.predict.simulate.simulation import is_profile as is_profile
    from haloscope.predict.simulate.simulation import simulate as simulate
    from haloscope.predict.simulate.works import SENSITIVITY_TABLE as SENSITIVITY_TABLE
    from haloscope.predict.simulate.works import ProfileWork as ProfileWork

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
