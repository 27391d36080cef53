"""Every collective, algorithm and formula that there is, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from haloscope._errors import UsageError
from haloscope.predict import _hockney, _paper, _trees
from haloscope.predict._rabenseifner import rabenseifner

if TYPE_CHECKING:
    from decimal import Decimal

    from haloscope.predict._machine import Machine

__all__ = ["ALGORITHMS", "FORMULAS", "Choice", "time_of"]

_MOST_SEGMENTS = 1 << 14


@dataclass(frozen=True)
class Choice:
    """What an algorithm can be told: chains of `chain`, bytes a segment (0: all in one)."""

    chains: int = 4
    segment: int = 0


# (machine, ranks, bytes, choice) → seconds
_Formula = Callable[["Machine", int, int, Choice], float]


def _by_paper(
    formula: Callable[..., Decimal], machine: Machine, ranks: int, _size: int, choice: Choice
) -> float:
    chains = [choice.chains] if formula is _paper.broadcast_chain else []
    return float(formula(machine.latency, ranks, *chains))


def _tree(
    time: Callable[..., float],
    build: Callable[..., _trees.Tree],
    machine: Machine,
    ranks: int,
    size: int,
    choice: Choice,
) -> float:
    tree = build(ranks, choice.chains) if build is _trees.chain else build(ranks)
    return time(_hockney.Costs(machine), tree, _segments(size, choice.segment))


def _segments(size: int, segment: int) -> _hockney.Floats:
    """Bytes of each segment; the last one is what is left."""
    segment = min(segment, size) or size
    if size > segment * _MOST_SEGMENTS:
        raise UsageError(
            f"{size} bytes in segments of {segment} are more than {_MOST_SEGMENTS} segments;"
            " choose larger ones"
        )
    whole, rest = divmod(size, segment)
    return np.array([segment] * whole + [rest] * bool(rest), dtype=np.float64)


def _rabenseifner(machine: Machine, ranks: int, size: int, _choice: Choice) -> float:
    return rabenseifner(_hockney.Costs(machine), ranks, size)


_FORMULAS: Mapping[str, Mapping[tuple[str, str], _Formula]] = {
    "paper": {
        ("bcast", "pipeline"): partial(_by_paper, _paper.broadcast_pipeline),
        ("bcast", "binomial"): partial(_by_paper, _paper.broadcast_binomial),
        ("bcast", "chain"): partial(_by_paper, _paper.broadcast_chain),
        ("reduce", "binary"): partial(_by_paper, _paper.reduce_binary),
        ("reduce", "binomial"): partial(_by_paper, _paper.reduce_binomial),
        ("reduce", "rabenseifner"): partial(_by_paper, _paper.reduce_rabenseifner),
    },
    "hockney": {
        ("bcast", "pipeline"): partial(_tree, _hockney.broadcast, _trees.pipeline),
        ("bcast", "binomial"): partial(_tree, _hockney.broadcast, _trees.binomial),
        ("bcast", "chain"): partial(_tree, _hockney.broadcast, _trees.chain),
        ("reduce", "binary"): partial(_tree, _hockney.reduction, _trees.binary),
        ("reduce", "binomial"): partial(_tree, _hockney.reduction, _trees.in_order_binomial),
        ("reduce", "rabenseifner"): _rabenseifner,
    },
}

FORMULAS = tuple(_FORMULAS)
ALGORITHMS = {
    "bcast": ("pipeline", "binomial", "chain"),
    "reduce": ("binary", "binomial", "rabenseifner"),
}


def time_of(formula: str, collective: str, algorithm: str) -> _Formula:
    """Return the function for it. Raises `UsageError` for a name that does not exist."""
    if formula not in _FORMULAS:
        raise UsageError(f"there is no formula {formula!r}; there is {', '.join(FORMULAS)}")
    if collective not in ALGORITHMS:
        raise UsageError(
            f"there is no model of {collective!r}; there is one of {', '.join(ALGORITHMS)}"
        )
    if algorithm not in ALGORITHMS[collective]:
        known = ", ".join(ALGORITHMS[collective])
        raise UsageError(f"{collective} has no algorithm {algorithm!r}; it has {known}")
    return _FORMULAS[formula][collective, algorithm]
