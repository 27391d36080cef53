"""A machine model: levels of topology, what a message costs across each, and fitted algorithms."""

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
    """From so many bytes on a message takes `latency` + bytes / `bandwidth`."""

    first: Annotated[int, Field(ge=0, alias="from")]
    name: str = ""
    latency: Cost
    bandwidth: Speed | None = None  # None: the size does not matter


class Hockney(_Rules):
    """One line through all sizes, `alpha` + bytes × `beta`; each relative error counts alike."""

    alpha: Cost
    beta: Cost
    alpha_interval: tuple[Cost, Cost] | None = None
    beta_interval: tuple[Cost, Cost] | None = None


class LogGP(_Rules):
    """Latency, overhead, gap between messages, and gap between the bytes of one, each a time.

    An interval holds the true value with 95 % confidence, given the samples.
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
    """The median one-way time of messages of so many bytes, with its 95 % interval.

    `gap` is the median time from message to message of a window.
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
    """What the others were fitted to, by size."""

    @model_validator(mode="after")
    def _ordered(self) -> Link:
        starts = [protocol.first for protocol in self.protocols]
        if starts and (starts[0] != 0 or any(low >= high for low, high in pairwise(starts))):
            raise ValueError("protocols begin with the one from 0 on, and each begins later")
        return self

    def message_time(self, size: float) -> float:
        """Return seconds from the send of `size` bytes until they are received."""
        starts, costs = self._pieces
        alpha, beta = costs[bisect_right(starts, size) - 1]
        return alpha + beta * size

    @cached_property
    def _pieces(self) -> tuple[list[int], list[tuple[float, float]]]:
        pieces = self.protocols or (Protocol(first=0, latency=self.latency, bandwidth=self.bandwidth),)
        costs = [(float(one.latency), float(1 / one.bandwidth) if one.bandwidth else 0.0) for one in pieces]
        return [one.first for one in pieces], costs


def place_ranks(levels: Sequence[Level], mapping: str, ranks: int) -> list[int]:
    """Return the core of each rank. Raises `UsageError` for what does not exist or has no room."""
    cores, node = levels[-1].cores, _node(levels)
    if not 0 < ranks <= cores:
        raise UsageError(f"the machine has {cores} cores: none for {ranks} ranks")
    if mapping in ("core", "slot"):
        return list(range(ranks))
    unit = node if mapping == "node" else _unit(levels, mapping)
    within = cores if unit >= node else node
    return [_dealt(rank, unit, within) for rank in range(ranks)]


