"""Every collective, algorithm and formula that there is, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from haloscope.base.errors import UsageError
from haloscope.predict import _paper
from haloscope.predict import schedule as schedules
from haloscope.predict._hockney import hockney
from haloscope.predict.fitted._prediction import predict

if TYPE_CHECKING:
    from decimal import Decimal

    from haloscope.predict._machine import Machine
    from haloscope.predict.schedule import Plan

__all__ = ["ALGORITHMS", "FORMULAS", "algorithms_of", "time_of"]

Time = Callable[["Machine", "Plan"], float]

_PAPER: Mapping[tuple[str, str], Callable[..., Decimal]] = {
    ("bcast", "pipeline"): _paper.broadcast_pipeline,
    ("bcast", "binomial"): _paper.broadcast_binomial,
    ("bcast", "chain"): _paper.broadcast_chain,
    ("reduce", "binary"): _paper.reduce_binary,
    ("reduce", "binomial"): _paper.reduce_binomial,
    ("reduce", "rabenseifner"): _paper.reduce_rabenseifner,
}

FORMULAS = ("paper", "hockney", "fitted")
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "bcast": ("pipeline", "binomial", "chain"),
    "reduce": ("binary", "binomial", "rabenseifner"),
}
"""Those of the paper; `algorithms_of` has those of the other formulas."""


def algorithms_of(formula: str, collective: str, machine: Machine) -> tuple[str, ...]:
    """Return the algorithms that a formula knows. Raises `UsageError` for an unknown name."""
    if formula not in FORMULAS:
        raise UsageError(f"there is no formula {formula!r}; there is {', '.join(FORMULAS)}")
    by_formula: dict[str, dict[str, tuple[str, ...]]] = {
        "paper": ALGORITHMS,
        "hockney": {name: schedules.algorithms(name) for name in schedules.collectives()},
        "fitted": _fitted(machine),
    }
    known = by_formula[formula]
    if collective not in known:
        there = (
            f"there is one of {', '.join(known)}" if known else "haloscope model --fit makes them"
        )
        raise UsageError(f"there is no model of {collective!r} by formula {formula}; {there}")
    return known[collective]


def _fitted(machine: Machine) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for model in machine.fitted:
        found[model.collective] = (*found.get(model.collective, ()), model.algorithm)
    return found


def time_of(formula: str, collective: str, algorithm: str, machine: Machine) -> Time:
    """Return the function for it. Raises `UsageError` for a name that does not exist."""
    names = algorithms_of(formula, collective, machine)
    if algorithm not in names:
        known = ", ".join(names)
        raise UsageError(f"{collective} has no algorithm {algorithm!r}; it has {known}")
    if formula == "paper":
        return partial(_by_paper, _PAPER[collective, algorithm])
    return partial(_by_hockney if formula == "hockney" else _by_fit, collective, algorithm)


def _by_paper(formula: Callable[..., Decimal], machine: Machine, plan: Plan) -> float:
    chains = [plan.fanout] if formula is _paper.broadcast_chain else []
    return float(formula(machine.latency, plan.ranks, *chains))


def _by_hockney(collective: str, algorithm: str, machine: Machine, plan: Plan) -> float:
    return hockney(machine, collective, algorithm, plan)


def _by_fit(collective: str, algorithm: str, machine: Machine, plan: Plan) -> float:
    return predict(
        machine, collective, algorithm, plan.ranks, plan.bytes, segment=plan.segment,
        fanout=plan.fanout,
    )  # fmt: skip
