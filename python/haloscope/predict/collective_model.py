"""The table `model`: formulas of Derin's paper, and models of the schedules of the MPI libraries.

The machine follows Hockney's model with one port: a message of m bytes from i to j takes α + m β, with α and
1/β of the level that i and j share. For that time it occupies the output port of i and the input port of j. A
process sends one message at a time and receives one at a time, in program order; both directions may overlap.
If receives are posted in advance, as in trees, a message arrives as soon as it is sent and the input port is
free. Otherwise it begins when both sides have reached it. Adding m bytes takes m γ; a process does one
addition at a time, which overlaps with messages.

Contention is modelled for the ports of a process, and for links that a level declares as shared. Protocols
are those of the machine. The memory of early messages is not modelled.
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
from haloscope.base.units import noun_text
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
"""The algorithms of Derin's paper; `algorithms_of` has those of the other formulas."""


def predict_hockney(machine: Machine, collective: str, algorithm: str, plan: CollectivePlan) -> float:
    """Return the seconds until the last rank has finished.

    Raises:
        MachineError: The machine model has no bandwidth or arithmetic speed.
        UsageError: The algorithm is unknown, or has too many segments.
    """
    for level in machine.levels:
        if level.bandwidth is None and not level.protocols:
            raise _missing_error(machine, f"bandwidth of level {level.name!r}", "bandwidth: 10 GB/s")
    gamma = 0.0
    if collective in _ADDING:
        if machine.arithmetic is None:
            raise _missing_error(machine, "arithmetic", "arithmetic: 5 GB/s")
        gamma = float(1 / machine.arithmetic)
    if uses(collective, algorithm)[0] and plan.bytes > (plan.segment or plan.bytes) * _MOST_SEGMENTS:
        raise UsageError(
            f"{plan.bytes} bytes in segments of {plan.segment} are more than {_MOST_SEGMENTS}"
            " segments; choose larger segments"
        )
    observation = Observation.of(machine, collective, algorithm, plan)
    if observation is None:
        raise UsageError(f"the messages of {collective} {algorithm!r} are unknown")
    return observation.predict_last(_make_theta(gamma))


def _make_theta(gamma: float) -> Theta:
    """Return parameters with ports occupied for α + m β, without eager messages."""
    unit = np.ones(1)
    return Theta(np.zeros(1, np.int64), 0 * unit, 0 * unit, unit, gamma=gamma, whole=True)


def _missing_error(machine: Machine, what: str, remedy: str) -> MachineError:
    return MachineError(
        f"{machine.name}: has no {what}, which the formula hockney needs;"
        f" write, for example, {remedy!r} into a copy of its YAML"
    )


def algorithms_of(formula: str, collective: str, machine: Machine) -> tuple[str, ...]:
    """Return the algorithms of a formula. Raises `UsageError` for an unknown name."""
    if formula not in FORMULAS:
        raise UsageError(f"unknown formula {formula!r}; choose from {', '.join(FORMULAS)}")
    by_formula: dict[str, dict[str, tuple[str, ...]]] = {
        "paper": ALGORITHMS,
        "hockney": {name: schedules.algorithms(name) for name in schedules.collectives()},
        "fitted": _fitted_algorithms(machine),
        "law": _fitted_algorithms(machine, measured=True),
    }
    known = by_formula[formula]
    if collective not in known:
        remedy = (
            f"choose from {', '.join(known)}"
            if known
            else "haloscope bench fit MACHINE SWEEP.jsonl makes them"
        )
        raise UsageError(f"no model of {collective!r} with the formula {formula}; {remedy}")
    return known[collective]


def _fitted_algorithms(machine: Machine, measured: bool = False) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for model in machine.fitted:
        if measured and not model.times:
            continue
        found[model.collective] = (*found.get(model.collective, ()), model.algorithm)
    return found


def find_time_function(formula: str, collective: str, algorithm: str, machine: Machine) -> Time:
    """Return the function that computes the time. Raises `UsageError` for an unknown name."""
    names = algorithms_of(formula, collective, machine)
    if algorithm not in names:
        known = ", ".join(names)
        raise UsageError(f"{collective} has no algorithm {algorithm!r}; it has {known}")
    if formula == "paper":
        return partial(_time_by_paper, _PAPER[collective, algorithm])
    return partial(_time_by_hockney if formula == "hockney" else _time_by_fit, collective, algorithm)


