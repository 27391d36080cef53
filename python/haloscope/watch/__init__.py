"""Profiling programs: markers for Python programs, and functions that start a program under the recorder.

A profiled program needs the markers only; the commands use the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.watch.always_on import always as always
    from haloscope.watch.diagnosis import DoctorCheck as DoctorCheck
    from haloscope.watch.diagnosis import doctor as doctor
    from haloscope.watch.hangs import Told as Told
    from haloscope.watch.hangs import roll_calls as roll_calls
    from haloscope.watch.hangs import stack_lines as stack_lines
    from haloscope.watch.markers import comm_region as comm_region
    from haloscope.watch.markers import metadata as metadata
    from haloscope.watch.markers import region as region
    from haloscope.watch.markers import value as value
    from haloscope.watch.monitor import Looking as Looking
    from haloscope.watch.monitor import dump as dump
    from haloscope.watch.monitor import top as top
    from haloscope.watch.monitor import unread_text as unread_text
    from haloscope.watch.outputs import Output as Output
    from haloscope.watch.outputs import expand as expand
    from haloscope.watch.prometheus import exposition as exposition
    from haloscope.watch.prometheus import write_exposition as write_exposition
    from haloscope.watch.rates import RankNow as RankNow
    from haloscope.watch.rates import RunningProgram as RunningProgram
    from haloscope.watch.recorded_run import env as env
    from haloscope.watch.recorded_run import run as run
    from haloscope.watch.recorder import Recorder as Recorder
    from haloscope.watch.recorder import build_recorder as build_recorder
    from haloscope.watch.recorder import recorder_sources as recorder_sources
    from haloscope.watch.recorder_settings import PASSED_ON as PASSED_ON
    from haloscope.watch.recorder_settings import SETTINGS as SETTINGS
    from haloscope.watch.recorder_settings import Recording as Recording
    from haloscope.watch.recovery import Recovery as Recovery
    from haloscope.watch.recovery import recover as recover
    from haloscope.watch.thread_stacks import StackFrame as StackFrame
    from haloscope.watch.thread_stacks import plain as plain

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
