"""The pattern of a profile: what each rank sends, when, and what it computes between.

A profile has sums, not the order of events: a rule makes one (docs/reference/simulate.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from haloscope import explain
from haloscope.base.errors import UsageError
from haloscope.predict.simulate._collectives import Round, blocking_name, lowered, of_all
from haloscope.predict.simulate._description import SPEED
from haloscope.predict.simulate._grids import Grid, Offset, detect
from haloscope.predict.simulate._traces import BYTE, region_begin, region_end

__all__ = ["Collective", "Node", "Pattern"]

SCALES = ("weak", "strong")


@dataclass(frozen=True)
class Collective:
    """So many calls of each of the ranks that take part."""

    operation: str
    size: int
    bytes: int
    calls: int


@dataclass
class Node:
    """A region: the most instances of a rank; of each rank its own, its computing, its messages."""

    path: int
    name: str
    communication: bool
    instances: int = 1
    children: list[Node] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    own: dict[int, tuple[int, float]] = field(default_factory=dict)
    sends: dict[int, dict[int, tuple[int, int]]] = field(default_factory=dict)
    recvs: dict[int, dict[int, tuple[int, int]]] = field(default_factory=dict)

    def add_message(self, source: int, to: int, number: int, size: int) -> None:
        before, old = self.sends.setdefault(source, {}).get(to, (0, 0))
        entry = (before + number, old + size)
        self.sends[source][to] = entry
        self.recvs.setdefault(to, {})[source] = entry


@dataclass
class Pattern:
    """What is replayed."""

    what: ClassVar[str] = "pattern"
    ranks: int
    program: str
    how: str
    root: Node

    @classmethod
    def of(cls, profile: Path, ranks: int | None, scale: str, compute: float) -> Pattern:
        """Read a profile; scale it if `ranks` is not its own number."""
        if scale not in SCALES:
            raise UsageError(f"no way to scale is called {scale!r}; there are weak and strong")
        with explain.open(profile) as opened:
            opened.verify()
            for table in ("ranks", "partners", "collectives"):
                if lacking := opened.lacks(table):
                    raise UsageError(f"{profile}: has no pattern to simulate: {lacking}")
            return _Reading(opened, compute).pattern(ranks, scale)

    def actions(self, rank: int) -> Iterator[str]:
        """Yield SimGrid's actions of a rank, region by region."""
        for instance in range(self.root.instances):
            yield from self._instance(self.root, instance, rank, True)

    def _instance(self, node: Node, instance: int, rank: int, outermost: bool) -> Iterator[str]:
        own, seconds = node.own.get(rank, (0, 0.0))
        inside = bool(_share(own, node.instances, instance)) and not outermost
        if inside:
            yield region_begin(node.name, node.communication)
        if seconds:
            yield f"compute {seconds / node.instances * SPEED:.0f}"
        yield from _messages(node, instance, rank)
        for collective in node.collectives:
            for _ in range(_share(collective.calls, node.instances, instance)):
                yield from self._collective(collective, rank)
        for child in node.children:
            first = -(-instance * child.instances // node.instances)
            last = -(-(instance + 1) * child.instances // node.instances)
            for nested in range(first, last):
                yield from self._instance(child, nested, rank, False)
        if inside:
            yield region_end(node.name)

    def _collective(self, collective: Collective, rank: int) -> Iterator[str]:
        if collective.size >= self.ranks:
            yield from of_all(collective.operation, collective.bytes, self.ranks)
            return
        first = rank - rank % collective.size
        size = min(collective.size, self.ranks - first)
        for one in lowered(collective.operation, size, collective.bytes):
            yield from _round(one, rank - first, first)


def _share(total: int, parts: int, index: int) -> int:
    """Return how much of `total` falls to one of `parts`, spread evenly."""
    return (index + 1) * total // parts - index * total // parts


def _messages(node: Node, instance: int, rank: int) -> Iterator[str]:
    posted = 0
    for word, partners in (("irecv", node.recvs), ("isend", node.sends)):
        for partner, (number, size) in partners.get(rank, {}).items():
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


class _Reading:
    """A profile's tables as a pattern."""

    def __init__(self, profile: explain.Profile, compute: float) -> None:
        self.info: dict[str, Any] = dict(profile.info)
        self.ranks = int(self.info["ranks"])
        self.compute = compute
        self.paths = profile.frame("paths")
        self.rows = profile.frame("ranks")
        self.partners = profile.frame("partners").filter((pl.col("sends") > 0) & (pl.col("partner") >= 0))
        self.collectives = profile.frame("collectives")

    def pattern(self, ranks: int | None, scale: str) -> Pattern:
        count = ranks or self.ranks
        how = "as recorded" if count == self.ranks else f"scaled {scale}ly from {self.ranks} ranks"
        nodes = self._tree()
        grow = 1.0
        if count == self.ranks:
            self._fill(nodes)
        else:
            grow = self.ranks / count if scale == "strong" else 1.0
            self._fill_scaled(nodes, count, grow)
        self._fill_collectives(nodes, count)
        return Pattern(count, str(self.info.get("program", "program")), how, nodes[0])

    def _tree(self) -> list[Node]:
        nodes: list[Node] = []
        most = dict(self.rows.group_by("path").agg(pl.col("instances").max()).iter_rows())
        for path, parent, name, communication in self.paths.select(
            "path", "parent", "name", "communication"
        ).iter_rows():
            node = Node(path, str(name), bool(communication), max(1, most.get(path, 1)))
            nodes.append(node)
            if parent >= 0:
                nodes[parent].children.append(node)
        return nodes

    def _computing(self) -> pl.DataFrame:
        """Return seconds of each path and rank that are neither in nested regions nor in MPI."""
        parents = self.paths.select("path", "parent")
        times = self.rows.select("path", "rank", "time").join(parents, on="path")
        nested = times.group_by(pl.col("parent").alias("path"), "rank").agg(nested=pl.col("time").sum())
        mpi = pl.sum_horizontal("p2p_time", "coll_time", "rma_time", "io_time", "other_time")
        left = pl.col("time") - pl.col("nested").fill_null(0) - mpi
        return (
            self.rows.join(nested, on=["path", "rank"], how="left")
            .with_columns(compute=(left.clip(0) * self.compute))
            .select("path", "rank", "instances", "compute")
        )

    def _fill(self, nodes: Sequence[Node]) -> None:
        for path, rank, instances, seconds in self._computing().iter_rows():
            nodes[path].own[rank] = (instances, seconds)
        columns = ("path", "rank", "partner", "sends", "bytes_sent")
        for path, rank, partner, sends, size in self.partners.select(columns).iter_rows():
            nodes[path].add_message(rank, partner, sends, size)

    def _fill_scaled(self, nodes: Sequence[Node], count: int, grow: float) -> None:
        senders = self.partners["rank"].to_numpy()
        grid = detect(self.ranks, senders, self.partners["partner"].to_numpy())
        if grid is None:
            raise UsageError(
                f"no grid of {self.ranks} ranks explains who sends to whom: the pattern cannot be "
                "scaled; leave out -n to replay it as recorded"
            )
        mean = self._computing().group_by("path").agg(pl.col("instances").max(), pl.col("compute").mean())
        for path, instances, seconds in mean.iter_rows():
            nodes[path].own = dict.fromkeys(range(count), (instances, seconds * grow))
        larger = grid.grown(count)
        for path, offsets in self._by_offset(grid).items():
            for offset, (sends, size) in offsets.items():
                shrunk = round(size * grow ** (max(0, 3 - _axes(offset)) / 3))
                _spread(nodes[path], larger, offset, sends, shrunk)

    def _by_offset(self, grid: Grid) -> dict[int, dict[Offset, tuple[int, int]]]:
        """Return the mean number of messages and of bytes of the ranks that have that neighbour."""
        offsets = grid.offsets(self.partners["rank"].to_numpy(), self.partners["partner"].to_numpy())
        frame = self.partners.with_columns(
            **{name: pl.Series(offsets[:, axis]) for axis, name in enumerate("xyz")}
        )
        found: dict[int, dict[Offset, tuple[int, int]]] = defaultdict(dict)
        means = frame.group_by("path", "x", "y", "z", maintain_order=True).agg(
            pl.col("sends").mean().round(), pl.col("bytes_sent").mean().round()
        )
        for path, x, y, z, sends, size in means.iter_rows():
            found[path][int(x), int(y), int(z)] = (max(1, int(sends)), int(size))
        return found

    def _fill_collectives(self, nodes: Sequence[Node], count: int) -> None:
        inside = dict(self.rows.group_by("path").len().iter_rows())
        grouped = self.collectives.group_by(
            "path", "operation", "comm_size", "bytes", maintain_order=True
        ).agg(pl.col("calls").sum())
        for path, operation, size, data, calls in grouped.iter_rows():
            each = max(1, round(calls / max(1, min(inside.get(path, self.ranks), self.ranks))))
            members = count if size >= self.ranks else size
            if members > 1:
                nodes[path].collectives.append(Collective(blocking_name(operation), members, data, each))


def _axes(offset: Offset) -> int:
    """Return how many directions a neighbour is off in: 1 across a face, 2 an edge, 3 a corner."""
    return int(np.count_nonzero(offset))


def _spread(node: Node, grid: Grid, offset: Offset, sends: int, size: int) -> None:
    for rank in range(grid.dims[0] * grid.dims[1] * grid.dims[2]):
        partner = grid.neighbour(rank, offset)
        if partner is not None:
            node.add_message(rank, partner, sends, size)
