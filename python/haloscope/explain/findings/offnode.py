"""Partners on other nodes, although another numbering of the ranks would bring them together."""

from __future__ import annotations

import numpy as np
import polars as pl

from haloscope.base.arrays import Floats, Integers
from haloscope.base.units import bytes_text, percent_text
from haloscope.explain.findings.finding import Evidence, Finding
from haloscope.explain.findings.ground import Ground
from haloscope.profile.store import PROGRAM

__all__ = ["scattered_partners"]

# Placed by a simple rule, so much less must leave the nodes: the best placement is better still.
_LEAST_FEWER = 0.15
_MOST_RANKS = 2048
_PASSES = 4


def scattered_partners(ground: Ground) -> list[Finding]:
    """Ranks whose partners are on other nodes, though a renumbering brings them together."""
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
    best = _placed(first, second, bytes_sent, now)
    off_best = float(bytes_sent[best[first] != best[second]].sum())
    if not off_now or off_best > (1 - _LEAST_FEWER) * off_now:
        return []
    whole = float(bytes_sent.sum())
    spent = float(ground.left["p2p"].sum()) * off_now / whole
    gain = spent * (1 - off_best / off_now)
    finding = ground.finding(
        "scattered_partners",
        f"{percent_text(off_now, whole)} of the bytes of messages ({bytes_text(off_now)}) go to other nodes;"
        " with ranks"
        f" placed by who talks to whom it would be {percent_text(off_best, whole)} or less",
        "let haloscope place find a mapping, or reorder the ranks (MPI_Cart_create with reorder, a rankfile)",
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


def _placed(first: Integers, second: Integers, weight: Floats, now: Integers) -> Integers:
    """Return a node for each rank, as many ranks a node as now: grown rank by rank, or blocks in order."""
    room = np.bincount(now)
    blocks = np.repeat(np.arange(len(room)), room)
    traffic = np.zeros((len(now), len(now)))
    np.add.at(traffic, (first, second), weight)
    traffic += traffic.T
    np.fill_diagonal(traffic, 0.0)
    grown = _grown(traffic, room)
    candidates = [_swapped(traffic, start) for start in (blocks, grown, now)]
    return min(candidates, key=lambda nodes: _leaving(traffic, nodes))


def _leaving(traffic: Floats, nodes: Integers) -> float:
    return float(traffic[nodes[:, None] != nodes[None, :]].sum())


def _grown(traffic: Floats, room: Integers) -> Integers:
    """Fill node after node with the rank that talks most to those that are there already."""
    nodes = np.full(len(traffic), -1)
    for node, size in enumerate(room.tolist()):
        bond = np.zeros(len(traffic))
        for _ in range(size):
            free = np.flatnonzero(nodes < 0)
            # Of equals, the one that talks least to others that are free: nothing is left in corners.
            outside = traffic[np.ix_(free, free)].sum(axis=1)
            chosen = free[np.lexsort((outside, -bond[free]))[0]]
            nodes[chosen] = node
            bond += traffic[chosen]
    return nodes


def _swapped(traffic: Floats, start: Integers) -> Integers:
    """Swap two ranks where fewer bytes leave the nodes then, as long as that helps."""
    nodes: Integers = start.copy()
    bonds = traffic @ np.eye(int(start.max()) + 1)[nodes]
    ranks, least = np.arange(len(nodes)), 1e-9 * max(float(traffic.sum()), 1.0)
    for _ in range(_PASSES):
        changed = False
        for rank in range(len(nodes)):
            here = nodes[rank]
            there = bonds[rank, nodes] - bonds[rank, here]
            back = bonds[ranks, here] - bonds[ranks, nodes]
            fewer = np.where(nodes != here, there + back - 2 * traffic[rank], 0.0)
            other = int(np.argmax(fewer))
            if fewer[other] > least:
                moved = traffic[:, rank] - traffic[:, other]
                bonds[:, here] -= moved
                bonds[:, nodes[other]] += moved
                nodes[rank], nodes[other] = nodes[other], here
                changed = True
        if not changed:
            break
    return nodes
