"""Every table and column of a profile, declared once.

The recorder's columns (`src/watch/declared.py` makes headers of this module), the columns that the reader in
`haloscope.explain` knows, and the tables of docs/format.md and docs/reference/tables.md come from here. This
module imports nothing of ours, so that a build can load it.

`STORED` is what the file has; `SHOWN` is what tables for people, scripts and Python have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "FORMAT",
    "INSTANCE_QUANTITIES",
    "OPTIONAL",
    "SHOWN",
    "STORED",
    "Column",
    "Group",
    "Merge",
    "Type",
    "shown_columns",
]

# Major and minor version of the file. A column that is new raises the minor one, and is `since` it.
FORMAT = (1, 3)

Type = Literal["integer", "real", "string"]
# What becomes of a column when rows with equal keys are put together.
Merge = Literal["key", "sum", "most"]


@dataclass(frozen=True)
class Column:
    """A column of a table of the file.

    `counted` says that each region of each thread has a sum of this quantity, of the same name in C++
    (`X_ticks` for the time `X_time`): "often" if nearly every call adds to it, else "rarely". Such a column
    needs no other declaration. `over_ranks` are the reductions over ranks that the table `regions` shows. A
    reader can do without a column for which `is_needed` is false.
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
_LONGEST = _seconds("time_max", "the longest single one", "most")