def _time_by_paper(formula: Callable[..., Decimal], machine: Machine, plan: CollectivePlan) -> float:
    chains = [plan.fanout] if formula is paper.broadcast_chain else []
    return float(formula(machine.latency, plan.ranks, *chains))


def _time_by_hockney(collective: str, algorithm: str, machine: Machine, plan: CollectivePlan) -> float:
    return predict_hockney(machine, collective, algorithm, plan)


def _time_by_fit(collective: str, algorithm: str, machine: Machine, plan: CollectivePlan) -> float:
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
    """Predict the times of collectives on a machine. Rank r runs on core r.

    Args:
        machine: A machine model, its name or its file.
        collective: One or more collectives.
        algorithms: Algorithms of the formula (`algorithms_of`), or `["all"]`.
        ranks: Numbers of ranks; by default 2 to all cores of the machine.
        sizes: Bytes, as OSU counts them.
        formula: One of `FORMULAS`.
        chains: Number of chains of the algorithm `chain`.
        segment: Segment size in bytes (0: the whole message) for the formulas `hockney` and `fitted`.

    Returns:
        One row per collective, algorithm, number of ranks and size; `time` is in seconds. The formula `law`
        adds the bounds `low` and `high` of the 95 % interval; `high` is null if the measurements give none.

    Raises:
        UsageError: A name does not exist, or a number does not fit the machine.
        MachineError: The machine model has not all that the formula needs.
    """
    machine = machine if isinstance(machine, Machine) else load_machine(machine)
    ranks = ranks or [1 << doubled for doubled in range(1, machine.cores.bit_length())]
    names = [collective] if isinstance(collective, str) else collective
    known = {
        name: algorithms_of(formula, name, machine) if list(algorithms) == ["all"] else algorithms
        for name in names
    }
    formulas = {
        (name, algorithm): find_time_function(formula, name, algorithm, machine)
        for name in names
        for algorithm in known[name]
    }
    _check_numbers(machine, ranks, sizes)
    if chains < 1 or segment < 0:
        raise UsageError("chains must be 1 or more, and the segment 0 (the whole message) or more bytes")
    if segment and formula == "paper":
        raise UsageError("the formula paper has no segments; use the formula hockney")
    if formula == "law":
        return _predict_by_laws(machine, known, ranks, sizes, segment)
    rows = [
        (*key, count, size, time(machine, CollectivePlan(count, size, segment, chains)))
        for key, time in formulas.items()
        for count in ranks
        for size in sizes
    ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _predict_by_laws(
    machine: Machine,
    known: Mapping[str, Sequence[str]],
    ranks: Sequence[int],
    sizes: Sequence[int],
    segment: int,
) -> pl.DataFrame:
    """Return rows with their intervals, for all algorithms that were measured with this segment size."""
    laws = CollectiveLaws.of_machine(machine)
    ways = [
        way
        for name, ones in known.items()
        for way in laws.list_ways(name)
        if way.algorithm in ones and way.segment == segment
    ]
    points = [(way, count, size) for way in ways for count in ranks for size in sizes]
    found = [laws.estimate(*point) for point in points]
    rows = [
        (
            way.collective,
            way.algorithm,
            count,
            size,
            estimate.time,
            estimate.low,
            estimate.high if isfinite(estimate.high) else None,
        )
        for (way, count, size), estimate in zip(points, found, strict=True)
    ]
    return pl.DataFrame(rows, schema={**_SCHEMA, "low": pl.Float64, "high": pl.Float64}, orient="row")


def _check_numbers(machine: Machine, ranks: Sequence[int], sizes: Sequence[int]) -> None:
    if min(ranks) < 2:
        raise UsageError(f"a collective of {noun_text(min(ranks), 'rank')} sends nothing; give 2 or more")
    if max(ranks) > machine.cores:
        raise UsageError(
            f"{machine.name} has {noun_text(machine.cores, 'core')}: too few for"
            f" {noun_text(max(ranks), 'rank')}"
        )
    if not sizes or min(sizes) < 1:
        raise UsageError("a message has 1 byte or more")
