"""Watching programs: markers for Python programs, and what starts a program under the recorder.

The markers are all that a watched program needs; the rest is for the commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.watch.always_on import always
    from haloscope.watch.diagnosis import Finding, doctor
    from haloscope.watch.hangs import Told, roll_calls, stack_lines
    from haloscope.watch.markers import comm_region, metadata, region, value
    from haloscope.watch.outputs import Output, expand
    from haloscope.watch.prometheus import exposition, write_exposition
    from haloscope.watch.rates import RankNow, Running
    from haloscope.watch.recorder import Recorder, build_recorder, recorder_sources
    from haloscope.watch.recovery import Recovery, recover
    from haloscope.watch.recorded_run import env, run
    from haloscope.watch.recorder_settings import PASSED_ON, SETTINGS, Recording
    from haloscope.watch.thread_stacks import Frame, plain
    from haloscope.watch.monitor import Looking, dump, top, unread_text

__all__ = [
    "PASSED_ON",
    "SETTINGS",
    "Finding",
    "Frame",
    "Looking",
    "Output",
    "RankNow",
    "Recorder",
    "Recording",
    "Recovery",
    "Running",
    "Told",
    "always",
    "build_recorder",
    "comm_region",
    "doctor",
    "dump",
    "env",
    "expand",
    "exposition",
    "metadata",
    "plain",
    "recorder_sources",
    "recover",
    "region",
    "roll_calls",
    "run",
    "stack_lines",
    "top",
    "unread_text",
    "value",
    "write_exposition",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Finding": "_doctor",
            "Output": "_outputs",
            "Recorder": "_recorder",
            "Recovery": "_recover",
            "PASSED_ON": "_settings",
            "Recording": "_settings",
            "SETTINGS": "_settings",
            "always": "_always",
            "build_recorder": "_recorder",
            "comm_region": "_markers",
            "doctor": "_doctor",
            "expand": "_outputs",
            "metadata": "_markers",
            "env": "_run",
            "recorder_sources": "_recorder",
            "recover": "_recover",
            "region": "_markers",
            "run": "_run",
            "value": "_markers",
            "Frame": "_stacks",
            "Looking": "_top",
            "RankNow": "_rates",
            "Running": "_rates",
            "Told": "_hangs",
            "dump": "_top",
            "exposition": "_prometheus",
            "plain": "_stacks",
            "roll_calls": "_hangs",
            "stack_lines": "_hangs",
            "top": "_top",
            "unread_text": "_top",
            "write_exposition": "_prometheus",
        },
    )
