"""How functions that take long tell what they are doing: by functions that are handed to them.

The library prints nothing itself. The command line hands in its progress bar, and a function that prints
lines on standard error. By default nothing is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Remark = Callable[[str], None]
"""Called with one line of text that a person should read."""
Progress = Callable[[int], AbstractContextManager[Remark]]
"""Called with the number of steps; gives what to call at the begin of each step, with what it does."""


@contextmanager
def silent(_steps: int) -> Iterator[Remark]:
    """Show no progress."""
    yield unheard


def unheard(_text: str) -> None:
    """Ignore a text."""
