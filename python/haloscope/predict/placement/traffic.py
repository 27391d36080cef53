"""Who sends how much to whom, as a profile has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from haloscope.base.arrays import Floats, Integers
from haloscope.base.errors import UsageError
from haloscope.profile import Profile

__all__ = ["Traffic"]


@dataclass(frozen=True)
class Traffic:
    """Messages and bytes from `senders[k]` to `receivers[k]`, each pair once, in both directions apart."""

    ranks: int
    senders: Integers
    receivers: Integers
    messages: Integers
    bytes: Integers

    @classmethod
    def of(cls, profile: Profile) -> Traffic:
        """Return all point-to-point traffic of a profile, that of neighbourhood collectives, too.

        Raises `UsageError` where there is nothing to place: one rank, no messages, or ranks are missing.
        """
        ranks = int(profile.info["ranks"])
        name = profile.path
        if ranks < 2:
            raise UsageError(f"{name}: one rank has nobody to be placed beside")
        recorded = len(profile.frame("processes", ["rank"]))
        if recorded < ranks:
            raise UsageError(
                f"{name}: has {recorded} of {ranks} ranks; record all, as what the others send is not known"
            )
        rows = profile.data.exchanges(["rank", "partner", "sends", "bytes_sent"])
        # Partners outside of the world are on nodes that nobody can choose.
        rows = rows.filter((pl.col("sends") > 0) & pl.col("partner").is_between(0, ranks - 1))
        pairs = (
            rows.group_by("rank", "partner").agg(pl.col("sends", "bytes_sent").sum()).sort("rank", "partner")
        )
        if not pairs["bytes_sent"].sum():
            raise UsageError(f"{name}: no rank sends anything to another: every placement is as good")
        columns = (pairs[column].to_numpy().astype(np.int64) for column in pairs.columns)
        return cls(ranks, *columns)

    @cached_property
    def total(self) -> int:
        """All bytes."""
        return int(self.bytes.sum())

    def across(self, node: Integers) -> int:
        """Return bytes between ranks on different nodes; `node` is that of each rank."""
        return int(self.bytes[node[self.senders] != node[self.receivers]].sum())

    @cached_property
    def links(self) -> Links:
        """The same without direction, for what weighs pairs of ranks."""
        apart = self.senders != self.receivers
        ends = np.stack([self.senders[apart], self.receivers[apart]])
        return Links.of(self.ranks, ends, self.bytes[apart].astype(np.float64))


@dataclass(frozen=True)
class Links:
    """An undirected graph: `ends[first[v]:first[v + 1]]` are joined to v, with so many bytes each."""

    first: Integers
    ends: Integers
    weights: Floats

    @classmethod
    def of(cls, vertices: int, pairs: Integers, weights: Floats) -> Links:
        """Return the graph of pairs (2 × pairs); several of the same two vertices are added up."""
        both = np.concatenate([pairs, pairs[::-1]], axis=1)
        keys, place = np.unique(both[0] * vertices + both[1], return_inverse=True)
        sums = np.bincount(place.ravel(), np.concatenate([weights, weights]), len(keys)).astype(np.float64)
        first = np.searchsorted(keys, np.arange(vertices + 1) * vertices)
        return cls(first.astype(np.int64), keys % vertices, sums)

    @property
    def vertices(self) -> int:
        """How many there are."""
        return len(self.first) - 1

    @cached_property
    def begins(self) -> Integers:
        """The vertex at which each end begins."""
        return np.repeat(np.arange(self.vertices), np.diff(self.first))

    def cut(self, part: Integers) -> float:
        """Return the bytes between parts; `part` is that of each vertex."""
        return float(self.weights[part[self.begins] != part[self.ends]].sum()) / 2

    def within(self, members: Sequence[int] | Integers) -> Links:
        """Return the graph of some vertices, numbered in this order."""
        number = np.full(self.vertices, -1, dtype=np.int64)
        number[np.asarray(members)] = np.arange(len(members))
        keep = (number[self.begins] >= 0) & (number[self.ends] > number[self.begins])
        pairs = np.stack([number[self.begins[keep]], number[self.ends[keep]]])
        return Links.of(len(members), pairs, self.weights[keep])
