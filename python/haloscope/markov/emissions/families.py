"""The distributions of times in a regime, by name."""

from __future__ import annotations

from haloscope.base.errors import UsageError
from haloscope.markov.emissions.emission import Emission, Gaussian, LogNormal
from haloscope.markov.emissions.gamma import Gamma
from haloscope.markov.emissions.student import Student

FAMILIES: dict[str, type[Emission]] = {kind.name: kind for kind in (Gaussian, LogNormal, Gamma, Student)}


def family(name: str) -> type[Emission]:
    """Return the class of the family called `name`. Raises `UsageError` if there is none."""
    if name not in FAMILIES:
        raise UsageError(f"emission {name!r} is none of {', '.join(FAMILIES)}")
    return FAMILIES[name]
