"""The table `model`, by formulas: those of Derin's paper, and models after the libraries' code.

The machine (Hockney's, with one port): a message of m bytes from i to j takes α + m β, α and 1/β
from the level that i and j share. For so long it occupies the way out of i and the way into j; a
process sends one message at a time and receives one at a time, both at once if it has both to
do, in the order of the program. Where receives are posted ahead, as in trees, a message
comes as soon as it is sent and the way in is free; otherwise it begins when both sides have come
to it. Adding m bytes to m others takes m γ; a process adds one thing at a time, while messages
come and go.

So contention is that for the ways into and out of a process, and for links that a level is said to
share. Protocols are those of the machine; the memory that early messages need is not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from math import isfinite
from pathlib import Path

import numpy as np
import polars as pl

from haloscope.base.errors import MachineError, UsageError
from haloscope.predict import paper
from haloscope.predict import schedule as schedules
from haloscope.predict.laws import CollectiveLaws
from haloscope.predict.machine import Machine
from haloscope.predict.machine_files import load_machine
from haloscope.predict.observation import Observation, Theta
from haloscope.predict.prediction import predict
from haloscope.predict.schedule import CollectivePlan, uses

_MOST_SEGMENTS = 1 << 14
_ADDING = ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block")
Time = Callable[["Machine", "CollectivePlan"], float]
_PAPER: Mapping[tuple[str, str], Callable[..., Decimal]] = {
    ("bcast", "pipeline"): paper.broadcast_pipeline,
    ("bcast", "binomial"): paper.broadcast_binomial,
    ("bcast", "chain"): paper.broadcast_chain,
    ("reduce", "binary"): paper.reduce_binary,
    ("reduce", "binomial"): paper.reduce_binomial,
    ("reduce", "rabenseifner"): paper.reduce_rabenseifner,
}
_SCHEMA = {
    "collective": pl.String,
    "algorithm": pl.String,
    "ranks": pl.Int64,
    "bytes": pl.Int64,
    "time": pl.Float64,
}
FORMULAS = ("paper", "hockney", "fitted", "law")
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "bcast": ("pipeline", "binomial", "chain"),
    "reduce": ("binary", "binomial", "rabenseifner"),
}
"""Those of Derin's paper; `algorithms_of` has those of the other formulas."""


def hockney(machine: Machine, collective: str, algorithm: str, plan: CollectivePlan) -> float:
    """Return seconds until the last rank is done.

    Raises `MachineError` for what the machine does not state, `UsageError` for an algorithm that
    nobody knows.
    """
    for level in machine.levels:
        if level.bandwidth is None and not level.protocols:
            raise _lacks(machine, f"bandwidth of level {level.name!r}", "bandwidth: 10 GB/s")
    gamma = 0.0
    if collective in _ADDING:
        if machine.arithmetic is None:
            raise _lacks(machine, "arithmetic", "arithmetic: 5 GB/s")
        gamma = float(1 / machine.arithmetic)
    if uses(collective, algorithm)[0] and plan.bytes > (plan.segment or plan.bytes) * _MOST_SEGMENTS:
        raise UsageError(
            f"{plan.bytes} bytes in segments of {plan.segment} are more than {_MOST_SEGMENTS}"
            " segments; choose larger ones"
        )
    observation = Observation.of(machine, collective, algorithm, plan)
    if observation is None:
        raise UsageError(f"the messages of {collective} {algorithm!r} are not known")
    return observation.last(_theta(gamma))


def _theta(gamma: float) -> Theta:
    """Return parameters by which ports are occupied for all of α + m β, and nothing is eager."""
    one = np.ones(1)
    return Theta(np.zeros(1, np.int64), 0 * one, 0 * one, one, gamma=gamma, whole=True)


def _lacks(machine: Machine, what: str, remedy: str) -> MachineError:
    return MachineError(
        f"{machine.name}: has no {what}, which the formula hockney needs;"
        f" write, for example, {remedy!r} into a copy of its YAML"
    )


def algorithms_of(formula: str, collective: str, machine: Machine) -> tuple[str, ...]:
    """Return the algorithms that a formula knows. Raises `UsageError` for an unknown name."""
    if formula not in FORMULAS:
        raise UsageError(f"there is no formula {formula!r}; there is {', '.join(FORMULAS)}")
    by_formula: dict[str, dict[str, tuple[str, ...]]] = {
        "paper": ALGORITHMS,
        "hockney": {name: schedules.algorithms(name) for name in schedules.collectives()},
        "fitted": _fitted(machine),
        "law": _fitted(machine, measured=True),
    }
    known = by_formula[formula]
    if collective not in known:
        there = (
            f"there is one of {', '.join(known)}"
            if known
            else "haloscope bench fit MACHINE SWEEP.jsonl makes them"
        )
        raise UsageError(f"there is no model of {collective!r} by formula {formula}; {there}")
    return known[collective]


