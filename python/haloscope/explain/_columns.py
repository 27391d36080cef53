"""The columns of all tables: of the file, and of the tables `ranks` and `regions` that are made of them."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["INSTANCE_QUANTITIES", "LAYOUT", "OPTIONAL", "RANK_COLUMNS", "REGION_COLUMNS", "instance_columns"]

INSTANCE_QUANTITIES = ("sends", "recvs", "dest_ranks", "src_ranks", "bytes_sent", "bytes_recv", "colls")


def instance_columns() -> list[str]:
    """Return the names `X_instance_min`, `X_instance_max`, in the order of the reference."""
    return [f"{name}_instance_{end}" for name in INSTANCE_QUANTITIES for end in ("min", "max")]


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
        "rank pid threads unmatched_begins unmatched_ends dropped finalized", "start duration tick", "host"
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
    "collectives": _columns("path comm_size bytes calls", "time_total time_max", strings="operation"),
    "communicators": _columns("size members ranks calls bytes", strings="name"),
    "unaccounted": _columns("calls", strings="call"),
    "series": _columns("path rank thread instance instances"),
    "instances": _columns("packed"),
    "values": _columns("path rank instance", "value", "name"),
    "slices": _columns(
        "rank slice sends bytes_sent recvs bytes_recv colls coll_bytes rma_ops rma_bytes io_bytes",
        "start duration p2p_time coll_time rma_time io_time wait_time",
    ),
    "transfers": _columns("path messages bytes chunks helpers", "time_total time_max", strings="protocol"),
}


# Written only where asked for, or where there is something to say.
OPTIONAL = frozenset({"neighbors", "unaccounted", "series", "instances", "values", "slices", "transfers"})


RANK_COLUMNS = [
    "region",
    "rank",
    "host",
    "instances",
    "sends",
    "recvs",
    "dest_ranks",
    "src_ranks",
    "bytes_sent",
    "bytes_recv",
    "largest_message",
    "mean_message",
    "sends_offnode",
    "bytes_offnode",
    "colls",
    "coll_bytes",
    "rma_ops",
    "rma_bytes",
    "time",
    "p2p_time",
    "coll_time",
    "rma_time",
    "io_ops",
    "io_bytes",
    "io_time",
    "mpi_time",
    "wait_time",
    "compute_time",
    "skew_time",
    *instance_columns(),
]

REGION_COLUMNS = [
    "region",
    "path",
    "ranks",
    "instances",
    "sends_min",
    "sends_max",
    "sends_total",
    "recvs_min",
    "recvs_max",
    "recvs_total",
    "dest_ranks_min",
    "dest_ranks_mean",
    "dest_ranks_max",
    "src_ranks_min",
    "src_ranks_mean",
    "src_ranks_max",
    "bytes_sent_min",
    "bytes_sent_max",
    "bytes_sent_total",
    "bytes_recv_min",
    "bytes_recv_max",
    "bytes_recv_total",
    "largest_message",
    "mean_message",
    "sends_offnode_total",
    "bytes_offnode_total",
    "colls_max",
    "colls_total",
    "coll_bytes_total",
    "rma_ops_total",
    "rma_bytes_total",
    "time_mean",
    "time_min",
    "time_max",
    "p2p_time_mean",
    "coll_time_mean",
    "rma_time_mean",
    "io_ops_total",
    "io_bytes_total",
    "io_time_mean",
    "mpi_time_mean",
    "wait_time_mean",
    "compute_time_mean",
    "skew_time_mean",
    *instance_columns(),
]
