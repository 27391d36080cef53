"""Watching programs: markers for Python programs, and what starts a program under the recorder.

The markers are all that a watched program needs; the rest is for the commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.watch._doctor import Finding, examine
    from haloscope.watch._markers import comm_region, region, value
    from haloscope.watch._outputs import Output, expand
    from haloscope.watch._recorder import Recorder, build_recorder
    from haloscope.watch._recover import Recovery, recover
    from haloscope.watch._run import exports, run
    from haloscope.watch._settings import SETTINGS

__all__ = [
    "SETTINGS",
    "Finding",
    "Output",
    "Recorder",
    "Recovery",
    "build_recorder",
    "comm_region",
    "examine",
    "expand",
    "exports",
    "recover",
    "region",
    "run",
    "value",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Finding": "_doctor",
            "Output": "_outputs",
            "Recorder": "_recorder",
            "Recovery": "_recover",
            "SETTINGS": "_settings",
            "build_recorder": "_recorder",
            "comm_region": "_markers",
            "examine": "_doctor",
            "expand": "_outputs",
            "exports": "_run",
            "recover": "_recover",
            "region": "_markers",
            "run": "_run",
            "value": "_markers",
        },
    )
