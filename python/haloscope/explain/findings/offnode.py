"""The rule about partners on other nodes that a different placement would bring together."""

from __future__ import annotations

import numpy as np
import polars as pl

from haloscope.base.partition import Links, grow_parts, partition_graph
from haloscope.base.units import bytes_text, percent_text
from haloscope.explain.findings.finding import Evidence, Finding
from haloscope.explain.findings.ground import Ground
from haloscope.profile.store import PROGRAM

# Smallest reduction of the bytes between nodes by a simple placement. The best placement saves more.
_LEAST_FEWER = 0.15
_MOST_RANKS = 2048


def find_scattered_partners(ground: Ground) -> list[Finding]:
    """Find ranks whose partners are on other nodes, although a different placement brings them together."""
    ranks = len(ground.ranks)
    hosts = {name: number for number, name in enumerate(dict.fromkeys(ground.hosts))}
    if len(hosts) < 2 or ranks <= len(hosts) or ranks > _MOST_RANKS or None in hosts:
        return []
    places = {rank: row for row, rank in enumerate(ground.ranks)}
    rows = ground.profile.table("partners", region=PROGRAM).drop_nulls("partner")
    rows = rows.filter(pl.col("partner").is_in(ground.ranks), pl.col("bytes_sent") > 0)
    first, second = (
        rows[name].replace_strict(places, return_dtype=pl.Int64).to_numpy() for name in ("rank", "partner")
    )
    bytes_sent = rows["bytes_sent"].to_numpy().astype(np.float64)
    now = np.array([hosts[host] for host in ground.hosts])
    links = Links.from_pairs(
        ranks, np.stack([first, second])[:, first != second], bytes_sent[first != second]
    )
    sizes = np.bincount(now)
    blocks = np.repeat(np.arange(len(sizes)), sizes)
    best = partition_graph(links, sizes.tolist(), [now, blocks, grow_parts(links, sizes.tolist())])
    off_now, off_best = links.cut(now), links.cut(best)
    if not off_now or off_best > (1 - _LEAST_FEWER) * off_now:
        return []
    whole = float(bytes_sent.sum())
    spent = float(ground.left["p2p"].sum()) * off_now / whole
    gain = spent * (1 - off_best / off_now)
    finding = ground.make_finding(
        "scattered_partners",
        f"{percent_text(off_now, whole)} of the bytes of messages ({bytes_text(off_now)}) go to other nodes;"
        f" with partners placed together it would be {percent_text(off_best, whole)} or less",
        "find a mapping with haloscope place, or reorder the ranks (MPI_Cart_create with reorder, a"
        " rankfile)",
        gains=(0.5 * gain, gain, max(spent, gain)),
        evidence=[
            Evidence(
                "regions",
                {"region": PROGRAM},
                {"bytes_offnode_total": off_now, "bytes_placed": off_best},
                nested=True,
            )
        ],
    )
    if finding:
        ground.take_anywhere("p2p", gain)
    return finding
