"""A progress bar on a terminal, for what takes over two seconds; else nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

__all__ = ["progress"]

_PATIENCE = 2.0  # seconds


@contextmanager
def progress(steps: int) -> Iterator[Callable[[str], None]]:
    """Yield what to call at the begin of each of so many steps, with what it does."""
    # What can't move its cursor would keep every bar that was drawn.
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") in {"dumb", "unknown"}:
        yield lambda what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=steps)
    begun = Timer(_PATIENCE, bar.start)
    begun.daemon = True
    begun.start()
    done = 0

    def step(what: str) -> None:
        nonlocal done
        bar.update(task, completed=done, description=what)
        done += 1

    try:
        yield step
    finally:
        begun.cancel()
        begun.join()
        bar.stop()
