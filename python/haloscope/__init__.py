"""Haloscope watches what the processes of an MPI program say to each other, and explains it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from haloscope.explain import open, open_all
    from haloscope.watch import comm_region, region, value

    __version__: str

__all__ = ["__version__", "comm_region", "open", "open_all", "region", "value"]

# Looked up on first use: a marked program must not pay for reading tables.
_HOMES = {
    "comm_region": "haloscope.watch",
    "open": "haloscope.explain",
    "open_all": "haloscope.explain",
    "region": "haloscope.watch",
    "value": "haloscope.watch",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("haloscope")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'haloscope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
