"""Rules about messages: small ones, transfers without overlap, scattered partners, staging on the host."""

from __future__ import annotations

import numpy as np
import polars as pl

from haloscope.base.partition import Links, grow_parts, partition_graph
from haloscope.base.units import bytes_text, count_text, percent_text, time_text
from haloscope.explain.findings.finding import Evidence, Finding
from haloscope.explain.findings.ground import Ground
from haloscope.explain.findings.run_times import place_text
from haloscope.profile.store import PROGRAM

# Largest size of a small message (bytes), and smallest number of them that one message could replace.
_SMALL, _LEAST_TOGETHER = 4096, 4.0
# Cost of copying many messages into one (s per byte).
_COPYING = 1 / 5e9
# A small message costs both ranks at most this multiple of the sender's call. The rest is waiting.
_MOST_PER_SEND = 10.0
_SENDING = r"^MPI_(Send|[BR]send|I[bsr]?send)$"
# Calls after which a rank has received data.
_RECEIVED = r"^MPI_(Recv|Mrecv|Sendrecv|Wait)"
# A transfer that takes at least this multiple of the copying time is attributed to the network.
_NOT_COPYING = 1.5


def find_small_messages(ground: Ground) -> list[Finding]:
    """Find many small messages of a rank to one partner that one message could replace."""
    found = []
    sizes = ground.table("sizes").filter(pl.col("kind") == "p2p", pl.col("messages") > 0)
    for (region,), rows in sizes.group_by("region", maintain_order=True):
        name, count = str(region), int(rows["messages"].sum())
        mean = float((rows["bytes"] * rows["messages"]).sum()) / count
        together = _count_combinable(ground, name) if mean <= _SMALL else 0.0
        if together < _LEAST_TOGETHER:
            continue
        own = rows["own"][0]
        left = ground.unexplained_time(own, "p2p") * _message_share(ground, name, own)
        left = min(left, _limit_cost(ground, name))
        ranks = len(ground.ranks)
        gain = left * (1 - 1 / together) - count * mean * _COPYING / ranks
        each = left * ranks / count
        finding = ground.make_finding(
            "small_messages",
            f"{place_text(name)} sends {count_text(count)} messages of {bytes_text(round(mean))} on average, "
            f"{together:.0f} to one partner at a time; each takes {time_text(each)} of both ranks' time",
            "combine the messages to one partner into one (a buffer, MPI_Type_create_struct, or a"
            " neighbourhood collective)",
            gains=(0.6 * gain, gain, left),
            region=name,
            evidence=[
                Evidence("sizes", {"region": name, "kind": "p2p"}, {"messages": count, "mean_bytes": mean}),
                Evidence(
                    "regions", {"region": name}, {"messages_together": together, "seconds_a_message": each}
                ),
            ],
        )
        if finding:
            ground.take(own, "p2p", gain)
        found += finding
    return found


def _count_combinable(ground: Ground, region: str) -> float:
    """Return the number of messages to one partner before the sender receives anything or its region ends."""
    sent = ground.table("ranks").filter(pl.col("region") == region, pl.col("sends") > 0)
    pairs = float(sent["dest_ranks"].sum())
    if not pairs:
        return 0.0
    per_pair = float(sent["sends"].sum()) / pairs
    instances = int(sent.select(pl.col("instances").max()).item())
    calls = ground.table("calls").filter(pl.col("region") == region, pl.col("call").str.contains(_RECEIVED))
    received = float(calls["calls"].sum()) / len(sent)
    both_ways = bool((sent["recvs"] > 0).any())
    bounds = [per_pair / instances] if instances > 1 and region != PROGRAM else []
    bounds += [per_pair / received] if both_ways and received else []
    return min(bounds, default=0.0)


def _limit_cost(ground: Ground, region: str) -> float:
    """Return the most seconds of a mean rank that the messages of a region can cost without waiting."""
    calls = ground.table("calls").filter(pl.col("region") == region, pl.col("call").str.contains(_SENDING))
    sending = float(calls["time_total"].sum())
    return _MOST_PER_SEND * sending / len(ground.ranks) if sending else np.inf


