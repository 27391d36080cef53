"""A pattern: the messages, collectives and computing of each rank, in order.

A profile has sums without the order of events. A rule defines the order (docs/reference/simulate.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from haloscope.predict.simulate.collectives import Round, lower_collective, make_world_actions
from haloscope.predict.simulate.platform import SPEED
from haloscope.predict.simulate.rank_grids import Offset, RankGrid
from haloscope.predict.simulate.traces import BYTE, begin_region, end_region

Partners = dict[int, tuple[int, int]]
"""Numbers of messages and bytes, by partner."""


@dataclass(frozen=True)
class Collective:
    """A collective: its operation, number of ranks, bytes, and calls per rank."""

    operation: str
    size: int
    bytes: int
    calls: int


@dataclass
class Node:
    """A region: the largest number of instances over ranks, and instances, computing and messages by rank.

    On a grid, messages are stored by the offset of the neighbour: their number and bytes.
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
        entry = _add_to_partner(self.sends.setdefault(source, {}), to, number, size)
        self.recvs.setdefault(to, {})[source] = entry

    def list_messages(self, rank: int, grid: RankGrid | None) -> tuple[Partners, Partners]:
        """Return the received and the sent messages of a rank."""
        if grid is None:
            return self.recvs.get(rank, {}), self.sends.get(rank, {})
        received: Partners = {}
        sent: Partners = {}
        for (x, y, z), (number, size) in self.offsets.items():
            for partners, offset in ((received, (-x, -y, -z)), (sent, (x, y, z))):
                partner = grid.neighbour(rank, offset)
                if partner is not None:
                    _add_to_partner(partners, partner, number, size)
        return received, sent


def _add_to_partner(partners: Partners, partner: int, number: int, size: int) -> tuple[int, int]:
    before, old = partners.get(partner, (0, 0))
    partners[partner] = (before + number, old + size)
    return partners[partner]


@dataclass
class Pattern:
    """A pattern for replay."""

    what: ClassVar[str] = "pattern"
    ranks: int
    program: str
    how: str
    root: Node
    grid: RankGrid | None = None

    def iterate_actions(self, rank: int) -> Iterator[str]:
        """Yield SimGrid's actions of a rank, region by region."""
        posted: dict[int, tuple[Partners, Partners]] = {}  # by region, for all of its instances
        for instance in range(self.root.instances):
            yield from self._make_instance(self.root, instance, rank, posted)

    def _make_instance(
        self, node: Node, instance: int, rank: int, posted: dict[int, tuple[Partners, Partners]]
    ) -> Iterator[str]:
        own, seconds = node.own.get(rank, (0, 0.0))
        inside = bool(_even_share(own, node.instances, instance)) and node is not self.root
        if inside:
            yield begin_region(node.name, node.communication)
        if seconds:
            yield f"compute {seconds / node.instances * SPEED:.0f}"
        if node.path not in posted:
            posted[node.path] = node.list_messages(rank, self.grid)
        yield from _make_message_actions(node, instance, posted[node.path])
        for collective in node.collectives:
            for _ in range(_even_share(collective.calls, node.instances, instance)):
                yield from self._make_collective(collective, rank)
        for child in node.children:
            first = -(-instance * child.instances // node.instances)
            last = -(-(instance + 1) * child.instances // node.instances)
            for nested in range(first, last):
                yield from self._make_instance(child, nested, rank, posted)
        if inside:
            yield end_region(node.name)

    def _make_collective(self, collective: Collective, rank: int) -> Iterator[str]:
        if collective.size >= self.ranks:
            yield from make_world_actions(collective.operation, collective.bytes, self.ranks)
            return
        first = rank - rank % collective.size
        size = min(collective.size, self.ranks - first)
        for messages_of_round in lower_collective(collective.operation, size, collective.bytes):
            yield from _make_round_actions(messages_of_round, rank - first, first)


def _even_share(total: int, parts: int, index: int) -> int:
    """Return the share of `total` of part `index`, distributed evenly over `parts`."""
    return (index + 1) * total // parts - index * total // parts


def _make_message_actions(node: Node, instance: int, messages: tuple[Partners, Partners]) -> Iterator[str]:
    posted = 0
    for word, partners in zip(("irecv", "isend"), messages, strict=True):
        for partner, (number, size) in partners.items():
            share = _even_share(number, node.instances, instance)
            for _ in range(share):
                yield f"{word} {partner} 0 {size // number} {BYTE}"
            posted += share
    if posted:
        yield f"waitall {posted}"


def _make_round_actions(messages_of_round: Round, rank: int, first: int) -> Iterator[str]:
    posted = 0
    for source, to, size in messages_of_round:
        if to == rank:
            yield f"irecv {first + source} 1 {size} {BYTE}"
        if source == rank:
            yield f"isend {first + to} 1 {size} {BYTE}"
        posted += (to == rank) + (source == rank)
    if posted:
        yield f"waitall {posted}"
