"""Turns of tests that run at the same time: one that measures time runs alone."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["turn"]


@contextmanager
def turn(session: str, alone: bool) -> Iterator[None]:
    """Waits until this test may run beside those of the same session, or `alone`."""
    base = Path(tempfile.gettempdir()) / f"haloscope-tests-{session}"
    with _opened(base, ".queue") as queue, _opened(base, ".running") as running:
        # Who waits to be alone stays at the head of the queue: others do not overtake for ever.
        fcntl.flock(queue, fcntl.LOCK_EX)
        fcntl.flock(running, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(queue, fcntl.LOCK_UN)
        yield


@contextmanager
def _opened(base: Path, suffix: str) -> Iterator[int]:
    # Closed on exec: a process that a test left behind holds no turn.
    descriptor = os.open(base.with_suffix(suffix), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
