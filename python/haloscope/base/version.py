"""The version of this Haloscope."""

from __future__ import annotations

import os
import sys
from functools import cache

__all__ = ["own_version"]

_PREFIX, _SUFFIX = "haloscope-", ".dist-info"


@cache
def own_version() -> str:
    """Return it as it was installed.

    That is in the name of a directory: `importlib.metadata` finds the same there, but loads as much for
    that as all of `haloscope run` needs.
    """
    for place in sys.path:
        try:
            found = [
                name for name in os.listdir(place) if name.startswith(_PREFIX) and name.endswith(_SUFFIX)
            ]
        except OSError:
            continue
        if len(found) == 1:
            return found[0][len(_PREFIX) : -len(_SUFFIX)]
    from importlib.metadata import version

    return version("haloscope")
