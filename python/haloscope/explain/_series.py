"""The table `series`: one row an instance, with the values that the program recorded in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from haloscope.explain._instances import QUANTITIES, Series

if TYPE_CHECKING:
    from haloscope.explain._profile import Profile
    from haloscope.explain._scope import Scope

__all__ = ["series"]

_KEYS = ["path", "rank", "instance"]
_COLUMNS = ("region", *_KEYS, *QUANTITIES)


def series(profile: Profile, scope: Scope) -> pl.DataFrame:
    """Return region × rank × instance, and a column for each name of a recorded value.

    A value called like a column of the table gets `_value` after its name.
    """
    instances = _instances(Series.of(profile, scope.chosen))
    values = scope.wanted(profile.frame("values"))
    if len(values):
        instances = instances.join(_wide(values), on=_KEYS, how="full", coalesce=True)
    return scope.named(instances, ["rank", "instance"])


def _instances(series: Series) -> pl.DataFrame:
    seconds = {name: series.seconds(name) for name in QUANTITIES}
    finite = [pl.when(pl.col(name).is_finite()).then(name).alias(name) for name in QUANTITIES]
    return pl.DataFrame({**series.keys(), **seconds}).with_columns(finite)


def _wide(values: pl.DataFrame) -> pl.DataFrame:
    names = values["name"].unique(maintain_order=True).to_list()
    renamed = values.with_columns(values["name"].replace(_free_names(names)))
    return renamed.pivot("name", index=_KEYS, values="value", aggregate_function="last")


def _free_names(names: list[str]) -> dict[str, str]:
    taken = {*_COLUMNS, *names}
    free = {}
    for name in (name for name in names if name in _COLUMNS):
        free[name] = name + "_value"
        while free[name] in taken:
            free[name] += "_value"
        taken.add(free[name])
    return free
