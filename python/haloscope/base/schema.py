"""Every table and column of a profile's file, declared once; `shown` declares the tables that users see.

Three things come from here: the recorder's columns (`src/watch/declared.py` makes headers of this module),
the columns that the reader in `haloscope.profile` knows, and the tables of docs/format.md. This module
imports no other of ours, so that a build can load it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

# Major and minor version of the file. A new column raises the minor version, and has it as `since`.
FORMAT = (1, 7)
# The first bytes of the file.
MAGIC = b"\x89HALO\r\n\x1a"
# The last bytes of the file: offset, length and checksum of its directory, the checksum of the header and of
# these three, and `TRAILER_END`.
TRAILER = struct.Struct("<QQII8s")
TRAILER_END = b"HALOEND\n"
# Shortest and longest limit (ns) of the time between two polls that is polling.
POLL_GAPS = (1000, 10_000)

Type = Literal["integer", "real", "string"]
# How a column is merged when rows with equal keys become one.
Merge = Literal["key", "sum", "most"]


@dataclass(frozen=True)
class Column:
    """A column of a table of the file.

    `counted` means that each region of each thread has a sum of this quantity, with the same name in C++
    (`X_ticks` for the time `X_time`): "often" if nearly every call adds to it, else "rarely". Such a column
    needs no other declaration. `over_ranks` are the reductions over ranks in the table `regions`. A reader
    accepts files without a column for which `is_needed` is false.
    """

    name: str
    type: Type
    merge: Merge
    meaning: str
    unit: str = ""
    since: int = 0
    counted: Literal["", "often", "rarely"] = ""
    over_ranks: tuple[str, ...] = ()
    is_path: bool = False
    is_noise: bool = False
    is_packed: bool = False
    is_needed: bool = True


def _key(name: str, meaning: str, kind: Type = "integer") -> Column:
    return Column(name, kind, "key", meaning)


def _count(name: str, meaning: str) -> Column:
    return Column(name, "integer", "sum", meaning)


def _bytes(name: str, meaning: str) -> Column:
    return Column(name, "integer", "sum", meaning, "B")


def _seconds(name: str, meaning: str, merge: Merge = "sum") -> Column:
    return Column(name, "real", merge, meaning, "s")


_PATH = Column("path", "integer", "key", "the region, a row of `paths`", is_path=True)
_RANK = _key("rank", "in `MPI_COMM_WORLD`")
_MEMORY = Column(
    "memory",
    "string",
    "key",
    "where the buffer lies: `host`, `device` or `managed`; empty for a call that names none",
    since=4,
)
_LONGEST = _seconds("time_max", "the longest single one", "most")

# Each region of each thread counts these. Add a quantity here, and count it: `node.NAME += …` in src/watch.
COUNTED = (
    Column("coll_bytes", "integer", "sum", "bytes of the collectives' send arguments", "B", counted="rarely"),
    Column("rma_ops", "integer", "sum", "one-sided operations", counted="rarely"),
    Column("rma_bytes", "integer", "sum", "bytes of one-sided operations", "B", counted="rarely"),
    Column("io_ops", "integer", "sum", "MPI-IO operations", counted="rarely"),
    Column("io_bytes", "integer", "sum", "bytes of MPI-IO operations", "B", counted="rarely"),
    Column(
        "p2p_time",
        "real",
        "sum",
        "time in point-to-point calls and in waiting for their requests",
        "s",
        counted="often",
    ),
    Column(
        "coll_time",
        "real",
        "sum",
        "time in collectives and in waiting for their requests",
        "s",
        counted="often",
    ),
    Column("rma_time", "real", "sum", "time in one-sided calls", "s", counted="rarely"),
    Column("io_time", "real", "sum", "time in MPI-IO calls", "s", counted="rarely"),
    Column("other_time", "real", "sum", "time in all other MPI calls", "s", counted="rarely"),
    Column(
        "wait_time",
        "real",
        "sum",
        "part of the five before: inside `Wait…`, `Send`, `Ssend`, `Rsend`, `Sendrecv`, `Recv`, `Probe`, "
        "blocking collectives, and what empties the buffer of `Bsend`",
        "s",
        counted="often",
    ),
    Column(
        "polls",
        "integer",
        "sum",
        "calls of `MPI_Test…`, `Iprobe`, `Improbe`, `Parrived` and `Request_get_status` that found nothing",
        since=1,
        counted="rarely",
        over_ranks=("total",),
    ),
    Column(
        "poll_time",
        "real",
        "sum",
        "time in these calls, and between two of them that follow at once (a microsecond, or a poll's time)",
        "s",
        since=5,
        counted="rarely",
        over_ranks=("mean",),
    ),
    Column(
        "device_copies",
        "integer",
        "sum",
        "copies between a GPU and its host, as far as they are seen",
        since=4,
        counted="rarely",
        over_ranks=("total",),
    ),
    Column(
        "device_copy_bytes",
        "integer",
        "sum",
        "bytes of these copies",
        "B",
        since=4,
        counted="rarely",
        over_ranks=("total",),
    ),
    Column(
        "device_copy_time",
        "real",
        "sum",
        "time in the calls that make these copies; they are not MPI's",
        "s",
        since=4,
        counted="rarely",
        over_ranks=("mean",),
    ),
    Column(
        "staged_bytes",
        "integer",
        "sum",
        "part of `device_copy_bytes`: copied to the host into a buffer that MPI then sent from",
        "B",
        since=4,
        counted="rarely",
        over_ranks=("total",),
    ),
    Column(
        "omp_regions",
        "integer",
        "sum",
        "OpenMP parallel regions that began in the region, with those nested in them",
        since=6,
        counted="rarely",
        over_ranks=("total",),
    ),
    *(
        Column(
            f"omp_{name}_time", "real", "sum", meaning, "s", since=6, counted="rarely", over_ranks=("mean",)
        )
        for name, meaning in (
            ("parallel", "time in OpenMP parallel regions, of the thread that began them"),
            ("team", "the same, times their threads: the time that is available in them"),
            ("thread", "part of `omp_team_time`: computing, outside of barriers and MPI"),
            ("mpi", "part of `omp_team_time`: in MPI"),
            ("barrier", "part of `omp_team_time`: waiting in barriers, at the end of regions, too"),
            (
                "imbalance",
                "part of `omp_team_time`: what threads are less busy than the busiest thread of their region",
            ),
        )
    ),
)

# These have extremes over the instances of a region.
INSTANCE_QUANTITIES = ("sends", "recvs", "dest_ranks", "src_ranks", "bytes_sent", "bytes_recv", "colls")


def _extremes(name: str) -> Iterator[Column]:
    for suffix, kind in (("", "inclusive"), ("_exclusive", "exclusive")):
        for end, word in (("min", "least"), ("max", "largest")):
            meaning = f"the {word} `{name}` of a finished instance, {kind}; 0 if there was none: unknown"
            yield Column(f"{name}_instance_{end}{suffix}", "integer", "sum", meaning)


_RANKS = (
    _PATH,
    _RANK,
    _count("instances", "finished instances of the region"),
    _seconds("time", "time in the region, **inclusive**"),
    Column(
        "cpu_time",
        "real",
        "sum",
        "CPU time in the region, **inclusive**; NaN: not known, as instances last less than 1 ms on average",
        "s",
        since=5,
    ),
    _count("sends", "messages started"),
    _count("recvs", "messages received"),
    _bytes("bytes_sent", "in messages sent"),
    _bytes("bytes_recv", "in messages received"),
    _count("colls", "calls of collectives"),
    *COUNTED,
    _seconds("skew_time", "part of `coll_time`: waiting for the last rank to arrive; NaN: not measured"),
    _bytes("largest_message", "of the largest message sent"),
    Column(
        "omp_threads", "integer", "most", "the most threads at once in its OpenMP parallel regions", since=6
    ),
    _count("dest_ranks", "distinct ranks sent to, **inclusive**"),
    _count("src_ranks", "distinct ranks received from, **inclusive**"),
    _count("dest_ranks_exclusive", "distinct ranks sent to"),
    _count("src_ranks_exclusive", "distinct ranks received from"),
    *(column for name in INSTANCE_QUANTITIES for column in _extremes(name)),
)

# Each message counts in those between the partner and the time: `add_sends`, `add_receives` in src/watch.
_TRAFFIC = (
    _PATH,
    _RANK,
    _key("partner", "the other rank; −1: not in this world"),
    _count("sends", "messages to it"),
    _bytes("bytes_sent", "in these"),
    _count("recvs", "messages from it"),
    _bytes("bytes_recv", "in these"),
    _seconds("time", "in calls for these messages; 0 in `neighbors`"),
)

STORED: Mapping[str, tuple[Column, ...]] = {
    "paths": (
        _key("path", "the number of the row"),
        _key("parent", "the path around it; −1 for the root"),
        _key("name", "of the region; that of the root is `<program>`", "string"),
        _key("communication", "1 for a communication region"),
    ),
    "processes": (
        _RANK,
        _key("host", "its name", "string"),
        _key("pid", "the process on it"),
        _seconds("start", "since 1970"),
        _seconds("duration", "from `MPI_Init` to `MPI_Finalize`"),
        _count("threads", "that called MPI"),
        _count("unmatched_begins", "region markers without an end"),
        _count("unmatched_ends", "region markers without a begin"),
        _count("dropped", "records refused for want of memory, or as nested too deep"),
        _count("finalized", "1 if it came to `MPI_Finalize`"),
        Column(
            "sizes_spilled", "integer", "sum", "messages whose size is known as a range only", is_needed=False
        ),
        Column(
            "watched", "integer", "sum", "0 if the rank did not record: it has this row only", is_needed=False
        ),
        _seconds("tick", "of a tick in `instances`"),
        Column("cpus", "string", "key", "that it may run on, such as `0-3,8`; empty: not known", since=2),
        Column("numa_nodes", "string", "key", "of these CPUs, in the same form", since=2),
        Column("sockets", "string", "key", "of these CPUs, in the same form", since=2),
        Column(
            "open_calls",
            "integer",
            "sum",
            "MPI calls that it never came back from; they are in `calls`, and last until its end",
            since=2,
        ),
        Column(
            "cpu_time",
            "real",
            "sum",
            "of all its threads, from `MPI_Init` to `MPI_Finalize`; like the next two 0 if not known",
            "s",
            since=5,
        ),
        Column("preemptions", "integer", "sum", "involuntary context switches in this time", since=5),
        Column("memory_max", "integer", "most", "the most memory that it had resident", "B", since=5),
        Column("program", "string", "key", "that the rank runs, a file's name", since=5),
        Column(
            "openmp",
            "string",
            "key",
            "`recorded`; `another tool`: the runtime allows one; `no interface`: GCC's runtime has none for "
            "tools; empty: no OpenMP, or unknown",
            since=6,
        ),
    ),
    "ranks": _RANKS,
    "main_thread": _RANKS,
    "calls": (
        _PATH,
        _key("call", "the function, such as `MPI_Isend`", "string"),
        _MEMORY,
        _count("calls", "how often"),
        _bytes("bytes", "in these"),
        _seconds("time_total", "over all ranks and calls"),
        _LONGEST,
    ),
    "rank_calls": (
        _RANK,
        _key("call", "the function, as in `calls`", "string"),
        _count("calls", "how often, in all regions"),
        _bytes("bytes", "in these"),
        _seconds("time_total", "over all calls"),
        _LONGEST,
    ),
    "sizes": (
        _PATH,
        _key("kind", "`p2p`, `coll` or `rma`", "string"),
        _MEMORY,
        _key("bytes", "of a message"),
        _key("bytes_upper", "equal to `bytes`, or larger: the row is for a range of sizes"),
        _count("messages", "how many; of `p2p` those sent"),
        _seconds("time_total", "over all ranks; of `p2p` on both sides"),
    ),
    "partners": _TRAFFIC,
    "neighbors": _TRAFFIC,
    "collectives": (
        _PATH,
        _key("operation", "such as `Allreduce`", "string"),
        _key("comm_size", "ranks of the communicator"),
        _key("bytes", "of a call"),
        _count("calls", "of all ranks"),
        _seconds("time_total", "over all ranks and calls"),
        _LONGEST,
    ),
    "communicators": (
        _key("name", "as `MPI_Comm_set_name` has it", "string"),
        _key("size", "its ranks"),
        _key("members", "a hash of their world ranks, in order"),
        _count("ranks", "that used it"),
        _count(
            "calls", "messages sent, messages received by calls that do not send as well, and collectives"
        ),
        _bytes("bytes", "sent"),
    ),
    "unaccounted": (
        _key("call", "a function that moved data which the recorder does not understand", "string"),
        _count("calls", "how often"),
    ),
    "series": (
        _PATH,
        _RANK,
        _key("thread", "counted from 0"),
        _key("instance", "the number of the first one; threads of a rank are numbered one after the other"),
        _key("instances", "how many there are, in order"),
    ),
    "instances": (Column("packed", "integer", "key", "an instance in 64 bits, see below", is_noise=True),),
    "values": (
        _PATH,
        _RANK,
        _key("instance", "the instance that the value is of"),
        _key("name", "of the value", "string"),
        Column("value", "real", "sum", "as the program gave it"),
    ),
    "slices": (
        _RANK,
        _key("slice", "its number"),
        _seconds("start", "after `MPI_Init`", "most"),
        _seconds("duration", "up to the last stamp in it", "most"),
        _count("sends", "as in `ranks`, like all that follow"),
        _bytes("bytes_sent", ""),
        _count("recvs", ""),
        _bytes("bytes_recv", ""),
        _count("colls", ""),
        _bytes("coll_bytes", ""),
        _count("rma_ops", ""),
        _bytes("rma_bytes", ""),
        _bytes("io_bytes", ""),
        _seconds("p2p_time", ""),
        _seconds("coll_time", ""),
        _seconds("rma_time", ""),
        _seconds("io_time", ""),
        _seconds("wait_time", ""),
        Column(
            "off_cpu_time", "real", "sum", "in which the thread had no CPU, as far as known", "s", since=5
        ),
        Column(
            "core_wait_time",
            "real",
            "sum",
            "part of `off_cpu_time`: it could have run, but other threads had the cores",
            "s",
            since=5,
        ),
        Column("poll_time", "real", "sum", "", "s", since=5),
    ),
    "transfers": (
        _PATH,
        _key("protocol", "such as `GET`", "string"),
        _count("messages", "that the shm library copied, counted where they are received"),
        _bytes("bytes", "in these"),
        _count("chunks", "in which they were copied"),
        _count("helpers", "other ranks that took part, summed over messages"),
        _seconds("time_total", "of copying, over all ranks"),
        _LONGEST,
    ),
    "nccl": (
        _PATH,
        _key("operation", "such as `ncclAllReduce`", "string"),
        _key("algorithm", "that NCCL chose, such as `RING`; empty for messages between two ranks", "string"),
        _key("protocol", "that NCCL chose, such as `SIMPLE`", "string"),
        _key("channels", "of its kernel"),
        _key("comm_size", "ranks of the communicator"),
        _key("bytes", "of a call"),
        _count("calls", "of all ranks"),
        _seconds("time_total", "over all ranks and calls, from its enqueueing to the end of its kernel"),
        _LONGEST,
    ),
    "phases": (
        _RANK,
        _key("phase", "its number: its region is `phase 1`, and so on"),
        _count("iterations", "of it, found from the sequence of calls"),
        _count("found_after", "iterations that had passed when the phase was found; the rest have regions"),
        _count("length", "MPI calls of a typical iteration, without those that are not searched"),
        _count("forms", "different sequences of functions in the iterations"),
        _count("calls", "searched, from the first iteration to the end of the last"),
        _count(
            "all_calls", "searched in the whole program; 0: unknown, as a marker or an abort ended the search"
        ),
        _seconds("start", "of the first one, after `MPI_Init`", "most"),
        _seconds("end", "of the last one, after `MPI_Init`", "most"),
    ),
    "metadata": (
        _key("kind", "the source: `user`, `environment` or `job`", "string"),
        _key("key", "the subject", "string"),
        _key("value", "the text, secrets masked", "string"),
        _count("ranks", "with this value"),
        _count("first", "1 if rank 0 is one of them"),
    ),
    "sites": (
        _PATH,
        _key("stack", "where the calls came from, see above", "string"),
        _key("call", "the function, such as `MPI_Isend`", "string"),
        _count("ranks", "that made such calls"),
        _count("calls", "of all ranks"),
        _bytes("bytes", "in these, as in `calls`"),
        _seconds("time_total", "over all ranks and calls"),
        Column("time_squares", "real", "sum", "each rank's total, squared", "s2"),
        _LONGEST,
    ),
    "modules": (
        _key("module", "as frames of `sites` have it: eight hexadecimal digits", "string"),
        _key("file", "its path where the program ran", "string"),
        _key("build", "its build identity in hexadecimal; empty if it has none", "string"),
        Column("is_program", "integer", "most", "1 for the executable itself"),
    ),
    "trace_sequences": (
        _RANK,
        _key("thread", "in the order in which they came, from 0"),
        _key("segment", "of the thread's events, from 0"),
        _key("structure", "of the events: rows of `trace_symbols` and `trace_rules`"),
        _key("events", "how many"),
        _key("order", "bytes of `trace_orders` with the order; 0: the structure's rules have it"),
    ),
    "trace_symbols": (
        _key("structure", "that the symbol belongs to"),
        _key("symbol", "its number in that"),
        _key(
            "kind", "1: a region begins, 2: ends, 3: a call, 4: a part of the next call, 5: events were lost"
        ),
        _key("call", "the function; empty if the symbol is not a call", "string"),
        _PATH,
        _key(
            "bytes",
            "of the call, as in `calls`; if it has no action, less what its parts received; lost events",
        ),
        _key("action", "on a message or a collective, see above"),
        _key("communicator", "a row of `trace_communicators`; 0: none"),
        _key("partner", "of a message: how many ranks after the own one, modulo the size; −1: none, or any"),
        _key("tag", "of a message; −1: none, or any"),
        _key("size", "bytes of the message or the collective"),
        _key("thread", "0, or 1 + the thread that began the completed operation, if it is a different one"),
        _key("request", "the completed operation is that of the Nth last request; 1: the last"),
        _count("ranks", "threads that have it"),
    ),
    "trace_rules": (
        _key("structure", "that the rules belong to"),
        _key("position", "eight bytes each, from 0"),
        _key("packed", "the bytes, see above"),
        _count("ranks", "threads that have it"),
    ),
    "trace_orders": (
        _RANK,
        _key("thread", "as in `trace_sequences`"),
        _key("segment", "as in `trace_sequences`"),
        _key("position", "eight bytes each, from 0"),
        Column("packed", "integer", "key", "the bytes, see above", is_packed=True),
    ),
    "trace_pieces": (
        _RANK,
        _key("thread", "as in `trace_sequences`"),
        _key("gaps", "numbers in the first column"),
        _key("durations", "numbers in the second column"),
        _key("bytes", "of both columns; they are in the next rows of `trace_words`, eight per row"),
    ),
    "trace_words": (Column("packed", "integer", "key", "eight bytes of `trace_pieces`", is_packed=True),),
    "trace_communicators": (
        _key("communicator", "its identity, the same on all ranks"),
        _key("members", "of an inter-communicator: a hash of the group that these ranks are, else 0"),
        _key("name", "as in `communicators`", "string"),
        _key("size", "its ranks"),
        _key("position", "of the first rank of the row"),
        _key("count", "ranks of the row"),
        _key("world", "rank in `MPI_COMM_WORLD` of the first; −1: not known"),
        _key("stride", "from each to the next"),
        _count("ranks", "that used it"),
    ),
    "trace_clocks": (
        _RANK,
        _key("machine", "the clock; ranks with the same number share one"),
        _key("zero", "tick at `MPI_Init`"),
        _key("nanosecond", "of the system's clock then"),
        _seconds("tick", "of a tick", "most"),
        _seconds("offset_begin", "to be added for the clock of rank 0's machine, at `MPI_Init`", "most"),
        _seconds("offset_end", "the same at `MPI_Finalize`", "most"),
        _count("lost", "events for which there was no memory"),
    ),
    "symbols": (
        _key("module", "of a frame", "string"),
        _key("offset", "of a frame"),
        _key("depth", "0 for the innermost function there, 1 for the one that it was put into, and so on"),
        _key("function", "as its author wrote it", "string"),
        _key("file", "of the source; empty if unknown", "string"),
        _key("line", "in it; 0 if unknown"),
    ),
}

# Written only where the user asks for them, or where there is something to report.
OPTIONAL = frozenset(
    {
        *(
            "main_thread",
            "rank_calls",
            "neighbors",
            "unaccounted",
            "series",
            "instances",
            "values",
            "slices",
            "transfers",
            "nccl",
        ),
        *("phases", "metadata", "sites", "modules", "symbols"),
        *("trace_sequences", "trace_symbols", "trace_rules", "trace_orders", "trace_pieces", "trace_words"),
        *("trace_communicators", "trace_clocks"),
    }
)
