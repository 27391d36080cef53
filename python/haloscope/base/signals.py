"""Handlers for signals that end this process. A signal that the caller ignores stays ignored."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


def is_ignored(number: signal.Signals) -> bool:
    """Return whether this process ignores a signal, such as SIGHUP under `nohup`."""
    return signal.getsignal(number) == signal.SIG_IGN


@contextmanager
def handle_signal(
    number: signal.Signals, handler: Callable[[int, FrameType | None], object]
) -> Iterator[None]:
    """Let a signal call `handler` during the block, unless it is ignored. Works in the main thread only."""
    if threading.current_thread() is not threading.main_thread() or is_ignored(number):
        yield
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)
