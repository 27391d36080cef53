"""Simulate: programs and the patterns of profiles on described networks, with SimGrid's SMPI."""

from haloscope.predict.simulate._loading import load_platform, platforms
from haloscope.predict.simulate._sensitivity import sensitivity
from haloscope.predict.simulate._works import what_if

__all__ = ["load_platform", "platforms", "sensitivity", "what_if"]
