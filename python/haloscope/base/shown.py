"""Every table that people, scripts and Python are shown, declared once, with what its columns mean.

The reader's tables and docs/reference/tables.md come from here; the file has others: `haloscope.base.schema`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from haloscope.base.schema import COUNTED, INSTANCE_QUANTITIES

__all__ = ["SHOWN", "Group", "shown_columns"]


@dataclass(frozen=True)
class Group:
    """Columns of a shown table that are explained together."""

    names: tuple[str, ...]
    meaning: str


def _of(names: str, meaning: str) -> Group:
    return Group(tuple(names.split()), meaning)


_EXTREMES = tuple(f"{name}_instance_{end}" for name in INSTANCE_QUANTITIES for end in ("min", "max"))

_MEMORY = _of(
    "memory",
    "where the buffer lies, `host`, `device` or `managed` (see [GPUs](gpus.md)); null for a call that names "
    "none, and in older files",
)

_SHOWN_REGIONS = (
    _of("region path", "last name, full name"),
    _of("ranks", "how many ranks entered the region"),
    _of("instances", "passes finished, the largest number of any rank"),
    _of("sends_min sends_max sends_total", "point-to-point messages started"),
    _of("recvs_min recvs_max recvs_total", "messages received"),
    _of("dest_ranks_min dest_ranks_mean dest_ranks_max", "distinct ranks sent to"),
    _of("src_ranks_min src_ranks_mean src_ranks_max", "distinct ranks received from"),
    _of("bytes_sent_min bytes_sent_max bytes_sent_total", "bytes in messages sent"),
    _of("bytes_recv_min bytes_recv_max bytes_recv_total", "bytes in messages received"),
    _of("largest_message", "bytes of the largest single message sent; 0 if none was"),
    _of("mean_message", "`bytes_sent_total` / `sends_total`; null without sends"),
    _of(
        "sends_offnode_total bytes_offnode_total",
        "messages, and their bytes, to ranks on another host; a partner whose host is unknown is not counted",
    ),
    _of("colls_max colls_total", "collective calls, neighbourhood collectives among them"),
    _of("coll_bytes_total", "bytes of the collectives' send arguments"),
    _of("rma_ops_total rma_bytes_total", "one-sided operations and their bytes"),
    _of("time_mean time_min time_max", "time spent in the region"),
    _of("p2p_time_mean", "in point-to-point calls and in waiting for their requests"),
    _of("coll_time_mean", "in collectives and in waiting for their requests"),
    _of("rma_time_mean", "in one-sided calls"),
    _of("io_ops_total io_bytes_total io_time_mean", "MPI-IO operations, bytes, time"),
    _of("mpi_time_mean", "in all MPI calls: the four above and the other functions"),
    _of("wait_time_mean", "the part of it that was [waiting](#waiting)"),
    _of("compute_time_mean", "`time_mean` − `mpi_time_mean`"),
    _of("skew_time_mean", "waiting for others to arrive (see `ranks`); null where it was not measured"),
    *(
        Group(tuple(f"{column.name}_{kind}" for kind in column.over_ranks), column.meaning)
        for column in COUNTED
        if column.over_ranks
    ),
    Group(
        _EXTREMES,
        "extremes over single instances, of all ranks, for X in `sends`, `recvs`, `dest_ranks`, `src_ranks`, "
        "`bytes_sent`, `bytes_recv`, `colls`; null if no instance finished",
    ),
)
_SHOWN_RANKS = (
    _of("region rank host", "where; `host` is null for a rank that left no process record"),
    _of("instances", "passes finished"),
    _of("sends recvs", "messages"),
    _of("dest_ranks src_ranks", "distinct ranks sent to, received from"),
    _of("bytes_sent bytes_recv", "bytes in messages sent, received"),
    _of("largest_message mean_message", "bytes of the largest, of the average message sent"),
    _of("sends_offnode bytes_offnode", "to ranks on another host"),
    _of("colls coll_bytes", "collective calls, bytes"),
    _of("rma_ops rma_bytes", "one-sided operations, bytes"),
    _of("time", "in the region"),
    _of("p2p_time coll_time rma_time", "in point-to-point, collective, one-sided calls"),
    _of("io_ops io_bytes io_time", "MPI-IO"),
    _of("mpi_time", "in all MPI calls"),
    _of("wait_time", "the waiting part of it"),
    _of("compute_time", "`time` − `mpi_time`"),
    _of(
        "skew_time",
        "part of `coll_time`: waiting for the last rank to come to blocking collectives, measured by a "
        "barrier before them; an estimate if only one in N has one (`--sync-collectives N`), as each stands "
        "for the calls since the one before; null where it was not measured",
    ),
    *(Group((column.name,), column.meaning) for column in COUNTED if column.over_ranks),
    Group(_EXTREMES, "as in `regions`, of this rank"),
)

_SHOWN_OF_TRACES = {
    "waits": (
        _of("region kind", "`kind` is one of the [kinds](#kinds-of-waiting) of waiting"),
        _of("waits", "how often; of `other` the MPI calls"),
        _of("time_total", "sum over ranks and calls; of all kinds of a region the time in MPI calls"),
        _of("time_max", "the longest of a region, rank and partner together"),
        _of("share", "of the time in MPI calls of the region"),
    ),
    "wait_pairs": (
        _of("region kind", "as in `waits`"),
        _of("rank partner", "`rank` waits, `partner` is waited for"),
        _of("waits time time_max", "how often, how long in all, the longest"),
    ),
    "delays": (
        _of("region rank", "where time was spent that others waited for"),
        _of("cost", "all ranks' waiting that this caused: `direct` + `indirect`"),
        _of("direct", "waiting of those who waited for this rank"),
        _of("indirect", "waiting of others, who waited for a rank that had waited because of this one"),
        _of("share", "of all waiting"),
    ),
    "critical_path": (
        _of("region rank", "where the path goes through"),
        _of("time", "of the path; of all ranks together the time of the run"),
        _of("mpi_time", "the part of it in MPI calls: transfer, not waiting"),
        _of("share", "of the run's time"),
    ),
    "pop": (
        _of("region", "as everywhere"),
        _of("parallel", "share of the region's time that ranks compute: `load_balance` × `communication`"),
        _of("load_balance", "mean over largest computing time of a rank"),
        _of("communication", "largest computing time of a rank over `run_time`: lost to MPI"),
        _of(
            "serialisation",
            "of `<program>`, with a trace: largest computing time over `ideal_time`: lost to waiting for "
            "each other's order",
        ),
        _of(
            "transfer",
            "of `<program>`, with a trace: `ideal_time` over `run_time`: lost to the network and the MPI "
            "library; `communication` is the product of both",
        ),
        _of(
            "run_time",
            "the longest time of a rank in the region; of `<program>`, with a trace: from the first to the "
            "last event of all ranks",
        ),
        _of("ideal_time", "of a replay in which MPI takes no time, but messages come after they were sent"),
        _of("computing_mean computing_max", "outside of MPI calls, over the ranks that entered the region"),
    ),
    "tolerance": (
        _of("region", "as everywhere"),
        _of("latencies", "how many latencies of this region's messages are on the critical path"),
        _of(
            "latency_1 latency_2 latency_5",
            "what can be added to each latency of this region until the run takes 1 %, 2 %, 5 % longer; null "
            "if it never does",
        ),
        _of("bytes", "how many bytes of this region's messages are on the critical path"),
        _of(
            "per_byte_1 per_byte_2 per_byte_5",
            "what can be added for each byte of this region until the run takes 1 %, 2 %, 5 % longer: one "
            "over the bandwidth of a further link on its messages' way; null if it never does",
        ),
        _of("run_time", "of the whole run, as recorded"),
        _of("without_waiting", "of the whole run, if no rank waited in this region"),
    ),
    "clocks": (
        _of("rank host", "as everywhere"),
        _of("machine", "a number for each clock; that of the first rank is 0, and all times are by it"),
        _of(
            "offset_begin offset_end",
            "what was added to the rank's clock, as round trips told it at `MPI_Init` and at `MPI_Finalize`; "
            "between them, what lies between",
        ),
        _of(
            "shift",
            "what was added or taken off beside that since messages told so, where it was most; 0 on the "
            "first machine",
        ),
        _of(
            "moved", "calls and ends of regions that were moved so that no message arrives before it was sent"
        ),
        _of("moved_max", "the longest way that one was moved"),
    ),
}

SHOWN: Mapping[str, tuple[Group, ...]] = {
    "regions": _SHOWN_REGIONS,
    "ranks": _SHOWN_RANKS,
    "calls": (
        _of("region call", "`call` is the function's name, such as `MPI_Isend`"),
        _MEMORY,
        _of("calls bytes", "how often, and with how many bytes"),
        _of(
            "time_total",
            "sum over ranks and calls; of the non-blocking posts of small messages an estimate "
            "(`exact_times` in `info`)",
        ),
        _of("time_max", "the longest single call that was timed"),
        _of(
            "chunks helpers",
            "only if the shm library has carried messages: in how many pieces, and how many other ranks "
            "took part in copying; null for MPI functions",
        ),
    ),
    "sites": (
        _of("region", "as everywhere"),
        _of(
            "site",
            "the first place outside the libraries: file and line, else the function, else the file of code "
            "and the offset in it",
        ),
        _of("file line function", "of the site; null where they are unknown"),
        _of(
            "stack",
            "the places that lead to the call, the outermost first, between them `;`; as many as were "
            "recorded",
        ),
        _of("call", "the function, such as `MPI_Isend`"),
        _of("calls bytes", "how often, and with how many bytes"),
        _of("time_total", "sum over ranks and calls, as in `calls`"),
        _of("share", "of the MPI time of all sites of the run"),
        _of(
            "time_cv",
            "coefficient of variation of the time over the ranks that made such calls: their standard "
            "deviation over their mean; null where a row is put together of several, as of nested regions",
        ),
    ),
    "sizes": (
        _of("region kind", "`kind` is `p2p`, `coll` or `rma`"),
        _MEMORY,
        _of("bytes", "the exact size of each message"),
        _of("messages", "how many; for `p2p` the sends"),
        _of("time_total", "sum over ranks; for `p2p` of both sides"),
        _of(
            "bytes_upper",
            "only there if the program used more distinct sizes than are kept (`sizes_spilled` in `info`): "
            "a row where it is larger than `bytes` is a range",
        ),
    ),
    "partners": (
        _of("region rank partner", "`partner` is null for processes outside this `MPI_COMM_WORLD`"),
        _of("same_node", "whether both are on one host; null if unknown"),
        _of("sends bytes_sent", "from `rank` to `partner`"),
        _of("recvs bytes_recv", "from `partner` to `rank`"),
        _of("time", "that `rank` spent in calls for these messages"),
    ),
    "collectives": (
        _of("region operation", "`operation` without `MPI_`, such as `Allreduce`"),
        _of("comm_size", "ranks in the communicator"),
        _of("bytes", "of one call on one rank"),
        _of("calls", "of all ranks"),
        _of("time_total time_max", "sum over ranks and calls, the longest single call"),
        _of(
            "algorithm protocol channels",
            "only if [NCCL or RCCL](gpus.md) was used, whose operations begin with `nccl`: what it chose; "
            "null for MPI's",
        ),
    ),
    "communicators": (
        _of("name size", "as `MPI_Comm_set_name` and `MPI_Comm_size` have it"),
        _of("ranks", "how many ranks used it"),
        _of("calls bytes", "on it, of all ranks"),
    ),
    "series": (
        _of(
            "region rank instance",
            "`instance` counts from 0 on each rank; where several threads of a rank walk through a region, "
            "the next thread's are numbered on",
        ),
        _of("start", "seconds since `MPI_Init`"),
        _of("duration wait", "of the instance, and how much of it was waiting"),
        _of(
            "",
            "a value that the program recorded with `HALOSCOPE_VALUE`; null where it did not. One "
            "that is called like a column above has `_value` after its name",
        ),
    ),
    "phases": (
        _of(
            "rank phase",
            "the rank, and the number of the phase; its regions are `phase 1` and `phase 1/iteration`",
        ),
        _of("iterations", "that it had"),
        _of("found_after", "so many had passed when they were found; the others have regions"),
        _of(
            "length",
            "MPI calls of a typical one, without posts, polls, and what there are as many of as it takes",
        ),
        _of("forms", "different sequences of functions that they had"),
        _of("share", "of all such calls of the rank, those from the first iteration to the end of the last"),
        _of("start end", "of the phase, seconds after MPI_Init"),
    ),
    "slices": (
        _of("rank", "the rank"),
        _of("slice", "counted from MPI_Init on, in units of the slice's length"),
        _of("sends bytes_sent recvs bytes_recv colls coll_bytes rma_ops rma_bytes io_bytes", "as in `ranks`"),
        _of("start", "seconds after MPI_Init"),
        _of(
            "duration",
            "seconds from `start` to the last stamp in the slice; longer than a slice where a call, or a "
            "time without calls, went on",
        ),
        _of("p2p_time coll_time rma_time io_time wait_time", "as in `ranks`"),
    ),
    "binding": (
        _of("rank host pid", "the rank, its host, and its process there"),
        _of("cpus", "that it might run on when MPI was initialised, such as `0-3,8`; null: not known"),
        _of("numa_nodes sockets", "that these are of, likewise"),
    ),
    **_SHOWN_OF_TRACES,
}


def shown_columns(table: str) -> list[str]:
    """Return the names of the columns of a shown table, in order."""
    return [name for group in SHOWN[table] for name in group.names]
