"""The version of this Haloscope."""

from __future__ import annotations

import os
import sys
from functools import cache

_PREFIX, _SUFFIX = "haloscope-", ".dist-info"


@cache
def own_version() -> str:
    """Return the installed version.

    It is in the name of a directory. `importlib.metadata` finds it there, too, but its import takes as long
    as all others of `haloscope run`.
    """
    for directory in sys.path:
        try:
            found = [
                name for name in os.listdir(directory) if name.startswith(_PREFIX) and name.endswith(_SUFFIX)
            ]
        except OSError:
            continue
        if len(found) == 1:
            return found[0][len(_PREFIX) : -len(_SUFFIX)]
    from importlib.metadata import version

    return version("haloscope")
