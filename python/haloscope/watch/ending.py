"""The calls of a program's ranks when it ended, or was looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from haloscope.base.errors import shorten_text
from haloscope.watch.live import Process, snapshot
from haloscope.watch.recorder import Builds, Recorder
from haloscope.watch.roll_call import roll_call

_LONGEST = 2000


def describe_ending(places: Sequence[Path], recorder: Recorder, world: str) -> str:
    """Return one line on the calls of ranks that did not reach MPI_Finalize; '' if all did.

    A rank that died first cannot be distinguished from ranks that were killed for it, so none is called dead.
    """
    seen = snapshot(places, Builds([recorder])).select_world(world).processes
    left = [_forget_durations(process) for process in seen if process.watched]
    if all(process.finalized for process in left):
        return ""
    called = roll_call((), left)
    first = f"{called.verdict.text}: " if called.verdict.is_hang else ""
    return shorten_text(first + "; ".join(called.groups), _LONGEST)


def _forget_durations(process: Process) -> Process:
    """Return a process without durations of calls, which are unknown if the process is gone."""
    if process.state != "dead":
        return process
    threads = [
        replace(thread, idle=None, call=thread.call and replace(thread.call, since=None))
        for thread in process.threads
    ]
    return replace(process, state="", threads=tuple(threads))