def _fitted(machine: Machine, measured: bool = False) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for model in machine.fitted:
        if measured and not model.times:
            continue
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


def _by_paper(formula: Callable[..., Decimal], machine: Machine, plan: CollectivePlan) -> float:
    chains = [plan.fanout] if formula is paper.broadcast_chain else []
    return float(formula(machine.latency, plan.ranks, *chains))


def _by_hockney(collective: str, algorithm: str, machine: Machine, plan: CollectivePlan) -> float:
    return hockney(machine, collective, algorithm, plan)


def _by_fit(collective: str, algorithm: str, machine: Machine, plan: CollectivePlan) -> float:
    return predict(
        machine, collective, algorithm, plan.ranks, plan.bytes, segment=plan.segment, fanout=plan.fanout
    )


def model(
    machine: Machine | str | Path,
    collective: str | Sequence[str],
    algorithms: Sequence[str] = ("all",),
    ranks: Sequence[int] | None = None,
    sizes: Sequence[int] = (2,),
    *,
    formula: str = "paper",
    chains: int = 4,
    segment: int = 0,
) -> pl.DataFrame:
    """Return one row for each collective, algorithm, number of ranks and bytes; `time` is seconds.

    `machine` is a machine model, or its name or file. `formula` is one of `FORMULAS`, and
    `algorithms` are among those that it knows (`algorithms_of`), or `["all"]`. Without `ranks` they
    are 2 to all cores of the machine, doubled; rank r runs on core r. `sizes` are bytes as OSU counts them.
    `chains` is for the algorithm `chain`, `segment` (bytes; 0: the whole message) for algorithms by
    segments with the formulas `hockney` and `fitted`.

    Raises `UsageError` for what does not exist or does not fit the machine, `MachineError` where
    the machine lacks what the formula needs.

    By the formula `law` there are columns `low` and `high`, the bounds of the 95 % interval; `high` is null
    where what was measured supports no number.
    """
    machine = machine if isinstance(machine, Machine) else load_machine(machine)
    ranks = ranks or [1 << doubled for doubled in range(1, machine.cores.bit_length())]
    names = [collective] if isinstance(collective, str) else collective
    known = {
        name: algorithms_of(formula, name, machine) if list(algorithms) == ["all"] else algorithms
        for name in names
    }
    formulas = {(name, one): time_of(formula, name, one, machine) for name in names for one in known[name]}
    _check(machine, ranks, sizes)
    if chains < 1 or segment < 0:
        raise UsageError("chains are 1 or more, bytes of a segment 0 (all in one) or more")
    if segment and formula == "paper":
        raise UsageError("the formula paper knows no segments; the formula hockney does")
    if formula == "law":
        return _by_laws(machine, known, ranks, sizes, segment)
    rows = [
        (*place, count, size, time(machine, CollectivePlan(count, size, segment, chains)))
        for place, time in formulas.items()
        for count in ranks
        for size in sizes
    ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _by_laws(
    machine: Machine,
    known: Mapping[str, Sequence[str]],
    ranks: Sequence[int],
    sizes: Sequence[int],
    segment: int,
) -> pl.DataFrame:
    """Return rows with the bounds of their intervals, for all that was measured with such segments."""
    laws = CollectiveLaws.of_machine(machine)
    ways = [
        way
        for name, ones in known.items()
        for way in laws.ways(name)
        if way.algorithm in ones and way.segment == segment
    ]
    places = [(way, count, size) for way in ways for count in ranks for size in sizes]
    found = [laws.estimate(*place) for place in places]
    rows = [
        (
            way.collective,
            way.algorithm,
            count,
            size,
            one.time,
            one.low,
            one.high if isfinite(one.high) else None,
        )
        for (way, count, size), one in zip(places, found, strict=True)
    ]
    return pl.DataFrame(rows, schema={**_SCHEMA, "low": pl.Float64, "high": pl.Float64}, orient="row")


def _check(machine: Machine, ranks: Sequence[int], sizes: Sequence[int]) -> None:
    if min(ranks) < 2:
        raise UsageError(f"a collective of {min(ranks)} ranks sends nothing; 2 are the fewest")
    if max(ranks) > machine.cores:
        raise UsageError(f"{machine.name} has {machine.cores} cores: too few for {max(ranks)} ranks")
    if not sizes or min(sizes) < 1:
        raise UsageError("a message has 1 byte or more")
