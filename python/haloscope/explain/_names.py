r"""Names of regions in paths, and how people see them.

A path joins names by `/`. So that no two regions have one path, a backslash stands in a name before
each `/` and `\`, and before `<program>`, which is the root's name alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from haloscope.base.errors import printable, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PROGRAM", "escaped", "joined", "parts", "region_text"]

PROGRAM = "<program>"
# Of a region's name or path, in tables and sentences.
_MOST_SHOWN = 160


def escaped(name: str) -> str:
    """Return a region's name as it stands in paths."""
    return rf"\{name}" if name == PROGRAM else re.sub(r"([/\\])", r"\\\1", name)


def joined(names: Sequence[str]) -> str:
    """Return the path of a region, given the names on the way to it below the program."""
    return "/".join(map(escaped, names)) if names else PROGRAM


def parts(path: str) -> list[str]:
    """Return the names that `joined` made `path` of."""
    if path == PROGRAM:
        return []
    found = re.findall(r"(?:^|/)((?:[^/\\]|\\.)*)", path, re.DOTALL)
    return [re.sub(r"\\(.)", r"\1", name, flags=re.DOTALL) for name in found]


def region_text(name: str) -> str:
    """Return a name or path as people see it: on one line, the middle of a long one left out."""
    return printable(shortened(name, _MOST_SHOWN))
