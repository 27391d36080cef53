"""Messages of Laghos on the 112 to 896 processes of Table IV, counted from its mesh and its partition.

Benchpark runs `laghos -p 3 -m data/box01_hex.mesh -rs 2 -rp 2`. The mesh has 4 x 2 x 2 zones. It is refined
twice, divided among the processes, and refined twice more. In an exchange the lowest process of those that
share a node sends to the others, or receives from them: one message per pair and direction, 8 bytes per node,
because each component of the velocity is solved for separately.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from metis_partition import partition

Zone = tuple[int, int, int]

# Positions of the zones, in the order of the file.
BOX: tuple[Zone, ...] = (
    *((0, 0, 0), (0, 1, 0), (0, 1, 1), (0, 0, 1), (1, 0, 1), (1, 1, 1), (1, 1, 0), (1, 0, 0)),
    *((2, 0, 0), (2, 1, 0), (2, 1, 1), (2, 0, 1), (3, 0, 1), (3, 1, 1), (3, 1, 0), (3, 0, 0)),
)
# Order of the eight zones that MFEM makes of one.
EIGHTHS: tuple[Zone, ...] = (
    *((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)),
    *((0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)),
)
SERIAL, PARALLEL, ORDER = 2, 2, 2  # refinements before and after the division, order of the velocity


@dataclass(frozen=True)
class Exchange:
    """Messages of one exchange from owners to others; the reverse has the same."""

    nodes: dict[tuple[int, int], int]  # of each owner and receiver

    @property
    def messages(self) -> int:
        """The number of messages."""
        return len(self.nodes)

    @property
    def bytes(self) -> int:
        """All bytes."""
        return 8 * sum(self.nodes.values())

    @property
    def largest(self) -> int:
        """The largest number of bytes that a process sends, either way."""
        sent: Counter[tuple[str, int]] = Counter()
        for (owner, other), nodes in self.nodes.items():
            sent["owner", owner] += 8 * nodes
            sent["other", other] += 8 * nodes
        return max(sent.values())


def refine(zones: Sequence[Zone], times: int) -> list[Zone]:
    """Return the positions after `times` refinements, in MFEM's order."""
    for _ in range(times):
        zones = [(2 * x + a, 2 * y + b, 2 * z + c) for x, y, z in zones for a, b, c in EIGHTHS]
    return list(zones)


def neighbours(zones: Sequence[Zone]) -> Iterator[list[int]]:
    """Yield the zones across a face of each zone."""
    at = {zone: number for number, zone in enumerate(zones)}
    steps = [step for step in product((-1, 0, 1), repeat=3) if sum(map(abs, step)) == 1]
    for x, y, z in zones:
        there = ((x + a, y + b, z + c) for a, b, c in steps)
        yield [at[zone] for zone in there if zone in at]


def exchange(zones: Sequence[Zone], owners: Sequence[int], *, edge: int) -> Exchange:
    """Return the messages between zones of processes, if a zone's edge has `edge` intervals of nodes."""
    processes: defaultdict[Zone, set[int]] = defaultdict(set)
    # Corners, edges, faces and the inside of a zone are at 0, 1 or 2 along each axis.
    for (x, y, z), owner in zip(zones, owners, strict=True):
        for a, b, c in product((0, 1, 2), repeat=3):
            processes[2 * x + a, 2 * y + b, 2 * z + c].add(owner)
    nodes: Counter[tuple[int, int]] = Counter()
    for place, sharing in processes.items():
        first, *others = sorted(sharing)
        inside = (edge - 1) ** sum(coordinate % 2 for coordinate in place)
        for other in others:
            nodes[first, other] += inside
    return Exchange(dict(nodes))


def published_exchange(ranks: int) -> Exchange:
    """Return the messages of one exchange of the paper's run on this number of processes."""
    zones = refine(BOX, SERIAL)
    owners = partition(list(neighbours(zones)), ranks)
    return exchange(zones, owners.tolist(), edge=ORDER * 2**PARALLEL)
