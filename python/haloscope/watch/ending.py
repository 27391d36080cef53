"""The calls of a program's ranks when it ended, and whether they could not go on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from haloscope.base.errors import shorten_text
from haloscope.watch.live import Process, Thread, snapshot
from haloscope.watch.recorder import Builds, Recorder
from haloscope.watch.roll_call import roll_call

_LONGEST = 2000
# A rank that went on until its end may be in a call, too. Only one that had lasted this long counts as a call
# that does not return: seconds, and a multiple of the rank's usual time per message or collective.
_LASTING = 3.0
_TIMES_USUAL = 10.0


def describe_ending(
    places: Sequence[Path], recorder: Recorder, world: str, ended: float | None = None
) -> str:
    """Return one line on the calls of ranks that did not reach MPI_Finalize; '' if all did.

    It begins with the reason why they could not go on, if that is certain. A rank that died first cannot be
    distinguished from ranks that were killed for it, so none is called dead.

    Args:
        places: Directories with records.
        recorder: The build that reads them.
        world: Identity of the `MPI_COMM_WORLD`.
        ended: When the program ended, on the clock of `time.monotonic`. Without it the duration of calls is
            unknown, and no reason is given.
    """
    seen = snapshot(places, Builds([recorder])).select_world(world).processes
    return end_text(seen, None if ended is None else time.monotonic() - ended)


def end_text(processes: Sequence[Process], passed: float | None) -> str:
    """Return `describe_ending` of processes that ended `passed` seconds ago; None is unknown."""
    watched = [process for process in processes if process.watched]
    if all(process.finalized for process in watched):
        return ""
    left = [_forget_durations(process) for process in watched]
    text = "; ".join(roll_call((), left).groups)
    if passed is not None:
        verdict = roll_call([_look_earlier(process, passed) for process in watched], left).verdict
        text = f"{verdict.text}: {text}" if verdict.is_hang else text
    return shorten_text(text, _LONGEST)


def _look_earlier(process: Process, passed: float) -> Process:
    """Return a process as it was before its end, at least `_LASTING` seconds: what is newer is marked so.

    `passed` are the seconds since its end.
    """
    lasting = max(_LASTING, _TIMES_USUAL * _usual_time(process))
    threads = [
        thread if _duration(thread) - passed >= lasting else replace(thread, mark=-1)
        for thread in process.threads
    ]
    return replace(process, threads=tuple(threads))


def _duration(thread: Thread) -> float:
    """Return the seconds since a thread's last event; 0 if they are unknown."""
    since = thread.call.since if thread.call else thread.idle
    return since or 0.0


def _usual_time(process: Process) -> float:
    """Return a rank's mean time in MPI per message or collective, without the calls that are open."""
    sums = process.sums
    is_open = sum(_duration(thread) for thread in process.threads if thread.call)
    return max(sums.mpi_time - is_open, 0.0) / max(sums.sends + sums.recvs + sums.colls, 1)


def _forget_durations(process: Process) -> Process:
    """Return a process without durations of calls, which are unknown if the process is gone."""
    if process.state != "dead":
        return process
    threads = [
        replace(thread, idle=None, call=thread.call and replace(thread.call, since=None))
        for thread in process.threads
    ]
    return replace(process, state="", threads=tuple(threads))