def _dealt(rank: int, unit: int, within: int) -> int:
    """Return the core of a rank: dealt in turn to the units of `within` cores, then to the next ones."""
    whole, rest = divmod(rank, within)
    turn, which = divmod(rest, within // unit)
    return whole * within + which * unit + turn


def _node(levels: Sequence[Level]) -> int:
    """Return cores of a node: of the level that is called so, else of the last that is no network."""
    named = [level.cores for level in levels if level.name.lower() == "node"]
    inside = [level.cores for level in levels if level.name.lower() not in _BEYOND_A_NODE]
    return (named or inside or [level.cores for level in levels])[-1]


def _unit(levels: Sequence[Level], mapping: str) -> int:
    wanted = mapping.lower()
    for level in levels:
        name = level.name.lower()
        if wanted in (name, name.split()[0]):
            return level.cores
    known = ", ".join(["core", "node", *(level.name for level in levels)])
    raise UsageError(f"ranks cannot be mapped by {mapping!r}; there is {known}")


class Level(Link):
    """Something that so many consecutive cores share, and messages between cores that share it."""

    name: Text
    cores: Annotated[int, Field(gt=1)]
    shared: Speed | None = None
    """What each part of the level below can send into this one, and take from it, altogether."""


class Matrix(_Rules):
    """Latencies that were measured between all pairs of these cores, in microseconds."""

    cores: Annotated[tuple[int, ...], Field(min_length=2)]
    microseconds: tuple[tuple[Annotated[float, Field(ge=0)] | None, ...], ...]

    @model_validator(mode="after")
    def _square(self) -> Matrix:
        if {len(self.cores)} != {len(self.microseconds), *map(len, self.microseconds)}:
            raise ValueError("needs a row and a column for each of its cores")
        return self


def generic_rows(plans: Sequence[CollectivePlan]) -> Floats:
    """Return 1, log2 P, P, m, m log2 P, m P: what trees, rings and linear algorithms cost."""
    ranks = np.array([plan.ranks for plan in plans], np.float64)
    size = np.array([plan.bytes for plan in plans], np.float64)
    rounds = np.log2(ranks)
    return np.column_stack([ranks**0, rounds, ranks, size, size * rounds, size * ranks])


class Range(_Rules):
    """Parameters of messages from so many bytes on, each as [value, low, high].

    A message of m bytes on a level with latency L and byte time W occupies both its ports for
    `overhead` + `beta` W, and is there `alpha` L later. `overhead` is seconds, the others are
    factors of what the machine says.
    """

    first: Annotated[_Bytes, Field(alias="from")] = 0
    overhead: _Estimate
    alpha: _Estimate
    beta: _Estimate


class FittedAlgorithm(_Rules):
    """The model of one algorithm: of `ranges` where its messages are known, else a generic one.

    The time is OSU's, the mean over ranks. The generic form is the sum of `generic` times 1,
    log2 P, P, m, m log2 P and m P, for P ranks and m bytes.
    """

    collective: str
    algorithm: str
    number: int | None = None
    library: str = ""
    call: _Estimate = (0.0, 0.0, 0.0)
    """Seconds that every call takes."""
    gamma: _Estimate = (0.0, 0.0, 0.0)
    """Seconds to add a byte."""
    eager: _Bytes = 0
    """Messages of fewer bytes do not wait for their receiver."""
    ranges: tuple[Range, ...] = ()
    generic: tuple[_Number, ...] = ()
    segments: tuple[_Bytes, ...] = (0,)
    fanouts: tuple[_Bytes, ...] = (0,)
    """The segments and fan-outs that were measured."""
    ranks: tuple[int, int] = (2, 2)
    sizes: tuple[_Bytes, _Bytes] = (0, 0)
    """Fewest and most that were measured."""
    points: int = 0
    error: _Number = 0.0
    """Median relative error of these points."""
    times: tuple[tuple[_Bytes, _Bytes, _Bytes, _Bytes, _Number], ...] = ()
    """The points themselves: ranks, bytes, segment, fan-out and seconds."""


class Machine(_Rules):
    """What is known of a system. Rank r runs on core r: filled by core, one node after the other.

    Levels go from the nearest to the farthest; the last one holds all cores. Times are seconds,
    speeds bytes a second, exact as they were written.
    """

    name: Text
    description: str = ""
    source: str = ""
    levels: Annotated[tuple[Level, ...], Field(min_length=1)]
    arithmetic: Speed | None = None
    """How many bytes of operands a second a core adds to others of as many bytes."""
    smt: Link | None = None
    """Messages between the hardware threads of one core; ranks are never placed so."""
    matrix: Matrix | None = None
    """As measured; `latency` and all models go by the levels."""
    fitted: tuple[FittedAlgorithm, ...] = ()

    @model_validator(mode="after")
    def _nested(self) -> Machine:
        for inner, outer in pairwise(self.levels):
            if outer.cores % inner.cores or outer.cores == inner.cores:
                raise ValueError(
                    f"levels go from the nearest to the farthest, each a multiple of the last: "
                    f"{outer.name} has {outer.cores} cores after {inner.name} with {inner.cores}"
                )
        return self

    @property
    def cores(self) -> int:
        """All cores of the machine."""
        return self.levels[-1].cores

    @property
    def node_cores(self) -> int:
        """Cores of a node: of the level that is called so, else of the last that is no network."""
        return _node(self.levels)

    def level(self, i: int, j: int) -> Level:
        """Return the smallest thing that two different cores share."""
        for level in self.levels:
            if i // level.cores == j // level.cores:
                return level
        raise IndexError(f"{self.name} has cores 0 to {self.cores - 1}, not {max(i, j)}")

    def latency(self, i: int, j: int) -> Decimal:
        """Return L(i, j), the exact seconds that a message of a few bytes takes from core i to core j."""
        return self.level(i, j).latency if i != j else Decimal()

    def latency_matrix(self, ranks: int) -> Floats:
        """Return L(i, j) of the first `ranks` cores, ranks × ranks, in seconds."""
        cores = np.arange(ranks)
        matrix = np.zeros((ranks, ranks))
        for level in reversed(self.levels):
            unit = cores // level.cores
            matrix[unit[:, None] == unit[None, :]] = float(level.latency)
        np.fill_diagonal(matrix, 0)
        return matrix

    def ranks_on_cores(self, mapping: str = "core", ranks: int | None = None) -> list[int]:
        """Return the core of each rank: filled by `core`, or dealt to the units of a level in turn.

        As the launchers' --map-by: `node` deals to the nodes, another level's name (or `socket`,
        `numa` …: the first word, in any case) to its units in a node, one node after the other.
        """
        return place_ranks(self.levels, mapping, self.cores if ranks is None else ranks)

    def changes(self, ranks: int) -> list[Level]:
        """Return the levels that fewer than `ranks` processes fill: beyond each, messages go farther."""
        return [level for level in self.levels if level.cores < ranks]
