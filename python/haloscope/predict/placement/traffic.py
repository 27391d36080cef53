"""Who sends how much to whom, as a profile has it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from haloscope.base.arrays import Integers
from haloscope.base.errors import UsageError
from haloscope.base.partition import Links
from haloscope.profile import Profile


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
        return Links.from_pairs(self.ranks, ends, self.bytes[apart].astype(np.float64))
