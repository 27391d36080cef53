"""The tables by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.errors import UsageError
from haloscope.explain._info import info
from haloscope.explain._ranks import ranks
from haloscope.explain._regions import regions
from haloscope.explain._scope import Scope
from haloscope.explain._series import series
from haloscope.explain._slices import slices
from haloscope.explain._traffic import calls, collectives, communicators, partners, sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from haloscope.explain._profile import Profile

__all__ = ["TABLES", "build"]

_BUILDERS: Mapping[str, Callable[[Profile, Scope], pl.DataFrame]] = {
    "regions": regions,
    "ranks": ranks,
    "calls": calls,
    "sizes": sizes,
    "partners": partners,
    "collectives": collectives,
    "communicators": communicators,
    "series": series,
    "slices": slices,
    "info": lambda profile, _scope: info(profile),
}

TABLES = tuple(_BUILDERS)
_WITHOUT_REGION = ("communicators", "slices", "info")
_PLANNED = ("sites",)


def build(profile: Profile, name: str, exclusive: bool, region: str | None) -> pl.DataFrame:
    """Return table `name`. Raises `UsageError` for an unknown table or region."""
    if name in _PLANNED:
        raise UsageError(f"the table {name} is not built yet; there is {', '.join(TABLES)}")
    if name not in _BUILDERS:
        raise UsageError(f"there is no table {name!r}; there is {', '.join(TABLES)}")
    if region is not None and name in _WITHOUT_REGION:
        raise UsageError(f"the table {name} is not by region; leave the region out")
    return _BUILDERS[name](profile, Scope.of(profile.regions, exclusive, region))
