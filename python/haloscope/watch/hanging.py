"""`run --hang-after`: looks at a program from time to time, and reports once if it hangs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from haloscope.base.errors import printable
from haloscope.watch.live import Process, Snapshot, snapshot
from haloscope.watch.recorder import Builds, Recorder
from haloscope.watch.roll_call import RollCall, roll_call

_LEAST, _MOST = 0.25, 5.0  # seconds between two looks
_BUSY = 0.1  # of a core; a rank that uses less does not compute


def print_hang(text: str) -> None:
    """Print the hang report of a program on standard error."""
    for line in text.splitlines():
        print(f"haloscope: {printable(line)}", file=sys.stderr, flush=True)


class Hanging:
    """Finds worlds of one run on this node that hang.

    A world hangs if a rank waits in MPI, and for `seconds` no rank has left its call or its region, polled,
    computed, wanted a core outside MPI or ended. Each hang is reported once.
    """

    def __init__(
        self,
        places: Callable[[], Sequence[Path]],
        recorder: Recorder,
        seconds: float,
        tell: Callable[[str], None] = print_hang,
    ) -> None:
        self.every = min(max(seconds / 10, _LEAST), _MOST)
        self._places, self._builds = places, Builds([recorder])
        self._seconds, self._tell = seconds, tell
        self._last = Snapshot()
        self._since: dict[str, float] = {}  # the last time at which a world made progress
        self._told: set[str] = set()

    def look(self) -> None:
        """Look once, and report worlds that hang. An error here must not affect the program."""
        with suppress(Exception):
            self._look()

    def _look(self) -> None:
        now = self._snapshot()
        moment = time.monotonic()
        before = self._last.worlds()
        for world, processes in now.worlds().items():
            earlier = before.get(world, [])
            seconds = now.moment - self._last.moment
            if has_progress(earlier, processes, seconds) or world not in self._since:
                self._since[world] = moment
                self._told.discard(world)
            elif moment - self._since[world] >= self._seconds and world not in self._told:
                self._told.add(world)
                self._report(earlier, world, moment - self._since[world])
        self._last = now

    def _snapshot(self, partners: bool = False) -> Snapshot:
        return snapshot(self._places(), self._builds, partners=partners)

    def _report(self, before: Sequence[Process], world: str, seconds: float) -> None:
        after = self._snapshot(partners=True).worlds().get(world, [])
        called: RollCall = roll_call(before, after)
        name = after[0].program if after else "the program"
        self._tell(f"{name}: no progress for {seconds:.0f} s: {called.text}")


def has_progress(before: Sequence[Process], after: Sequence[Process], seconds: float) -> bool:
    """Return whether a rank of a world made progress between two looks, or none waits in MPI."""
    earlier = {process.path: process for process in before}
    alive = [process for process in after if process.state != "dead" and not process.finalized]
    if not any(process.main.call for process in alive):
        return True
    # A launcher that ends its ranks, as at a time limit, does so one after another.
    if any(_has_ended(earlier.get(process.path), process) for process in after):
        return True
    return len(before) != len(after) or any(
        _is_active(earlier.get(process.path), process, seconds) for process in alive
    )


def _has_ended(before: Process | None, after: Process) -> bool:
    return before is not None and (after.state == "dead") > (before.state == "dead")


def _is_active(before: Process | None, after: Process, seconds: float) -> bool:
    if before is None or _mark(before) != _mark(after):
        return True
    if after.main.call is not None:
        return False
    # A rank that wants a core and gets none, because other processes have them, computes, too.
    return after.state == "running" or after.cpu - before.cpu > _BUSY * seconds


def _mark(process: Process) -> tuple[object, ...]:
    return tuple(
        (
            thread.mark,
            thread.region,
            thread.call and (thread.call.function, thread.call.mark),
            thread.sums.polls,
        )
        for thread in process.threads
    )
