"""A machine model: levels of the topology, cost of messages at each level, and fitted algorithms."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Annotated

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from haloscope.base import units
from haloscope.base.arrays import Floats
from haloscope.base.errors import UsageError
from haloscope.base.units import noun_text
from haloscope.predict.schedule import CollectivePlan

Time = Annotated[Decimal, BeforeValidator(units.time)]
Cost = Annotated[Decimal, BeforeValidator(units.cost)]
Speed = Annotated[Decimal, BeforeValidator(units.speed)]
Text = Annotated[str, Field(min_length=1)]
_BEYOND_A_NODE = ("network", "switch", "leaf switch", "spine")
_Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Bytes = Annotated[int, Field(ge=0)]
Interval = tuple[float, float, float]
"""A value with the bounds of its 95 % interval."""
_Estimate = tuple[_Number, _Number, _Number]


class _Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Protocol(_Rules):
    """Messages from `first` bytes on take `latency` + bytes / `bandwidth`."""

    first: Annotated[int, Field(ge=0, alias="from")]
    name: str = ""
    latency: Cost
    bandwidth: Speed | None = None  # None: independent of the size


class Hockney(_Rules):
    """One line through all sizes, `alpha` + bytes × `beta`, fitted to relative errors."""

    alpha: Cost
    beta: Cost
    alpha_interval: tuple[Cost, Cost] | None = None
    beta_interval: tuple[Cost, Cost] | None = None


class LogGP(_Rules):
    """Latency, overhead, gap between messages, and gap per byte of a message, each a time.

    Intervals are 95 % confidence intervals.
    """

    L: Cost
    o: Cost
    g: Cost
    G: Cost
    L_interval: tuple[Cost, Cost] | None = None
    o_interval: tuple[Cost, Cost] | None = None
    g_interval: tuple[Cost, Cost] | None = None
    G_interval: tuple[Cost, Cost] | None = None


class PLogP(_Rules):
    """Gap g(m), send overhead os(m) and receive overhead or(m) of messages of m bytes."""

    bytes: Annotated[int, Field(ge=0)]
    g: Cost
    send: Annotated[Cost, Field(alias="os")]
    receive: Annotated[Cost, Field(alias="or")]


class MeasuredTime(_Rules):
    """The median one-way time of messages of `bytes` bytes, with its 95 % interval.

    `gap` is the median time between messages of a window.
    """

    bytes: Annotated[int, Field(gt=0)]
    time: Cost
    interval: tuple[Cost, Cost] | None = None
    gap: Cost | None = None


class Link(_Rules):
    """Messages between two cores: `latency` of small ones, `bandwidth` of large ones."""

    latency: Time
    latency_interval: tuple[Cost, Cost] | None = None
    bandwidth: Speed | None = None
    bandwidth_interval: tuple[Speed, Speed] | None = None
    hockney: Hockney | None = None
    loggp: LogGP | None = None
    protocols: tuple[Protocol, ...] = ()
    plogp: tuple[PLogP, ...] = ()
    measured: tuple[MeasuredTime, ...] = ()
    """The measured times of the fits, by size."""

    @model_validator(mode="after")
    def _check_order(self) -> Link:
        starts = [protocol.first for protocol in self.protocols]
        if starts and (starts[0] != 0 or any(low >= high for low, high in pairwise(starts))):
            raise ValueError("the first protocol must begin at 0, and each later one at a larger size")
        return self

    def message_time(self, size: float) -> float:
        """Return the time (s) from the send of `size` bytes to their receive."""
        starts, costs = self._pieces
        alpha, beta = costs[bisect_right(starts, size) - 1]
        return alpha + beta * size

    @cached_property
    def _pieces(self) -> tuple[list[int], list[tuple[float, float]]]:
        pieces = self.protocols or (Protocol(first=0, latency=self.latency, bandwidth=self.bandwidth),)
        costs = [
            (float(piece.latency), float(1 / piece.bandwidth) if piece.bandwidth else 0.0) for piece in pieces
        ]
        return [piece.first for piece in pieces], costs


def place_ranks(levels: Sequence[Level], mapping: str, ranks: int) -> list[int]:
    """Return the core of each rank. Raises `UsageError` for an unknown mapping or too many ranks."""
    cores, node = levels[-1].cores, _count_node_cores(levels)
    if not 0 < ranks <= cores:
        raise UsageError(
            f"the machine has {noun_text(cores, 'core')}: too few for {noun_text(ranks, 'rank')}"
        )
    if mapping in ("core", "slot"):
        return list(range(ranks))
    unit = node if mapping == "node" else _find_unit(levels, mapping)
    within = cores if unit >= node else node
    return [_assign_core(rank, unit, within) for rank in range(ranks)]


def _assign_core(rank: int, unit: int, within: int) -> int:
    """Return the core of a rank that is assigned round-robin to the units of `within` cores."""
    whole, rest = divmod(rank, within)
    turn, which = divmod(rest, within // unit)
    return whole * within + which * unit + turn


def _count_node_cores(levels: Sequence[Level]) -> int:
    """Return the cores per node: those of the level named so, else of the last level that is not a
    network."""
    named = [level.cores for level in levels if level.name.lower() == "node"]
    inside = [level.cores for level in levels if level.name.lower() not in _BEYOND_A_NODE]
    return (named or inside or [level.cores for level in levels])[-1]


def _find_unit(levels: Sequence[Level], mapping: str) -> int:
    wanted = mapping.lower()
    for level in levels:
        name = level.name.lower()
        if wanted in (name, name.split()[0]):
            return level.cores
    known = ", ".join(["core", "node", *(level.name for level in levels)])
    raise UsageError(f"unknown mapping {mapping!r}; choose from {known}")


class Level(Link):
    """A level that `cores` consecutive cores share, and the messages between them."""

    name: Text
    cores: Annotated[int, Field(gt=1)]
    shared: Speed | None = None
    """Total bandwidth of each part of the level below into this level, and of the opposite direction."""


class Matrix(_Rules):
    """Measured latencies between all pairs of these cores, in microseconds."""

    cores: Annotated[tuple[int, ...], Field(min_length=2)]
    microseconds: tuple[tuple[Annotated[float, Field(ge=0)] | None, ...], ...]

    @model_validator(mode="after")
    def _check_shape(self) -> Matrix:
        if {len(self.cores)} != {len(self.microseconds), *map(len, self.microseconds)}:
            raise ValueError("needs one row and one column per core")
        return self


def make_generic_rows(plans: Sequence[CollectivePlan]) -> Floats:
    """Return 1, log2 P, P, m, m log2 P, m P, the terms of trees, rings and linear algorithms."""
    ranks = np.array([plan.ranks for plan in plans], np.float64)
    size = np.array([plan.bytes for plan in plans], np.float64)
    rounds = np.log2(ranks)
    return np.column_stack([ranks**0, rounds, ranks, size, size * rounds, size * ranks])


class Range(_Rules):
    """Parameters of messages from `first` bytes on, each as [value, low, high].

    A message on a level with latency L and transfer time W occupies both ports for `overhead` + `beta` W, and
    arrives `alpha` L later. `overhead` is in seconds, the others are factors of the machine's values.
    """

    first: Annotated[_Bytes, Field(alias="from")] = 0
    overhead: _Estimate
    alpha: _Estimate
    beta: _Estimate


class FittedAlgorithm(_Rules):
    """The model of one algorithm: by `ranges` if its messages are known, else a generic one.

    The time is the mean over ranks, as in OSU's benchmarks. The generic form is the sum of `generic` times 1,
    log2 P, P, m, m log2 P and m P, for P ranks and m bytes.
    """

    collective: str
    algorithm: str
    number: int | None = None
    library: str = ""
    call: _Estimate = (0.0, 0.0, 0.0)
    """Seconds of every call."""
    gamma: _Estimate = (0.0, 0.0, 0.0)
    """Seconds to add one byte."""
    eager: _Bytes = 0
    """Messages below this size do not wait for their receiver."""
    ranges: tuple[Range, ...] = ()
    generic: tuple[_Number, ...] = ()
    segments: tuple[_Bytes, ...] = (0,)
    fanouts: tuple[_Bytes, ...] = (0,)
    """Measured segments and fan-outs."""
    ranks: tuple[int, int] = (2, 2)
    sizes: tuple[_Bytes, _Bytes] = (0, 0)
    """Smallest and largest measured values."""
    points: int = 0
    error: _Number = 0.0
    """Median relative error of these points."""
    times: tuple[tuple[_Bytes, _Bytes, _Bytes, _Bytes, _Number], ...] = ()
    """The points: ranks, bytes, segment, fan-out and seconds."""


class Machine(_Rules):
    """The model of a machine. Rank r runs on core r, one node after the other.

    Levels are ordered from the nearest to the farthest; the last one has all cores. Times are seconds, speeds
    bytes per second, exactly as written.
    """

    name: Text
    description: str = ""
    source: str = ""
    levels: Annotated[tuple[Level, ...], Field(min_length=1)]
    arithmetic: Speed | None = None
    """Bytes of operands per second that a core adds to the same number of bytes."""
    smt: Link | None = None
    """Messages between hardware threads of one core, on which ranks are never placed."""
    matrix: Matrix | None = None
    """Measured values; `latency` and all models use the levels."""
    fitted: tuple[FittedAlgorithm, ...] = ()

    @model_validator(mode="after")
    def _check_levels(self) -> Machine:
        for inner, outer in pairwise(self.levels):
            if outer.cores % inner.cores or outer.cores == inner.cores:
                raise ValueError(
                    "levels must be ordered from the nearest to the farthest, each a multiple of the"
                    " previous one: "
                    f"{outer.name} has {outer.cores} cores after {inner.name} with {inner.cores}"
                )
        return self

    @property
    def cores(self) -> int:
        """All cores of the machine."""
        return self.levels[-1].cores

    @property
    def node_cores(self) -> int:
        """Cores per node: those of the level named so, else of the last level that is not a network."""
        return _count_node_cores(self.levels)

    def level(self, i: int, j: int) -> Level:
        """Return the smallest level that two different cores share."""
        for level in self.levels:
            if i // level.cores == j // level.cores:
                return level
        raise IndexError(f"{self.name} has cores 0 to {self.cores - 1}, not {max(i, j)}")

    def latency(self, i: int, j: int) -> Decimal:
        """Return L(i, j), the exact latency (s) of small messages from core i to core j."""
        return self.level(i, j).latency if i != j else Decimal()

    def latency_matrix(self, ranks: int) -> Floats:
        """Return L(i, j) of the first `ranks` cores in seconds, shape (ranks, ranks)."""
        cores = np.arange(ranks)
        matrix = np.zeros((ranks, ranks))
        for level in reversed(self.levels):
            unit = cores // level.cores
            matrix[unit[:, None] == unit[None, :]] = float(level.latency)
        np.fill_diagonal(matrix, 0)
        return matrix

    def ranks_on_cores(self, mapping: str = "core", ranks: int | None = None) -> list[int]:
        """Return the core of each rank: filled by `core`, or assigned round-robin to the units of a level.

        As in the launchers' --map-by, `node` assigns to nodes, and the name of a different level (or its
        first word, such as `socket` or `numa`, in any case) to its units in a node, one node after the other.
        """
        return place_ranks(self.levels, mapping, self.cores if ranks is None else ranks)

    def exceeded_levels(self, ranks: int) -> list[Level]:
        """Return the levels with fewer than `ranks` cores: beyond each, messages use a further level."""
        return [level for level in self.levels if level.cores < ranks]
