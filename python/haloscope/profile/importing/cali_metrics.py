"""The meaning of metrics in .cali files, from Caliper's names of attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Statistic = Literal["min", "max", "sum", "ranks"]
_STATISTICS: dict[str, Statistic] = {"min": "min", "max": "max", "sum": "sum"}
_TIMES = {"time.duration": 1.0, "time.duration.ns": 1e-9}
_CALLS = ("rc.count", "region.count", "count")
# Messages, per instance of a region.
_TRAFFIC = {
    "total.send.count": "sends",
    "total.recv.count": "recvs",
    "total.coll.count": "colls",
    "total.dest.ranks": "dest_ranks",
    "total.src.ranks": "src_ranks",
    "mpi.send.size": "bytes_sent",
    "mpi.recv.size": "bytes_recv",
}


@dataclass(frozen=True)
class Meaning:
    """A quantity, the statistic over ranks, and the factor to our unit.

    `quantity` is `time` (inclusive), `own_time`, `calls`, or one of traffic; `ranks` of `time` is the number
    of ranks with a value.
    """

    quantity: str
    statistic: Statistic
    unit: float = 1.0


def meaning_of(attribute: str) -> Meaning | None:
    """Return the meaning of an attribute such as `min#inclusive#sum#time.duration`, None if unknown.

    The statistic is that of the outermost step; of a single rank that is its sum.
    """
    *steps, base = attribute.split("#")
    if base in _TIMES:
        return _parse_time(steps, base)
    if base in _CALLS:
        steps = [step for step in steps if step in _STATISTICS]
        # The extremes of single snapshots are not those of a rank.
        return (
            Meaning("calls", _STATISTICS[steps[0]])
            if steps[1:] or steps == ["sum"]
            else (Meaning("calls", "sum") if not steps and base == "count" else None)
        )
    if base in _TRAFFIC and steps and steps[0] in _STATISTICS:
        return Meaning(_TRAFFIC[base], _STATISTICS[steps[0]])
    return None


def _parse_time(steps: list[str], base: str) -> Meaning | None:
    quantity = "time" if "inclusive" in steps else "own_time"
    unit = 1.0 if "scale" in steps else _TIMES[base]
    left = [step for step in steps if step not in ("inclusive", "scale")]
    if left[:1] == ["avg.count"]:
        return Meaning(quantity, "ranks")
    if left in ([], ["sum"], ["sum", "sum"]):
        return Meaning(quantity, "sum", unit)
    if len(left) == 2 and left[0] in _STATISTICS and left[1] == "sum":
        return Meaning(quantity, _STATISTICS[left[0]], unit)
    return None
