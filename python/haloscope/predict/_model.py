"""The table `model`: what a collective takes, by algorithm, processes and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from haloscope.base.errors import UsageError
from haloscope.predict._formulas import algorithms_of, time_of
from haloscope.predict.schedule import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from haloscope.predict._machine import Machine

__all__ = ["model"]

_SCHEMA = {
    "collective": pl.String,
    "algorithm": pl.String,
    "ranks": pl.Int64,
    "bytes": pl.Int64,
    "time": pl.Float64,
}


def model(
    machine: Machine,
    collective: str,
    algorithms: Sequence[str] = ("all",),
    ranks: Sequence[int] | None = None,
    sizes: Sequence[int] = (2,),
    *,
    formula: str = "paper",
    chains: int = 4,
    segment: int = 0,
) -> pl.DataFrame:
    """Return one row for each algorithm, number of ranks and bytes; `time` is seconds.

    `algorithms` may be `["all"]`; without `ranks`, those from 2 to all cores of the machine.
    Rank r runs on core r. `chains` is for the algorithm `chain`, `segment` (bytes; 0: the whole
    message) for algorithms by segments with formulas `hockney` and `fitted`.

    Raises `UsageError` for what does not exist or does not fit the machine, `MachineError` where
    the machine lacks what the formula needs.
    """
    if list(algorithms) == ["all"]:
        algorithms = algorithms_of(formula, collective, machine)
    ranks = ranks or range(2, machine.cores + 1)
    formulas = {name: time_of(formula, collective, name, machine) for name in algorithms}
    _check(machine, ranks, sizes)
    if chains < 1 or segment < 0:
        raise UsageError("chains are 1 or more, bytes of a segment 0 (all in one) or more")
    if segment and formula == "paper":
        raise UsageError("the formula paper knows no segments; --formula hockney does")
    rows = [
        (collective, name, count, size, time(machine, Plan(count, size, segment, chains)))
        for name, time in formulas.items()
        for count in ranks
        for size in sizes
    ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _check(machine: Machine, ranks: Sequence[int], sizes: Sequence[int]) -> None:
    if min(ranks) < 2:
        raise UsageError(f"a collective of {min(ranks)} ranks sends nothing; 2 are the fewest")
    if max(ranks) > machine.cores:
        raise UsageError(f"{machine.name} has {machine.cores} cores: too few for {max(ranks)} ranks")
    if not sizes or min(sizes) < 1:
        raise UsageError("a message has 1 byte or more")
