"""Messages and bytes between pairs of ranks, from a profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from haloscope.base.arrays import Floats, Integers
from haloscope.base.errors import UsageError
from haloscope.base.units import noun_text
from haloscope.profile import Profile

__all__ = ["Traffic"]


@dataclass(frozen=True)
class Traffic:
    """Messages and bytes from `senders[k]` to `receivers[k]`; each directed pair occurs once."""

    ranks: int
    senders: Integers
    receivers: Integers
    messages: Integers
    bytes: Integers

    @classmethod
    def of(cls, profile: Profile) -> Traffic:
        """Return all point-to-point traffic of a profile, including neighbourhood collectives.

        Raises:
            UsageError: There is one rank, there are no messages, or ranks are missing.
        """
        ranks = int(profile.info["ranks"])
        name = profile.path
        if ranks < 2:
            raise UsageError(f"{name}: has one rank, so there is nothing to place")
        recorded = len(profile.frame("processes", ["rank"]))
        if recorded < ranks:
            raise UsageError(
                f"{name}: has {recorded} of {noun_text(ranks, 'rank')}; record all ranks, as the messages of"
                " the others are unknown"
            )
        rows = profile.data.exchanges(["rank", "partner", "sends", "bytes_sent"])
        # The nodes of partners outside the world cannot be chosen.
        rows = rows.filter((pl.col("sends") > 0) & pl.col("partner").is_between(0, ranks - 1))
        pairs = (
            rows.group_by("rank", "partner").agg(pl.col("sends", "bytes_sent").sum()).sort("rank", "partner")
        )
        if not pairs["bytes_sent"].sum():
            raise UsageError(f"{name}: ranks send no messages to each other: every placement is equally good")
        columns = (pairs[column].to_numpy().astype(np.int64) for column in pairs.columns)
        return cls(ranks, *columns)

    @cached_property
    def total(self) -> int:
        """Sum of all bytes."""
        return int(self.bytes.sum())

    def count_remote_bytes(self, node: Integers) -> int:
        """Return bytes between ranks on different nodes; `node` is that of each rank."""
        return int(self.bytes[node[self.senders] != node[self.receivers]].sum())

    @cached_property
    def links(self) -> Links:
        """The traffic as an undirected graph."""
        is_remote = self.senders != self.receivers
        ends = np.stack([self.senders[is_remote], self.receivers[is_remote]])
        return Links.of(self.ranks, ends, self.bytes[is_remote].astype(np.float64))


@dataclass(frozen=True)
class Links:
    """An undirected graph: `ends[first[v]:first[v + 1]]` are the neighbours of v, `weights` the bytes of"
    " each edge."""

    first: Integers
    ends: Integers
    weights: Floats

    @classmethod
    def of(cls, vertices: int, pairs: Integers, weights: Floats) -> Links:
        """Return the graph of pairs, shape (2, pairs); weights of equal pairs are summed."""
        both = np.concatenate([pairs, pairs[::-1]], axis=1)
        keys, index = np.unique(both[0] * vertices + both[1], return_inverse=True)
        sums = np.bincount(index.ravel(), np.concatenate([weights, weights]), len(keys)).astype(np.float64)
        first = np.searchsorted(keys, np.arange(vertices + 1) * vertices)
        return cls(first.astype(np.int64), keys % vertices, sums)

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return len(self.first) - 1

    @cached_property
    def begins(self) -> Integers:
        """The vertex at which each end begins."""
        return np.repeat(np.arange(self.vertices), np.diff(self.first))

    def sum_cut_weights(self, part: Integers) -> float:
        """Return the bytes between parts; `part` is that of each vertex."""
        return float(self.weights[part[self.begins] != part[self.ends]].sum()) / 2

    def make_subgraph(self, members: Sequence[int] | Integers) -> Links:
        """Return the subgraph of these vertices, numbered in this order."""
        number = np.full(self.vertices, -1, dtype=np.int64)
        number[np.asarray(members)] = np.arange(len(members))
        keep = (number[self.begins] >= 0) & (number[self.ends] > number[self.begins])
        pairs = np.stack([number[self.begins[keep]], number[self.ends[keep]]])
        return Links.of(len(members), pairs, self.weights[keep])
