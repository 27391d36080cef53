"""The traffic within and between nodes and sockets, for a page."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import ranks_text
from haloscope.explain.reporting.report_packing import bin_ranks, pack_rows
from haloscope.profile import Profile
from haloscope.profile.store import Hosts

# Largest number of nodes with a row of their own, and of ranks that a matrix orders by node.
_MOST_NODES = 256
_MOST_RANKS = 1024


def make_nodes(profile: Profile, pairs: pl.DataFrame, most_rows: int) -> dict[str, Any] | None:
    """Return the nodes with their ranks and sockets, and the bytes between them by region, exclusive.

    `pairs` are path, rank, partner and bytes_sent. `across` are bytes between different sockets of a node.
    None if no host is known.
    """
    hosts = profile.hosts
    if not hosts.names:
        return None
    sockets = _read_sockets(profile)
    apart = (
        ~sockets.compare_nodes(pairs["rank"], pairs["partner"]).fill_null(True) if sockets.names else False
    )
    rows = pairs.select(
        "path",
        pl.Series("row", hosts.codes(pairs["rank"].to_numpy())),
        pl.Series("column", hosts.codes(pairs["partner"].to_numpy())),
        pl.col("bytes_sent").alias("bytes"),
        pl.when(apart).then("bytes_sent").otherwise(0).alias("across"),
    ).filter(pl.col("row") >= 0, pl.col("column") >= 0)
    bin_size, joined = bin_ranks(rows, ["row", "column"], len(hosts.names), most_rows)
    types = {"row": "u2", "column": "u2", "bytes": "f8", "across": "f8"}
    highest = int(hosts.ranks.max())
    return {
        "names": [printable(name) for name in hosts.names],
        "nodes": [
            _describe_node(profile, sockets, node) for node in range(min(len(hosts.names), _MOST_NODES))
        ],
        "of_rank": hosts.codes(np.arange(highest + 1)).tolist() if highest < _MOST_RANKS else None,
        "traffic": pack_rows(profile.regions, joined, types, len(hosts.names), bin_size),
    }


def _read_sockets(profile: Profile) -> Hosts:
    """Return the sockets of ranks that are bound to a single one, in the form of hosts."""
    texts = profile.table("binding").select("rank", "sockets")
    bound = texts.filter(pl.col("sockets").str.contains(r"^[0-9]{1,5}$"))
    return Hosts(bound["rank"].to_numpy(), bound["sockets"].to_list())


def _describe_node(profile: Profile, sockets: Hosts, node: int) -> dict[str, Any]:
    ranks = profile.hosts.ranks[profile.hosts.codes(profile.hosts.ranks) == node]
    of_ranks = sockets.codes(ranks)
    here = sorted({sockets.names[code] for code in of_ranks[of_ranks >= 0].tolist()}, key=int)
    return {
        "count": len(ranks),
        "ranks": ranks_text(ranks.tolist()),
        "sockets": [
            f"socket {name}: {ranks_text(ranks[of_ranks == sockets.names.index(name)].tolist())}"
            for name in here
        ],
    }
