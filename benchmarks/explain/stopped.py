"""Run one rank that is stopped for a part of the time, as on a slow host: stopped.py PROGRAM ARGUMENT..."""

from __future__ import annotations

import os
import signal
import sys
import time

STOPPED = "REPEATS_STOPPED"  # environment variable with the part of the time, from 0 to 1
TURN = 0.02  # seconds


def _before(rank: int) -> None:
    """Give this process priority over `rank`, if that has real-time priority."""
    policy, priority = os.sched_getscheduler(rank), os.sched_getparam(rank).sched_priority
    if priority > 0:
        os.sched_setscheduler(0, policy, os.sched_param(priority + 1))


def stop_and_go(words: list[str]) -> int:
    """Run one rank, stop it periodically, and return its exit status."""
    part = float(os.environ[STOPPED])
    rank = os.posix_spawn(words[0], words, os.environ)
    _before(rank)
    while True:
        time.sleep(TURN * (1 - part))
        done, status = os.waitpid(rank, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if part > 0:
            os.kill(rank, signal.SIGSTOP)
            time.sleep(TURN * part)
            os.kill(rank, signal.SIGCONT)


if __name__ == "__main__":
    sys.exit(stop_and_go(sys.argv[1:]))
