"""The tables of calls, messages and phases, and of the run itself."""

from __future__ import annotations

from haloscope.profile.shown.cells import (
    call_time,
    count,
    exact,
    info_value,
    number,
    part,
    region_text,
    site,
    size,
    text,
    time,
    word,
    yes_no,
)
from haloscope.profile.shown.shown_table import columns, declare_stored_table, declare_table

_MEMORY = columns(
    "memory",
    "where the buffer is, `host`, `device` or `managed` (see [GPUs](gpus.md)); null for a call that names "
    "none, and in older files",
    memory=text(),
)

RUN_TABLES = (
    declare_stored_table(
        "calls",
        columns(
            "region call", "`call` is the function's name, such as `MPI_Isend`", region=text(), call=text()
        ),
        _MEMORY,
        columns("calls bytes", "how often, and with how many bytes", calls=count(), bytes=size()),
        columns(
            "time_total",
            "sum over ranks and calls; an estimate for non-blocking posts of small messages "
            "(`exact_times` in `info`)",
            time_total=call_time("time, all ranks"),
        ),
        columns("time_max", "the longest single call that was timed", time_max=call_time("longest")),
        columns(
            "chunks helpers",
            "only if the shm library has copied messages: the number of pieces, and of other ranks that "
            "helped to copy; null for MPI functions",
            chunks=count(),
            helpers=count(),
        ),
        order="region call memory calls bytes time_total time_max chunks helpers",
    ),
    declare_stored_table(
        "rank_calls",
        columns("rank call", "`call` is the function's name, such as `MPI_Isend`", rank=exact(), call=text()),
        columns("calls bytes", "in all regions, as in `calls`", calls=count(), bytes=size()),
        columns("time_total", "of this rank's calls, as in `calls`", time_total=call_time("time")),
        columns("time_max", "the longest single call that was timed", time_max=call_time("longest")),
    ),
    declare_table(
        "sites",
        columns("region", "as everywhere", region=text()),
        columns(
            "site",
            "the first location outside the libraries: file and line, else the function, else the file of "
            "code and the offset in it",
            site=site(function="function"),
        ),
        columns("file line function", "of the site; null if unknown"),
        columns(
            "stack",
            "the locations on the stack, the outermost first, separated by `;`; at most the recorded depth",
        ),
        columns("call", "the function, such as `MPI_Isend`", call=word()),
        columns("calls bytes", "how often, and with how many bytes", calls=count()),
        columns("time_total", "sum over ranks and calls, as in `calls`", time_total=call_time("time")),
        columns("share", "of the MPI time of all sites of the run", share=part()),
        columns(
            "time_cv",
            "coefficient of variation of the time over the ranks with such calls: standard deviation "
            "over mean; null for a row that is a sum of several, such as of nested "
            "regions",
            time_cv=part("±"),
        ),
        note="time: all ranks; share: of the MPI time of all sites; ±: standard deviation over ranks;"
        " stacks that lead there: --format csv or json",
    ),
    declare_stored_table(
        "sizes",
        columns("region kind", "`kind` is `p2p`, `coll` or `rma`", region=text(), kind=text()),
        _MEMORY,
        columns("bytes", "the exact size of each message", bytes=exact()),
        columns("messages", "how many; for `p2p` the sends", messages=count()),
        columns("time_total", "sum over ranks; for `p2p` of both sides", time_total=time("time, all ranks")),
        columns(
            "bytes_upper",
            "exists only if the program used more distinct sizes than are stored (`sizes_spilled` in "
            "`info`); a row in which it is larger than `bytes` is a range",
            bytes_upper=exact("up to"),
        ),
        order="region kind memory bytes bytes_upper messages time_total",
    ),
    declare_stored_table(
        "partners",
        columns(
            "region rank partner",
            "`partner` is null for processes outside this `MPI_COMM_WORLD`",
            region=text(),
            rank=exact(),
            partner=exact(),
        ),
        columns("same_node", "whether both are on one host; null if unknown", same_node=yes_no()),
        columns("sends bytes_sent", "from `rank` to `partner`", sends=count(), bytes_sent=size("sent")),
        columns("recvs bytes_recv", "from `partner` to `rank`", recvs=count(), bytes_recv=size("received")),
        columns("time", "that `rank` spent in calls for these messages", time=time()),
    ),
    declare_stored_table(
        "collectives",
        columns(
            "region operation",
            "`operation` without `MPI_`, such as `Allreduce`",
            region=text(),
            operation=text(),
        ),
        columns("comm_size", "ranks in the communicator", comm_size=count("ranks")),
        columns("bytes", "of one call on one rank", bytes=exact()),
        columns("calls", "of all ranks", calls=count()),
        columns(
            "time_total time_max",
            "sum over ranks and calls, the longest single call",
            time_total=time("time, all ranks"),
            time_max=time("longest"),
        ),
        columns(
            "algorithm protocol channels",
            "only if [NCCL or RCCL](gpus.md) was used, whose operations begin with `nccl`: its choice; "
            "null for MPI's",
            algorithm=text(),
            protocol=text(),
            channels=count(),
        ),
    ),
    declare_table(
        "communicators",
        columns(
            "name size",
            "as `MPI_Comm_set_name` and `MPI_Comm_size` have it",
            name=text("communicator"),
            size=count(),
        ),
        columns("ranks", "number of ranks that used it", ranks=count()),
        columns("calls bytes", "on it, of all ranks", calls=count(), bytes=size()),
    ),
    declare_table(
        "series",
        columns(
            "region rank instance",
            "`instance` counts from 0 on each rank; if several threads of a rank enter a region, their "
            "instances are numbered one thread after the other",
            region=text(),
            rank=exact(),
            instance=exact(),
        ),
        columns("start", "seconds since `MPI_Init`", start=time()),
        columns("duration wait", "of the instance, and its waiting time", duration=time(), wait=time()),
        columns(
            "",
            "a value that the program recorded with `HALOSCOPE_VALUE`; null if it did not. A value with "
            "the name of a column above gets the suffix `_value`",
        ),
        others=lambda name: number(region_text(name)),
    ),
    declare_table(
        "phases",
        columns(
            "rank phase",
            "the rank, and the number of the phase; its region is `phase 1`, or `phase 1 (candidate)` if"
            " it is [uncertain](../explanation/phases.md); `iteration` is in it",
            rank=count(),
            phase=count(),
        ),
        columns("iterations", "of the phase", iterations=count()),
        columns(
            "found_after",
            "iterations that had passed when the phase was found; the others have regions",
            found_after=count(),
        ),
        columns(
            "length",
            "MPI calls of a typical iteration, without posts, polls and calls that are repeated until done",
            length=count("calls"),
        ),
        columns("forms", "different sequences of functions in the iterations", forms=count()),
        columns(
            "share",
            "calls from the first iteration to the end of the last one, of all such calls of the rank",
            share=part(digits=0),
        ),
        columns("start end", "of the phase, seconds after MPI_Init", start=time(), end=time()),
    ),
    declare_stored_table(
        "slices",
        columns("rank", "the rank", rank=exact()),
        columns("slice", "counted from MPI_Init on, in units of the slice's length", slice=exact()),
        columns(
            "sends bytes_sent recvs bytes_recv colls coll_bytes rma_ops rma_bytes io_bytes",
            "as in `ranks`",
            sends=count(),
            bytes_sent=size("sent"),
            recvs=count(),
            bytes_recv=size("received"),
            colls=count("collectives"),
        ),
        columns("start", "seconds after MPI_Init", start=time()),
        columns(
            "duration",
            "seconds from `start` to the last time stamp in the slice; longer than a slice if a call, or a "
            "time without calls, continues",
            duration=time(),
        ),
        columns(
            "p2p_time coll_time rma_time io_time wait_time poll_time",
            "as in `ranks`",
            p2p_time=time("p2p"),
            coll_time=time("collectives' time"),
            wait_time=time("waiting"),
        ),
        columns(
            "off_cpu_time",
            "seconds in which the threads had no CPU, as far as known: they slept, or waited for a core",
            off_cpu_time=time("off CPU"),
        ),
        columns(
            "core_wait_time",
            "part of `off_cpu_time`: they could have run, but other threads had the cores",
            core_wait_time=time("without a core"),
        ),
        order="rank slice start duration sends bytes_sent recvs bytes_recv colls p2p_time coll_time "
        "wait_time off_cpu_time core_wait_time",
    ),
    declare_table(
        "binding",
        columns("rank host pid", "the rank, its host, and its process there", rank=exact(), host=text()),
        columns(
            "cpus",
            "that the rank could use when MPI was initialised, such as `0-3,8`; null: not known",
            cpus=text("CPUs"),
        ),
        columns(
            "numa_nodes sockets",
            "of these CPUs, in the same form",
            numa_nodes=text("NUMA nodes"),
            sockets=text(),
        ),
        columns(
            "cpu_time",
            "CPU time of all threads, seconds from `MPI_Init` to `MPI_Finalize`; null: not known",
            cpu_time=time("CPU time"),
        ),
        columns(
            "preemptions",
            "involuntary context switches in this time; a wait in MPI that yields its core counts, too",
            preemptions=count(),
        ),
        columns("memory_max", "the most memory that the process had resident", memory_max=size("memory")),
    ),
)
INFO = declare_table(
    "info",
    columns(
        "key value",
        "information about the run; values other than texts are JSON",
        key=text("about the run"),
        value=info_value("", key="key"),
    ),
)
