"""The families of emissions by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.errors import UsageError
from haloscope.explain.regimes._emissions import Gaussian, LogNormal
from haloscope.explain.regimes._gamma import Gamma
from haloscope.explain.regimes._student import Student

if TYPE_CHECKING:
    from haloscope.explain.regimes._emissions import Emission

__all__ = ["FAMILIES", "family"]

FAMILIES: dict[str, type[Emission]] = {
    kind.name: kind for kind in (Gaussian, LogNormal, Gamma, Student)
}


def family(name: str) -> type[Emission]:
    """The class that goes by that name. Raises `UsageError`."""
    if name not in FAMILIES:
        raise UsageError(f"emission {name!r} is none of {', '.join(FAMILIES)}")
    return FAMILIES[name]
