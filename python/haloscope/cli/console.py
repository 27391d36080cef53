"""Output of the command on standard error: remarks, and a progress bar."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO

import click

from haloscope.base.errors import printable

_PATIENCE = 2.0  # seconds
_WIDTH = 80  # of a terminal that does not know it
_INDENT = 4 * " "


def say(text: str) -> None:
    """Print one line. A standard error that is closed must not change the exit status."""
    with contextlib.suppress(OSError):
        click.echo(f"haloscope: {printable(' '.join(text.split()))}", err=True)


def say_remarks(remarks: Iterable[str]) -> None:
    """Print remarks on a run. Their spaces are kept, as they may be those of a path."""
    for remark in remarks:
        with contextlib.suppress(OSError):
            click.echo(f"haloscope: {printable(remark)}", err=True)


def say_lines(lines: Iterable[str]) -> None:
    """Print lines on standard error."""
    with contextlib.suppress(OSError):
        click.echo(fit_lines(lines, sys.stderr), err=True)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines on standard output."""
    click.echo(fit_lines(lines, sys.stdout))


def fit_lines(lines: Iterable[str], stream: TextIO) -> str:
    """Return a text of lines, which are folded at the width of a terminal; elsewhere they stay whole.

    Lines that are a command to copy also stay whole.
    """
    try:
        width = os.get_terminal_size(stream.fileno()).columns or _WIDTH if stream.isatty() else 0
    except (OSError, ValueError):
        width = 0
    if not width:
        return "\n".join(lines)
    lines = [part for line in lines for part in _fold(line, max(width, 2 * len(_INDENT)))]
    return "\n".join(lines)


def _fold(line: str, width: int) -> list[str]:
    if line.lstrip().startswith("look: "):
        return [line]
    from textwrap import wrap

    indent = line[: len(line) - len(line.lstrip())] + _INDENT
    folded = wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return folded or [""]


@contextmanager
def progress(steps: int) -> Iterator[Callable[[str], None]]:
    """Yield a function to call at the begin of each of the steps, with a text about the step.

    It draws a bar on a terminal if all takes more than two seconds.
    """
    # What can't move its cursor would keep every bar that was drawn.
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") in {"dumb", "unknown"}:
        yield lambda what: None
        return
    from threading import Timer

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