# Each region of each thread counts these. Add a quantity here, and count it: `node.NAME += …` in src/watch.
_COUNTED = (
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
        "calls of `MPI_Test…`, `Iprobe`, `Improbe` and `Parrived` that found nothing",
        since=1,
        counted="rarely",
        over_ranks=("total",),
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
    _count("instances", "passes through the region that were finished"),
    _seconds("time", "time in the region, **inclusive**"),
    _count("sends", "messages started"),
    _count("recvs", "messages received"),
    _bytes("bytes_sent", "in messages sent"),
    _bytes("bytes_recv", "in messages received"),
    _count("colls", "calls of collectives"),
    *_COUNTED,
    _seconds("skew_time", "part of `coll_time`: waiting for the last rank to come; NaN: not measured"),
    _bytes("largest_message", "of the largest message sent"),
    _count("dest_ranks", "distinct ranks sent to, **inclusive**"),
    _count("src_ranks", "distinct ranks received from, **inclusive**"),
    _count("dest_ranks_exclusive", "distinct ranks sent to"),
    _count("src_ranks_exclusive", "distinct ranks received from"),
    *(column for name in INSTANCE_QUANTITIES for column in _extremes(name)),
)

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
        Column("numa_nodes", "string", "key", "of these CPUs, likewise", since=2),
        Column("sockets", "string", "key", "of these CPUs, likewise", since=2),
        Column(
            "open_calls",
            "integer",
            "sum",
            "MPI calls that it never came back from; they are in `calls`, and last until its end",
            since=2,
        ),
    ),
    "ranks": _RANKS,
    "calls": (
        _PATH,
        _key("call", "the function, such as `MPI_Isend`", "string"),
        _count("calls", "how often"),
        _bytes("bytes", "in these"),
        _seconds("time_total", "over all ranks and calls"),
        _LONGEST,
    ),
    "sizes": (
        _PATH,
        _key("kind", "`p2p`, `coll` or `rma`", "string"),
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
        _key("instance", "the number of the first one; those of another thread are numbered on"),
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
    ),
    "transfers": (
        _PATH,
        _key("protocol", "such as `GET`", "string"),
        _count("messages", "carried by it, counted where they are received"),
        _bytes("bytes", "in these"),
        _count("chunks", "in which they were copied"),
        _count("helpers", "other ranks that took part, summed over messages"),
        _seconds("time_total", "of copying, over all ranks"),
        _LONGEST,
    ),
    "phases": (
        _RANK,
        _key("phase", "its number: its region is `phase 1`, and so on"),
        _count("iterations", "of it, found from the sequence of calls"),
        _count("found_after", "so many of them had passed when they were found: the rest have regions"),
        _count("length", "MPI calls of a typical one, of those that were looked at"),
        _count("forms", "different sequences of functions that they had"),
        _count("calls", "that were looked at, from the first iteration to the end of the last"),
        _count("all_calls", "that were looked at in the whole program"),
        _seconds("start", "of the first one, after `MPI_Init`", "most"),
        _seconds("end", "of the last one, after `MPI_Init`", "most"),
    ),
    "metadata": (
        _key("kind", "who says so: `user`, `environment` or `job`", "string"),
        _key("key", "what it is about", "string"),
        _key("value", "the text, secrets masked", "string"),
        _count("ranks", "that say so"),
        _count("first", "1 if rank 0 does"),
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
        _key("structure", "what they are: rows of `trace_symbols` and `trace_rules`"),
        _key("events", "how many"),
        _key("order", "bytes of `trace_orders` that say in which order; 0: the structure's rules do"),
    ),
    "trace_symbols": (
        _key("structure", "whose symbol it is"),
        _key("symbol", "its number in that"),
        _key(
            "kind", "1: a region begins, 2: ends, 3: a call, 4: a part of the next call, 5: events were lost"
        ),
        _key("call", "the function; empty for what is none", "string"),
        _PATH,
        _key("bytes", "of the call, as in `calls`; events that were lost"),
        _key("action", "what it does with a message or a collective, see above"),
        _key("communicator", "a row of `trace_communicators`; 0: none"),
        _key("partner", "of a message: how many ranks after the own one, modulo the size; −1: none, or any"),
        _key("tag", "of a message; −1: none, or any"),
        _key("size", "bytes of the message or the collective"),
        _key("thread", "0, or 1 + the thread that began what is completed, if it is another one"),
        _key("request", "how many requests ago the one was begun that is completed, 1: the last"),
        _count("ranks", "threads that have it"),
    ),
    "trace_rules": (
        _key("structure", "whose it is"),
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
        _key("gaps", "how many numbers the first column has"),
        _key("durations", "how many numbers the second column has"),
        _key("bytes", "of both, in the next so many rows of `trace_words`"),
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
        _key("machine", "whose clock it is: ticks of one machine are those of one clock"),
        _key("zero", "tick at `MPI_Init`"),
        _key("nanosecond", "of the system's clock then"),
        _seconds("tick", "of a tick", "most"),
        _seconds("offset_begin", "to be added for the clock of rank 0's machine, at `MPI_Init`", "most"),
        _seconds("offset_end", "likewise, at `MPI_Finalize`", "most"),
        _count("lost", "events that there was no room for"),
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

# Written only where they are asked for, or where there is something to say.
OPTIONAL = frozenset(
    {
        *("neighbors", "unaccounted", "series", "instances", "values", "slices", "transfers"),
        *("phases", "metadata", "sites", "modules", "symbols"),
        *("trace_sequences", "trace_symbols", "trace_rules", "trace_orders", "trace_pieces", "trace_words"),
        *("trace_communicators", "trace_clocks"),
    }
)


@dataclass(frozen=True)
class Group:
    """Columns of a shown table that are explained together."""

    names: tuple[str, ...]
    meaning: str


def _of(names: str, meaning: str) -> Group:
    return Group(tuple(names.split()), meaning)


_EXTREMES = tuple(f"{name}_instance_{end}" for name in INSTANCE_QUANTITIES for end in ("min", "max"))

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
        for column in _COUNTED
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
    *(Group((column.name,), column.meaning) for column in _COUNTED if column.over_ranks),
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
        _of("parallel", "share of the run that ranks compute: the product of the next three"),
        _of("load_balance", "mean over largest computing time of a rank"),
        _of(
            "serialisation",
            "largest computing time over `ideal_time`: lost to waiting for each other's order",
        ),
        _of("transfer", "`ideal_time` over `run_time`: lost to the network and the MPI library"),
        _of("run_time", "from the first to the last event of all ranks"),
        _of("ideal_time", "of a replay in which MPI takes no time, but messages come after they were sent"),
        _of("computing_mean computing_max", "outside of MPI calls, over ranks"),
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
}

SHOWN: Mapping[str, tuple[Group, ...]] = {
    "regions": _SHOWN_REGIONS,
    "ranks": _SHOWN_RANKS,
    "calls": (
        _of("region call", "`call` is the function's name, such as `MPI_Isend`"),
        _of("calls bytes", "how often, and with how many bytes"),
        _of(
            "time_total",
            "sum over ranks and calls; of the non-blocking posts of small messages an estimate "
            "(`exact_times` in `info`)",
        ),
        _of("time_max", "the longest single call that was timed"),
        _of(
            "chunks helpers",
            "only if a protocol layer has carried messages: in how many pieces, and how many other ranks "
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