def _message_share(ground: Ground, region: str, own: str) -> float:
    """Return the share of a marked region's message time that belongs to an iteration found in it."""
    if region == own:
        rows = ground.table("sizes").filter(pl.col("own") == own, pl.col("kind") == "p2p")
        whole = float(rows["messages"].sum())
        return float(rows.filter(pl.col("region") == region)["messages"].sum()) / whole if whole else 0.0
    times = ground.table("calls").filter(pl.col("own") == own, pl.col("call").str.contains("Send|Recv|Wait"))
    whole = float(times["time_total"].sum())
    return float(times.filter(pl.col("region") == region)["time_total"].sum()) / whole if whole else 0.0


def find_blocking_transfers(ground: Ground) -> list[Finding]:
    """Find waiting for the network in an exchange, with computing nearby that could overlap it."""
    # Within a node a processor copies the data: there is nothing to overlap.
    if ground.is_one_node:
        return []
    found = []
    for region in ground.regions:
        found += _find_in_region(ground, region)
    return found


def _find_in_region(ground: Ground, region: str) -> list[Finding]:
    calls = ground.table("calls").filter(pl.col("own") == region)
    waits = calls.filter(pl.col("call").str.contains(r"^MPI_(Wait|Sendrecv|Recv$)"))
    sizes = ground.table("sizes").filter(pl.col("own") == region, pl.col("kind") == "p2p")
    count, ranks = float(sizes["messages"].sum()), len(ground.ranks)
    if not count or not len(waits) or not ground.has_remote_messages(region):
        return []
    transfer = ground.unexplained_time(region, "p2p")
    mean = float((sizes["bytes"] * sizes["messages"]).sum()) / count
    times = float(waits["calls"].sum()) / ranks
    copying = _NOT_COPYING * mean * _COPYING * count / ranks
    longest = float(waits.select(pl.col("time_max").max()).item() or 0.0)
    if transfer < copying or longest > 30 * max(transfer / max(times, 1.0), 1e-9):
        return []
    nearby = ground.nearby_computing(region)
    gain = min(transfer, nearby)
    function = waits.sort("time_total", descending=True)["call"][0]
    return ground.make_finding(
        "blocking_transfer",
        f"{place_text(region)} waits {time_text(transfer)} for messages in transfer (mostly in {function})"
        f" and computes nothing meanwhile; {time_text(nearby)} of computing are next to it",
        "post sends and receives before work that needs no data of other ranks, and wait after it (the"
        " overlap library of Haloscope splits such work)",
        gains=(0.5 * gain, 0.9 * gain, gain),
        region=region,
        evidence=[
            Evidence(
                "calls",
                {"region": region, "call": function},
                {"time_total": float(waits["time_total"].sum())},
            ),
            Evidence(
                "regions", {"region": region}, {"transfer_time": transfer, "compute_time_beside": nearby}
            ),
        ],
    )


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
    least = f"{percent_text(off_best, whole)} or less" if off_best else "none"
    finding = ground.make_finding(
        "scattered_partners",
        f"{percent_text(off_now, whole)} of the bytes of messages ({bytes_text(off_now)}) go to other nodes;"
        f" with partners placed together it would be {least}",
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


# The buffers have to be moved in any case, so not all of the copying time can be saved.
_LEAST_PART = 0.5


def find_host_staging(ground: Ground) -> list[Finding]:
    """Find copies to the host of data that MPI sends from there.

    Only bytes in memory from which a send then began are counted, so copies of results for output are not.
    """
    names = ("device_copy_bytes", "device_copy_time", "staged_bytes")
    rows = ground.table("ranks").select("own", *(pl.col(name).fill_null(0) for name in names))
    copied, time, staged = (float(rows[name].sum()) for name in names)
    if staged <= 0 or copied <= 0:
        return []
    by_region = rows.group_by("own").agg(pl.col("staged_bytes").sum()).sort("staged_bytes", descending=True)
    region = str(by_region["own"][0])
    gain = time * min(staged / copied, 1.0) / len(ground.ranks)
    return ground.make_finding(
        "host_staging",
        f"{bytes_text(staged)} of GPU data are copied to the host before MPI sends them, most of them in"
        f" {place_text(region)}: {percent_text(staged / copied, 1.0)} of all copied bytes, which"
        f" takes {time_text(gain)} per rank on average",
        "pass device buffers to MPI, if it supports them, or copy one part while the previous one is sent",
        gains=(_LEAST_PART * gain, gain, gain),
        region=region,
        evidence=[
            Evidence(
                "regions", {"region": region}, {"staged_bytes_total": float(by_region["staged_bytes"][0])}
            )
        ],
    )
