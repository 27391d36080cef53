"""How long an instance lasts in each regime: the families of distributions, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.errors import UsageError
from haloscope.explain.regimes.emissions._emissions import Gaussian, LogNormal
from haloscope.explain.regimes.emissions._gamma import Gamma
from haloscope.explain.regimes.emissions._student import Student

if TYPE_CHECKING:
    from haloscope.explain.regimes.emissions._emissions import Emission

__all__ = ["FAMILIES", "family"]

FAMILIES: dict[str, type[Emission]] = {kind.name: kind for kind in (Gaussian, LogNormal, Gamma, Student)}


def family(name: str) -> type[Emission]:
    """Return the class of the family called `name`. Raises `UsageError` if there is none."""
    if name not in FAMILIES:
        raise UsageError(f"emission {name!r} is none of {', '.join(FAMILIES)}")
    return FAMILIES[name]
