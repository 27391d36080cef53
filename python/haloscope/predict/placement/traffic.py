"""Messages and bytes between pairs of ranks, from a profile."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from haloscope.base.arrays import Integers
from haloscope.base.errors import UsageError
from haloscope.base.partition import Links
from haloscope.base.units import noun_text
from haloscope.profile import Profile


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
        return Links.from_pairs(self.ranks, ends, self.bytes[is_remote].astype(np.float64))
