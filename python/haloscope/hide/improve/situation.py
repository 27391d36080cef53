"""What decides which remedies are tried: the profile of the unchanged run, its launch, and the machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from haloscope.base.launch import LaunchCommand
from haloscope.base.objects import Abi

if TYPE_CHECKING:
    from haloscope.profile import Profile

SHARE = 0.1  # smallest share of the time, messages or bytes that is a reason for a remedy


@dataclass(frozen=True)
class Situation:
    """The unchanged run. `taken` are the bytes that its processes took from the system on this node."""

    profile: Profile
    launch: LaunchCommand
    abi: Abi
    environment: Mapping[str, str]
    taken: int = 0

    @cached_property
    def cores(self) -> int:
        """Cores of this node, as that of all nodes."""
        return len(os.sched_getaffinity(0))

    @cached_property
    def ranks_per_node(self) -> int:
        """The largest number of ranks of a node."""
        most = self.profile.frame("processes", ["host"])["host"].value_counts()["count"].max()
        return most if isinstance(most, int) else 0

    @property
    def is_crowded(self) -> bool:
        """Whether a node has more ranks than cores."""
        return self.ranks_per_node > self.cores

    @property
    def has_nodes(self) -> bool:
        """Whether there are several nodes."""
        return len(self.profile.hosts.names) > 1

    @cached_property
    def memory(self) -> float:
        """Mean memory of a rank (bytes), 0 if it is unknown."""
        mean = self.profile.frame("processes", ["memory_max"])["memory_max"].mean()
        return float(mean) if isinstance(mean, int | float) else 0.0

    def share(self, kind: str) -> float:
        """Return the share of the ranks' time in calls of a kind, `p2p` or `coll`."""
        if not self._whole:
            return 0.0
        return float(self._whole[f"{kind}_time_mean"] or 0) / max(float(self._whole["time_mean"] or 0), 1e-9)

    def share_of_bytes(self, least: int) -> float:
        """Return the share of the bytes that are in messages of `least` bytes or more; 0 without messages."""
        rows = self.sizes.with_columns((pl.col("bytes") * pl.col("messages")).alias("volume"))
        long = rows.filter(pl.col("bytes") >= least)
        return float(long["volume"].sum()) / max(float(rows["volume"].sum()), 1.0)

    @cached_property
    def sizes(self) -> pl.DataFrame:
        """Sizes of the messages of the whole program."""
        rows = self.profile.table("sizes")
        return rows.filter((pl.col("region") == pl.col("region").first()) & (pl.col("kind") == "p2p"))

    @cached_property
    def _whole(self) -> dict[str, Any]:
        rows = self.profile.table("regions")
        return rows.row(0, named=True) if len(rows) else {}
