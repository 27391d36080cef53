"""The pattern of a profile, as recorded or scaled to a different number of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from haloscope import explain
from haloscope.base.arrays import Floats
from haloscope.base.errors import UsageError
from haloscope.base.units import noun_text
from haloscope.predict.simulate.collectives import blocking_name
from haloscope.predict.simulate.pattern import Collective, Node, Pattern
from haloscope.predict.simulate.rank_grids import RankGrid, detect_grid

SCALES = ("weak", "strong")
IN_MPI = ("p2p_time", "coll_time", "rma_time", "io_time", "other_time", "poll_time")
_TABLES = ("ranks", "partners", "collectives")


@dataclass(frozen=True)
class Grown:
    """The mean work per rank and region at a different number of ranks, by the region's path.

    `computing` is in seconds; the others are factors relative to the profile. The factors of messages apply
    to patterns without a grid: on a grid the neighbours determine the messages.
    """

    how: str
    is_grid: bool
    computing: Floats
    sends: Floats
    message_bytes: Floats
    calls: Floats
    call_bytes: Floats

    @classmethod
    def same(cls, is_grid: bool, computing: Floats) -> Grown:
        """Return no growth: all ranks compute for the same time."""
        ones = np.ones(len(computing))
        return cls("all ranks equal", is_grid, computing, ones, ones, ones, ones)


def require_pattern(opened: explain.Profile) -> None:
    """Raise `UsageError` if a profile has no pattern, `ProfileError` if it is damaged."""
    opened.verify()
    for table in _TABLES:
        if lacking := opened.lacks(table):
            raise UsageError(f"{opened.path}: has no pattern to simulate: {lacking}")


def make_pattern(
    profile: Path, ranks: int | None, scale: str, compute: float, grown: Grown | None = None
) -> Pattern:
    """Return the pattern of a profile, scaled if `ranks` differs from its number of ranks.

    With `grown`, each rank has that work.
    """
    if scale not in SCALES:
        raise UsageError(f"unknown scaling {scale!r}; choose weak or strong")
    with explain.open(profile) as opened:
        require_pattern(opened)
        return _Reading(opened, compute).pattern(ranks, scale, grown)


def find_grid(opened: explain.Profile) -> RankGrid | None:
    """Return the grid of ranks that explains the pairs of partners, None if there is none."""
    partners = read_sends(opened)
    return detect_grid(int(opened.info["ranks"]), partners["rank"].to_numpy(), partners["partner"].to_numpy())


def read_sends(opened: explain.Profile) -> pl.DataFrame:
    """Return the messages between ranks, without those to processes outside the world."""
    return opened.frame("partners").filter((pl.col("sends") > 0) & (pl.col("partner") >= 0))


def read_computing(opened: explain.Profile) -> pl.DataFrame:
    """Return path, rank, instances, and seconds outside nested regions and MPI."""
    rows = opened.frame("ranks", ["path", "rank", "instances", "time", *IN_MPI])
    times = rows.select("path", "rank", "time").join(opened.frame("paths", ["path", "parent"]), on="path")
    nested = times.group_by(pl.col("parent").alias("path"), "rank").agg(nested=pl.col("time").sum())
    left = pl.col("time") - pl.col("nested").fill_null(0) - pl.sum_horizontal(IN_MPI)
    return rows.join(nested, on=["path", "rank"], how="left").select(
        "path", "rank", "instances", compute=left.clip(0)
    )


class _Reading:
    """Converts the tables of a profile to a pattern."""

    def __init__(self, profile: explain.Profile, compute: float) -> None:
        self.profile = profile
        self.info: dict[str, Any] = dict(profile.info)
        self.ranks = int(self.info["ranks"])
        self.compute = compute
        self.paths = profile.frame("paths")
        self.rows = profile.frame("ranks")
        self.partners = read_sends(profile)
        self.collectives = profile.frame("collectives")

    def pattern(self, ranks: int | None, scale: str, grown: Grown | None) -> Pattern:
        count = ranks or self.ranks
        nodes, grid = self._tree(), None
        if grown is not None:
            how = f"scaled {scale}ly from {noun_text(self.ranks, 'rank')}, {grown.how}"
            grid = self._fill_grown(nodes, count, scale, grown)
        elif count == self.ranks:
            how = "as recorded"
            self._fill(nodes)
        else:
            how = f"scaled {scale}ly from {noun_text(self.ranks, 'rank')}"
            grid = self._fill_scaled(nodes, count, scale)
        self._fill_collectives(nodes, count, grown)
        return Pattern(count, str(self.info.get("program", "program")), how, nodes[0], grid)

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
        return read_computing(self.profile).with_columns(pl.col("compute") * self.compute)

    def _fill(self, nodes: Sequence[Node]) -> None:
        for path, rank, instances, seconds in self._computing().iter_rows():
            nodes[path].own[rank] = (instances, seconds)
        for path, rank, partner, sends, size in self._messages().iter_rows():
            nodes[path].add_message(rank, partner, sends, size)

    def _messages(self) -> pl.DataFrame:
        return self.partners.select("path", "rank", "partner", "sends", "bytes_sent")

    def _fill_scaled(self, nodes: Sequence[Node], count: int, scale: str) -> RankGrid:
        grid = find_grid(self.profile)
        if grid is None:
            raise UsageError(
                f"no grid of {noun_text(self.ranks, 'rank')} explains the partners, so the pattern cannot be "
                "scaled; leave out -n to replay it as recorded, or give profiles of five numbers of ranks"
            )
        grow = self._grow(count, scale)
        mean = self._computing().group_by("path").agg(pl.col("instances").max(), pl.col("compute").mean())
        for path, instances, seconds in mean.iter_rows():
            nodes[path].own = dict.fromkeys(range(count), (instances, seconds * grow))
        self._fill_offsets(nodes, grid, grow)
        return grid.scale(count)

    def _grow(self, count: int, scale: str) -> float:
        return self.ranks / count if scale == "strong" else 1.0

    def _fill_grown(self, nodes: Sequence[Node], count: int, scale: str, grown: Grown) -> RankGrid | None:
        if not grown.is_grid:
            self._fill_tiles(nodes, count, grown)
            return None
        grid = find_grid(self.profile)
        assert grid is not None
        instances = self.rows.group_by("path").agg(pl.col("instances").max())
        for path, visits in instances.iter_rows():
            seconds = float(grown.computing[path]) * self.compute
            nodes[path].own = dict.fromkeys(range(count), (visits, seconds))
        self._fill_offsets(nodes, grid, self._grow(count, scale))
        return grid.scale(count)

    def _fill_tiles(self, nodes: Sequence[Node], count: int, grown: Grown) -> None:
        """Repeat the recorded ranks as tiles without messages between tiles."""
        own = self._computing()
        before = own.group_by("path").agg(pl.col("compute").sum() / self.ranks)
        times = {
            path: float(grown.computing[path]) * self.compute / mean if mean else 0.0
            for path, mean in before.iter_rows()
        }
        messages = self._messages()
        for first in range(0, count, self.ranks):
            for path, rank, instances, seconds in own.iter_rows():
                if first + rank < count:
                    nodes[path].own[first + rank] = (instances, seconds * times[path])
            for path, rank, partner, sends, size in messages.iter_rows():
                if first + max(rank, partner) < count:
                    number = max(1, round(sends * grown.sends[path]))
                    large = round(size / sends * number * grown.message_bytes[path])
                    nodes[path].add_message(first + rank, first + partner, number, large)

    def _fill_offsets(self, nodes: Sequence[Node], grid: RankGrid, grow: float) -> None:
        """Set the mean messages and bytes per neighbour in each region, over the ranks with that
        neighbour."""
        offsets = grid.offsets(self.partners["rank"].to_numpy(), self.partners["partner"].to_numpy())
        frame = self.partners.with_columns(
            **{name: pl.Series(offsets[:, axis]) for axis, name in enumerate("xyz")}
        )
        means = frame.group_by("path", "x", "y", "z", maintain_order=True).agg(
            pl.col("sends").mean().round(), pl.col("bytes_sent").mean().round()
        )
        for path, x, y, z, sends, size in means.iter_rows():
            offset = int(x), int(y), int(z)
            axes = int(np.count_nonzero(offset))  # 1 for faces, 2 for edges, 3 for corners
            shrunk = round(int(size) * grow ** (max(0, 3 - axes) / 3))
            nodes[path].offsets[offset] = (max(1, int(sends)), shrunk)

    def _fill_collectives(self, nodes: Sequence[Node], count: int, grown: Grown | None) -> None:
        inside = dict(self.rows.group_by("path").len().iter_rows())
        grouped = self.collectives.group_by(
            "path", "operation", "comm_size", "bytes", maintain_order=True
        ).agg(pl.col("calls").sum())
        for path, operation, size, data, calls in grouped.iter_rows():
            each = max(1, round(calls / max(1, min(inside.get(path, self.ranks), self.ranks))))
            members = count if size >= self.ranks else size
            if grown is not None:
                each = max(1, round(each * grown.calls[path]))
            large = data if grown is None else round(data * grown.call_bytes[path])
            if members > 1:
                nodes[path].collectives.append(Collective(blocking_name(operation), members, large, each))
