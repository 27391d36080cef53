"""The rule about partners on other nodes that a different placement would bring together."""

from __future__ import annotations

import numpy as np
import polars as pl

from haloscope.base.arrays import Floats, Integers
from haloscope.base.units import bytes_text, percent_text
from haloscope.explain.findings.finding import Evidence, Finding
from haloscope.explain.findings.ground import Ground
from haloscope.profile.store import PROGRAM

__all__ = ["find_scattered_partners"]

# Smallest reduction of the bytes between nodes by a simple placement. The best placement saves more.
_LEAST_FEWER = 0.15
_MOST_RANKS = 2048
_PASSES = 4


def find_scattered_partners(ground: Ground) -> list[Finding]:
    """Find ranks whose partners are on other nodes, although a different placement brings them together."""
    ranks = len(ground.ranks)
    hosts = {name: number for number, name in enumerate(dict.fromkeys(ground.hosts))}
    if len(hosts) < 2 or ranks <= len(hosts) or ranks > _MOST_RANKS or None in hosts:
        return []
    places = {rank: place for place, rank in enumerate(ground.ranks)}
    rows = ground.profile.table("partners", region=PROGRAM).drop_nulls("partner")
    rows = rows.filter(pl.col("partner").is_in(ground.ranks), pl.col("bytes_sent") > 0)
    first, second = (
        rows[name].replace_strict(places, return_dtype=pl.Int64).to_numpy() for name in ("rank", "partner")
    )
    bytes_sent = rows["bytes_sent"].to_numpy().astype(np.float64)
    now = np.array([hosts[host] for host in ground.hosts])
    off_now = float(bytes_sent[now[first] != now[second]].sum())
    best = _place_ranks(first, second, bytes_sent, now)
    off_best = float(bytes_sent[best[first] != best[second]].sum())
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


def _place_ranks(first: Integers, second: Integers, weight: Floats, now: Integers) -> Integers:
    """Return a better node per rank, with the present number of ranks per node."""
    room = np.bincount(now)
    blocks = np.repeat(np.arange(len(room)), room)
    traffic = np.zeros((len(now), len(now)))
    np.add.at(traffic, (first, second), weight)
    traffic += traffic.T
    np.fill_diagonal(traffic, 0.0)
    grown = _grow_nodes(traffic, room)
    candidates = [_swap_ranks(traffic, start) for start in (blocks, grown, now)]
    return min(candidates, key=lambda nodes: _sum_remote_bytes(traffic, nodes))


def _sum_remote_bytes(traffic: Floats, nodes: Integers) -> float:
    return float(traffic[nodes[:, None] != nodes[None, :]].sum())


def _grow_nodes(traffic: Floats, room: Integers) -> Integers:
    """Fill the nodes one after the other, each time with the rank that has most traffic with the node."""
    nodes = np.full(len(traffic), -1)
    for node, size in enumerate(room.tolist()):
        bond = np.zeros(len(traffic))
        for _ in range(size):
            free = np.flatnonzero(nodes < 0)
            # Among equals, the rank with the least traffic to free ranks, so that no isolated ranks remain.
            outside = traffic[np.ix_(free, free)].sum(axis=1)
            chosen = free[np.lexsort((outside, -bond[free]))[0]]
            nodes[chosen] = node
            bond += traffic[chosen]
    return nodes


def _swap_ranks(traffic: Floats, start: Integers) -> Integers:
    """Swap pairs of ranks while that reduces the bytes between nodes."""
    nodes: Integers = start.copy()
    bonds = traffic @ np.eye(int(start.max()) + 1)[nodes]
    ranks, least = np.arange(len(nodes)), 1e-9 * max(float(traffic.sum()), 1.0)
    for _ in range(_PASSES):
        changed = False
        for rank in range(len(nodes)):
            node = nodes[rank]
            gained = bonds[rank, nodes] - bonds[rank, node]
            returned = bonds[ranks, node] - bonds[ranks, nodes]
            fewer = np.where(nodes != node, gained + returned - 2 * traffic[rank], 0.0)
            other = int(np.argmax(fewer))
            if fewer[other] > least:
                moved = traffic[:, rank] - traffic[:, other]
                bonds[:, node] -= moved
                bonds[:, nodes[other]] += moved
                nodes[rank], nodes[other] = nodes[other], node
                changed = True
        if not changed:
            break
    return nodes
