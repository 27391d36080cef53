"""Progress of long functions, reported by callbacks.

The library prints nothing itself. The command line passes a progress bar, and a function that prints lines on
standard error. By default nothing is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Remark = Callable[[str], None]
"""Called with one line of text for the user."""
Progress = Callable[[int], AbstractContextManager[Remark]]
"""Called with the number of steps.

Returns a function to call at the begin of each step with its description.
"""


@contextmanager
def show_no_progress(_steps: int) -> Iterator[Remark]:
    """Show no progress."""
    yield ignore_text


def ignore_text(_text: str) -> None:
    """Ignore a text."""
