"""The traffic within and between nodes and sockets, for a page."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from haloscope.base.arrays import Flags, Integers
from haloscope.base.errors import printable
from haloscope.base.units import ranks_text
from haloscope.explain.reporting.report_packing import bin_ranks, pack_rows
from haloscope.profile import Profile
from haloscope.profile.tables import numbers_of

# Largest number of nodes with a row of their own, and of ranks that a matrix orders by node.
_MOST_NODES = 256
_MOST_RANKS = 1024


def make_nodes(profile: Profile, most_rows: int) -> dict[str, Any] | None:
    """Return the nodes with their ranks and sockets, and the bytes between them by region, exclusive.

    `across` are bytes between different sockets of a node. None if no host is known.
    """
    hosts = profile.hosts
    if not hosts.names:
        return None
    sockets = _read_sockets(profile)
    pairs = profile.data.exchanges(["path", "rank", "partner", "bytes_sent"])
    ranks, partners = pairs["rank"].to_numpy(), pairs["partner"].to_numpy()
    rows = pairs.select(
        "path",
        pl.Series("row", hosts.codes(ranks)),
        pl.Series("column", hosts.codes(partners)),
        pl.col("bytes_sent").alias("bytes"),
        pl.when(pl.Series(_are_apart(profile, sockets, ranks, partners)))
        .then("bytes_sent")
        .otherwise(0)
        .alias("across"),
    ).filter(pl.col("row") >= 0, pl.col("column") >= 0)
    bin_size, joined = bin_ranks(rows, ["row", "column"], len(hosts.names), most_rows)
    types = {"row": "u2", "column": "u2", "bytes": "f8", "across": "f8"}
    own = hosts.ranks[hosts.ranks >= 0]
    return {
        "names": [printable(name) for name in hosts.names],
        "nodes": [
            _describe_node(profile, sockets, node) for node in range(min(len(hosts.names), _MOST_NODES))
        ],
        "of_rank": hosts.codes(np.arange(own.max() + 1)).tolist()
        if own.max(initial=0) < _MOST_RANKS
        else None,
        "traffic": pack_rows(profile.regions, joined, types, len(hosts.names), bin_size),
    }


def _read_sockets(profile: Profile) -> Integers:
    """Return the socket of each rank of the hosts, −1 if it is unknown or not a single one."""
    texts = dict(profile.table("binding").select("rank", "sockets").drop_nulls().iter_rows())
    numbers = [numbers_of(texts.get(rank, "")) or [] for rank in profile.hosts.ranks.tolist()]
    return np.array([of_rank[0] if len(of_rank) == 1 else -1 for of_rank in numbers], dtype=np.int64)


def _are_apart(profile: Profile, sockets: Integers, ranks: Integers, partners: Integers) -> Flags:
    known = profile.hosts.ranks

    def find(of: Integers) -> Integers:
        places = np.minimum(np.searchsorted(known, of), len(known) - 1)
        return np.where(known[places] == of, sockets[places], -1)

    ours, theirs = find(ranks), find(partners)
    apart: Flags = (ours >= 0) & (theirs >= 0) & (ours != theirs)
    return apart


def _describe_node(profile: Profile, sockets: Integers, node: int) -> dict[str, Any]:
    is_here = profile.hosts.codes(profile.hosts.ranks) == node
    ranks, of_ranks = profile.hosts.ranks[is_here], sockets[is_here]
    return {
        "count": len(ranks),
        "ranks": ranks_text(ranks.tolist()),
        "sockets": [
            f"socket {socket}: {ranks_text(ranks[of_ranks == socket].tolist())}"
            for socket in np.unique(of_ranks[of_ranks >= 0]).tolist()
        ],
    }
