"""A pattern: what each rank sends, when, and what it computes between.

A profile has sums, not the order of events: a rule makes one (docs/reference/simulate.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from haloscope.predict.simulate.collectives import Round, lower_collective, of_all
from haloscope.predict.simulate.description import SPEED
from haloscope.predict.simulate.rank_grids import Offset, RankGrid
from haloscope.predict.simulate.traces import BYTE, region_begin, region_end

Partners = dict[int, tuple[int, int]]
"""How many messages and bytes, by partner."""


@dataclass(frozen=True)
class Collective:
    """So many calls of each of the ranks that take part."""

    operation: str
    size: int
    bytes: int
    calls: int


@dataclass
class Node:
    """A region: the most instances of a rank; of each rank its own, its computing, its messages.

    On a grid, messages are those to neighbours: as many, and bytes, for each offset.
    """

    path: int
    name: str
    communication: bool
    instances: int = 1
    children: list[Node] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    own: dict[int, tuple[int, float]] = field(default_factory=dict)
    sends: dict[int, Partners] = field(default_factory=dict)
    recvs: dict[int, Partners] = field(default_factory=dict)
    offsets: dict[Offset, tuple[int, int]] = field(default_factory=dict)

    def add_message(self, source: int, to: int, number: int, size: int) -> None:
        entry = _added(self.sends.setdefault(source, {}), to, number, size)
        self.recvs.setdefault(to, {})[source] = entry

    def messages(self, rank: int, grid: RankGrid | None) -> tuple[Partners, Partners]:
        """Return what a rank receives and what it sends."""
        if grid is None:
            return self.recvs.get(rank, {}), self.sends.get(rank, {})
        received: Partners = {}
        sent: Partners = {}
        for (x, y, z), (number, size) in self.offsets.items():
            for partners, offset in ((received, (-x, -y, -z)), (sent, (x, y, z))):
                partner = grid.neighbour(rank, offset)
                if partner is not None:
                    _added(partners, partner, number, size)
        return received, sent


def _added(partners: Partners, partner: int, number: int, size: int) -> tuple[int, int]:
    before, old = partners.get(partner, (0, 0))
    partners[partner] = (before + number, old + size)
    return partners[partner]


@dataclass
class Pattern:
    """What is replayed."""

    what: ClassVar[str] = "pattern"
    ranks: int
    program: str
    how: str
    root: Node
    grid: RankGrid | None = None

    def actions(self, rank: int) -> Iterator[str]:
        """Yield SimGrid's actions of a rank, region by region."""
        posted: dict[int, tuple[Partners, Partners]] = {}  # by region: for all of its instances
        for instance in range(self.root.instances):
            yield from self._instance(self.root, instance, rank, posted)

    def _instance(
        self, node: Node, instance: int, rank: int, posted: dict[int, tuple[Partners, Partners]]
    ) -> Iterator[str]:
        own, seconds = node.own.get(rank, (0, 0.0))
        inside = bool(_share(own, node.instances, instance)) and node is not self.root
        if inside:
            yield region_begin(node.name, node.communication)
        if seconds:
            yield f"compute {seconds / node.instances * SPEED:.0f}"
        if node.path not in posted:
            posted[node.path] = node.messages(rank, self.grid)
        yield from _messages(node, instance, posted[node.path])
        for collective in node.collectives:
            for _ in range(_share(collective.calls, node.instances, instance)):
                yield from self._collective(collective, rank)
        for child in node.children:
            first = -(-instance * child.instances // node.instances)
            last = -(-(instance + 1) * child.instances // node.instances)
            for nested in range(first, last):
                yield from self._instance(child, nested, rank, posted)
        if inside:
            yield region_end(node.name)

    def _collective(self, collective: Collective, rank: int) -> Iterator[str]:
        if collective.size >= self.ranks:
            yield from of_all(collective.operation, collective.bytes, self.ranks)
            return
        first = rank - rank % collective.size
        size = min(collective.size, self.ranks - first)
        for one in lower_collective(collective.operation, size, collective.bytes):
            yield from _round(one, rank - first, first)


def _share(total: int, parts: int, index: int) -> int:
    """Return how much of `total` falls to one of `parts`, spread evenly."""
    return (index + 1) * total // parts - index * total // parts


def _messages(node: Node, instance: int, messages: tuple[Partners, Partners]) -> Iterator[str]:
    posted = 0
    for word, partners in zip(("irecv", "isend"), messages, strict=True):
        for partner, (number, size) in partners.items():
            share = _share(number, node.instances, instance)
            for _ in range(share):
                yield f"{word} {partner} 0 {size // number} {BYTE}"
            posted += share
    if posted:
        yield f"waitall {posted}"


def _round(one: Round, place: int, first: int) -> Iterator[str]:
    posted = 0
    for source, to, size in one:
        if to == place:
            yield f"irecv {first + source} 1 {size} {BYTE}"
        if source == place:
            yield f"isend {first + to} 1 {size} {BYTE}"
        posted += (to == place) + (source == place)
    if posted:
        yield f"waitall {posted}"
