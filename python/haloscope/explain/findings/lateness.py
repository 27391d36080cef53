"""Rules about late messages: late senders, late receivers, serial chains, protocol limits."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from haloscope.base.units import bytes_text, noun_text, ranks_text, time_text
from haloscope.explain.findings.finding import Evidence, Finding
from haloscope.explain.findings.ground import Ground
from haloscope.explain.findings.run_times import place_text

_LATE_SENDER, _LATE_RECEIVER = ("late_sender", "wrong_order"), ("late_receiver",)
_COLLECTIVE = ("wait_at_barrier", "wait_at_nxn", "early_reduce", "late_broadcast", "early_scan")
# Repeated waits are similar: their median is at least this share of their mean.
_STEADY = 0.5
# Without a trace: smallest mean wait (s), and largest ratio of the longest wait to the mean.
_LONG_WAIT, _MOST_MEANS = 200e-6, 30.0
# Average number of ranks that compute at the same time in a serial chain: share of all ranks; for a pair.
_MOST_AT_ONCE, _MOST_OF_PAIR = 0.4, 1.2
_LEAST_AT_ONCE = 0.7  # in a chain one rank computes at any time, except for transfers
_JUST_OVER = 1.25
# Share of the longest waiting for one rank. Ranks with less are not named.
_MUCH = 0.2
# Bytes from which on a blocking send waits for its receiver, as seen with Open MPI 4.1 and 5.0 and MPICH 4.0.
_EAGER = {"Open MPI": (65536,), "MPICH": (8250,), "SimGrid": (65536,)}
# The same within a node, where no setting changes it: above this size Open MPI waits until the receiver has
# returned the memory, which it does in its next MPI call.
_EAGER_OF_NODE = {"Open MPI": 257}
_REMEDIES = {
    "serial_chain": "split the work of the chain into pieces that pass through the ranks as a pipeline, or"
    " change the dependencies",
    "late_sender": "send the data that other ranks wait for before the work that they do not need",
    "late_receiver": "receive before the work that delays it, or send with MPI_Isend; posting the receive"
    " earlier (MPI_Irecv) is not enough if the library moves messages only inside its calls",
}


@dataclass(frozen=True)
class _Late:
    """Late messages of a region: their mean cost per rank (s), and the late ranks."""

    region: str
    kind: str
    cost: float
    ranks: tuple[int, ...]
    evidence: Evidence


def find_late_messages(ground: Ground) -> list[Finding]:
    """Find waiting for messages that uneven computing does not explain."""
    if len(ground.ranks) < 2:
        return []
    lates, behind = _read_waits(ground) if ground.uses_trace else _read_calls(ground)
    found = []
    # A rank is late because it, or one that it waits for, computes: the others' computing bounds the waiting.
    others = float(ground.computing.sum()) * (1 - 1 / len(ground.ranks))
    for late in sorted(lates, key=lambda late: late.cost, reverse=True):
        messages = min(late.cost, ground.unexplained_time(late.region, "p2p"), others)
        # In the next collective, the late rank waits for the ranks that waited for it.
        together = min(messages + min(behind, messages), others)
        finding = _make_finding(ground, late, messages, together)
        if finding:
            ground.take(late.region, "p2p", messages)
            others -= together
            behind -= ground.take_anywhere("coll", together - messages)
        found += finding
    return found


def _make_finding(ground: Ground, late: _Late, messages: float, together: float) -> list[Finding]:
    # The run lasts as long as any rank computes.
    most = ground.run_time - float(ground.computing.sum(axis=1).max())
    gains = (0.75 * messages, together, max(together, min(1.2 * together, most)))
    limit = _find_limit(ground, late.region) if late.kind == "late_receiver" else None
    if limit is not None:
        return _make_limit_finding(ground, late, gains, *limit)
    rule = "serial_chain" if late.kind == "late_sender" and _is_serial(ground) else late.kind
    where, cost = place_text(late.region), f"{time_text(together)} per rank on average"
    sends = "sends" if len(late.ranks) == 1 else "send"
    sentences = {
        "serial_chain": f"ranks compute one after the other in {where}, as each waits for a message of the"
        f" previous one; {_mean_parallelism(ground):.1f} of {len(ground.ranks)} compute at a time: {cost}",
        "late_sender": f"receives in {where} wait for messages that {ranks_text(late.ranks)} {sends} late,"
        f" although ranks compute equally long: {cost}",
        "late_receiver": f"sends in {where} wait for late receivers ({ranks_text(late.ranks)}): {cost}",
    }
    return ground.make_finding(
        rule,
        sentences[rule],
        _REMEDIES[rule],
        gains=gains,
        region=late.region,
        ranks=() if rule == "serial_chain" else late.ranks,
        evidence=[late.evidence],
    )


def _make_limit_finding(
    ground: Ground, late: _Late, gains: tuple[float, float, float], size: int, count: int, bound: int
) -> list[Finding]:
    rows: dict[str, str | int] = {"region": late.region, "kind": "p2p", "bytes": size}
    is_fixed = bound in _EAGER_OF_NODE.values()
    setting = "" if is_fixed else f" raise the library's eager limit above {bytes_text(size)},"
    return ground.make_finding(
        "protocol_limit",
        f"sends of {bytes_text(size)} in {place_text(late.region)} ({noun_text(count, 'message')}) wait for"
        f" their receivers, as messages of {bytes_text(bound)} and more do: {time_text(gains[1])} per rank on"
        " average",
        f"make these messages smaller than {bytes_text(bound)},{setting} send with MPI_Isend, or receive"
        " before the work that delays it",
        gains=gains,
        region=late.region,
        ranks=late.ranks,
        evidence=[Evidence("sizes", rows, {"messages": count}), late.evidence],
    )


def _mean_parallelism(ground: Ground) -> float:
    """Return the average number of ranks that compute at the same time."""
    return float(ground.computing.sum()) / ground.run_time


def _is_serial(ground: Ground) -> bool:
    ranks = len(ground.ranks)
    most = max(_MOST_OF_PAIR, _MOST_AT_ONCE * ranks if ranks > 2 else 0.0)
    return _LEAST_AT_ONCE <= _mean_parallelism(ground) <= most


def _read_waits(ground: Ground) -> tuple[list[_Late], float]:
    """Return steady waits for messages by region, and the mean wait per rank (s) in collectives."""
    tree, ranks = ground.profile.regions, len(ground.ranks)
    names = pl.Series(tree.distinct_names, dtype=pl.String)
    waits = ground.profile.data.guard(lambda: ground.profile.waiting.waits)
    rows = waits.filter(pl.col("partner").is_not_null())
    own = names.gather(rows["path"]).replace_strict(ground.own, return_dtype=pl.String).alias("own")
    # The longest of several waits may be caused by the system.
    count, time = pl.col("waits"), pl.col("time")
    usual = pl.when(count > 1).then((time - pl.col("time_max")) * count / (count - 1)).otherwise(time)
    steady = rows.with_columns(own, usual.alias("time")).filter(
        pl.col("time_median") * count >= _STEADY * time
    )
    collective = float(steady.filter(pl.col("kind").is_in(_COLLECTIVE))["time"].sum()) / ranks
    lates = []
    for kind, kinds in (("late_sender", _LATE_SENDER), ("late_receiver", _LATE_RECEIVER)):
        chosen = steady.filter(pl.col("kind").is_in(kinds))
        for (region,), part in chosen.group_by("own", maintain_order=True):
            lates.append(_sum_region_waits(ground, str(region), kind, part))
    return lates, max(0.0, collective - float(ground.uneven["coll"].sum()))


def _sum_region_waits(ground: Ground, region: str, kind: str, part: pl.DataFrame) -> _Late:
    time = float(part["time"].sum())
    explained = float(ground.uneven["p2p"][ground.column_of(region)])
    by_partner = part.group_by("partner").agg(pl.col("time").sum())
    causing = by_partner.filter(pl.col("time") >= _MUCH * pl.col("time").max())["partner"].sort()
    values = {"time_total": time, "waits": float(part["waits"].sum())}
    evidence = Evidence("waits", {"region": region, "kind": kind}, values)
    cost = max(0.0, time / len(ground.ranks) - explained)
    return _Late(region, kind, cost, tuple(causing.to_list()), evidence)


def _read_calls(ground: Ground) -> tuple[list[_Late], float]:
    """Return the regions' long waits in blocking calls and the mean wait per rank (s) in collectives.

    It uses only the table of calls. It returns nothing if ranks wait for CPUs, and ignores receives that were
    posted before: their waiting is transfer.
    """
    if ground.is_crowded:
        return [], 0.0
    calls = ground.table("calls")
    found = [_sum_region_calls(ground, region, calls.filter(own=region)) for region in ground.regions]
    collectives = calls.filter(pl.col("call").is_in(ground.collectives))
    sums = [_Sums.of(part) for _, part in collectives.group_by("own")]
    behind = sum(sums_.time for sums_ in sums if sums_.is_long) / len(ground.ranks)
    return [late for late in found if late], max(0.0, behind - float(ground.uneven["coll"].sum()))


def _sum_region_calls(ground: Ground, region: str, calls: pl.DataFrame) -> _Late | None:
    receiving = _Sums.of(calls, r"^MPI_(Recv|Mrecv|Probe|Mprobe)$")
    sending = _Sums.of(calls, r"^MPI_(Send|Ssend|Rsend)$")
    kind, sums = max((("late_sender", receiving), ("late_receiver", sending)), key=lambda pair: pair[1].time)
    if not sums.calls or not sums.is_long:
        return None
    # A rank that posts its receives before it sends is not late: such an exchange waits for processors.
    if kind == "late_receiver" and 2 * _Sums.of(calls, "^MPI_Irecv$").calls >= sums.calls:
        return None
    transfer = ground.measured.bound_message_time(sums.bytes / sums.calls, ground.is_one_node)
    cost = sums.calls * max(0.0, sums.usual - transfer) / len(ground.ranks)
    rows, values = {"region": region, "call": sums.name}, {"time_total": sums.time, "calls": sums.calls}
    return _Late(region, kind, cost, _find_awaited_partners(ground, region), Evidence("calls", rows, values))


def _find_awaited_partners(ground: Ground, region: str) -> tuple[int, ...]:
    """Return the ranks for whose messages the others spend most time in calls."""
    rows = ground.table("partners").filter(pl.col("own") == region).drop_nulls("partner")
    sums = rows.group_by("partner").agg(pl.col("time").sum())
    much = sums.filter(pl.col("time") >= _MUCH * pl.col("time").max())
    return tuple(much["partner"].sort().to_list())


@dataclass(frozen=True)
class _Sums:
    """Sums over calls of some functions: name of the most expensive one, calls, bytes, seconds."""

    name: str
    calls: float
    bytes: float
    time: float
    longest: float

    @classmethod
    def of(cls, calls: pl.DataFrame, names: str = "") -> _Sums:
        rows = calls.filter(pl.col("call").str.contains(names)).sort("time_total", descending=True)
        sums = rows.select("calls", "bytes", "time_total").sum().row(0)
        most = rows.select(pl.col("time_max").max()).item()
        calls_made, sent, time = (float(value) for value in sums)
        return cls(rows["call"][0] if len(rows) else "", calls_made, sent, time, float(most or 0.0))

    @property
    def is_long(self) -> bool:
        """Whether waits are long and similar: the longest is not most of their sum."""
        mean = self.time / max(self.calls, 1.0)
        return self.usual >= _LONG_WAIT and self.longest <= _MOST_MEANS * mean

    @property
    def usual(self) -> float:
        """The mean time (s) without the longest call, which the system may have delayed."""
        return (self.time - self.longest) / max(self.calls - 1, 1.0)


def _find_limit(ground: Ground, region: str) -> tuple[int, int, int] | None:
    """Return size and number of messages just above a protocol limit, and the limit; None if most are not."""
    rows = ground.table("sizes").filter((pl.col("own") == region) & (pl.col("kind") == "p2p"))
    sent = rows.filter(pl.col("messages") > 0).sort("messages", descending=True)
    library = str(ground.profile.info.get("mpi_library") or "")
    known = next((limits for name, limits in _EAGER.items() if name in library), ())
    fixed = [limit for name, limit in _EAGER_OF_NODE.items() if ground.is_one_node and name in library]
    for limit in fixed or ground.measured.limits or known:
        over = sent.filter((pl.col("bytes") >= limit) & (pl.col("bytes") <= _JUST_OVER * limit))
        if len(over) and 2 * int(over["messages"].sum()) >= int(sent["messages"].sum()):
            return int(over["bytes"][0]), int(over["messages"].sum()), limit
    return None
