"""What a profile must hold: the tables of docs/format.md and the types of their columns.

A file may hold more; a newer minor version does. What is listed here is what the tables need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["INSTANCE_QUANTITIES", "LAYOUT", "OPTIONAL"]

INSTANCE_QUANTITIES = (
    "sends",
    "recvs",
    "dest_ranks",
    "src_ranks",
    "bytes_sent",
    "bytes_recv",
    "colls",
)


def _columns(integers: str = "", reals: str = "", strings: str = "") -> dict[str, str]:
    return {
        **dict.fromkeys(integers.split(), "integer"),
        **dict.fromkeys(reals.split(), "real"),
        **dict.fromkeys(strings.split(), "string"),
    }


_EXTREMES = " ".join(
    f"{quantity}_instance_{extreme}{suffix}"
    for quantity in INSTANCE_QUANTITIES
    for extreme in ("min", "max")
    for suffix in ("", "_exclusive")
)

LAYOUT: Mapping[str, Mapping[str, str]] = {
    "paths": _columns("path parent communication", strings="name"),
    "processes": _columns(
        "rank pid threads unmatched_begins unmatched_ends dropped finalized",
        "start duration tick",
        "host",
    ),
    "ranks": _columns(
        "path rank instances sends recvs bytes_sent bytes_recv colls coll_bytes rma_ops rma_bytes"
        " io_ops io_bytes largest_message dest_ranks src_ranks dest_ranks_exclusive"
        f" src_ranks_exclusive {_EXTREMES}",
        "time p2p_time coll_time rma_time io_time other_time wait_time skew_time",
    ),
    "calls": _columns("path calls bytes", "time_total time_max", "call"),
    "sizes": _columns("path bytes bytes_upper messages", "time_total", "kind"),
    "partners": _columns("path rank partner sends bytes_sent recvs bytes_recv", "time"),
    "neighbors": _columns("path rank partner sends bytes_sent recvs bytes_recv", "time"),
    "collectives": _columns(
        "path comm_size bytes calls", "time_total time_max", strings="operation"
    ),
    "communicators": _columns("size members ranks calls bytes", strings="name"),
    "unaccounted": _columns("calls", strings="call"),
    "series": _columns("path rank thread instance instances"),
    "instances": _columns("packed"),
    "values": _columns("path rank instance", "value", "name"),
    "slices": _columns(
        "rank slice sends bytes_sent recvs bytes_recv colls coll_bytes rma_ops rma_bytes io_bytes",
        "start duration p2p_time coll_time rma_time io_time wait_time",
    ),
    "transfers": _columns(
        "path messages bytes chunks helpers", "time_total time_max", strings="protocol"
    ),
}

# Written only where asked for, or where there is something to say.
OPTIONAL = frozenset(
    {"neighbors", "unaccounted", "series", "instances", "values", "slices", "transfers"}
)
