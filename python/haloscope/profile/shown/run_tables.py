"""The tables of calls, messages and phases, and of the run itself."""

from __future__ import annotations

from haloscope.profile.shown.cells import (
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
from haloscope.profile.shown.shown_table import columns, declare_table

_MEMORY = columns(
    "memory",
    "where the buffer lies, `host`, `device` or `managed` (see [GPUs](gpus.md)); null for a call that names "
    "none, and in older files",
    memory=text(),
)

RUN_TABLES = (
    declare_table(
        "calls",
        columns(
            "region call", "`call` is the function's name, such as `MPI_Isend`", region=text(), call=text()
        ),
        _MEMORY,
        columns("calls bytes", "how often, and with how many bytes", calls=count(), bytes=size()),
        columns(
            "time_total",
            "sum over ranks and calls; of the non-blocking posts of small messages an estimate "
            "(`exact_times` in `info`)",
            time_total=time("time, all ranks"),
        ),
        columns("time_max", "the longest single call that was timed", time_max=time("longest")),
        columns(
            "chunks helpers",
            "only if the shm library has carried messages: in how many pieces, and how many other ranks "
            "took part in copying; null for MPI functions",
            chunks=count(),
            helpers=count(),
        ),
        order="region call memory calls bytes time_total time_max chunks helpers",
    ),
    declare_table(
        "sites",
        columns("region", "as everywhere", region=text()),
        columns(
            "site",
            "the first place outside the libraries: file and line, else the function, else the file of "
            "code and the offset in it",
            site=site(function="function"),
        ),
        columns("file line function", "of the site; null where they are unknown"),
        columns(
            "stack",
            "the places that lead to the call, the outermost first, between them `;`; as many as were "
            "recorded",
        ),
        columns("call", "the function, such as `MPI_Isend`", call=word()),
        columns("calls bytes", "how often, and with how many bytes", calls=count()),
        columns("time_total", "sum over ranks and calls, as in `calls`", time_total=time("time")),
        columns("share", "of the MPI time of all sites of the run", share=part()),
        columns(
            "time_cv",
            "coefficient of variation of the time over the ranks that made such calls: their standard "
            "deviation over their mean; null where a row is put together of several, as of nested "
            "regions",
            time_cv=part("±"),
        ),
        note="time: all ranks; share: of the MPI time of all sites; ±: standard deviation over ranks;"
        " stacks that lead there: --format csv or json",
    ),
    declare_table(
        "sizes",
        columns("region kind", "`kind` is `p2p`, `coll` or `rma`", region=text(), kind=text()),
        _MEMORY,
        columns("bytes", "the exact size of each message", bytes=exact()),
        columns("messages", "how many; for `p2p` the sends", messages=count()),
        columns("time_total", "sum over ranks; for `p2p` of both sides", time_total=time("time, all ranks")),
        columns(
            "bytes_upper",
            "only there if the program used more distinct sizes than are kept (`sizes_spilled` in "
            "`info`): a row where it is larger than `bytes` is a range",
            bytes_upper=exact("up to"),
        ),
        order="region kind memory bytes bytes_upper messages time_total",
    ),
    declare_table(
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
    declare_table(
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
            "only if [NCCL or RCCL](gpus.md) was used, whose operations begin with `nccl`: what it "
            "chose; null for MPI's",
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
        columns("ranks", "how many ranks used it", ranks=count()),
        columns("calls bytes", "on it, of all ranks", calls=count(), bytes=size()),
    ),
    declare_table(
        "series",
        columns(
            "region rank instance",
            "`instance` counts from 0 on each rank; where several threads of a rank walk through a "
            "region, the next thread's are numbered on",
            region=text(),
            rank=exact(),
            instance=exact(),
        ),
        columns("start", "seconds since `MPI_Init`", start=time()),
        columns(
            "duration wait", "of the instance, and how much of it was waiting", duration=time(), wait=time()
        ),
        columns(
            "",
            "a value that the program recorded with `HALOSCOPE_VALUE`; null where it did not. One "
            "that is called like a column above has `_value` after its name",
        ),
        others=lambda name: number(region_text(name)),
    ),
    declare_table(
        "phases",
        columns(
            "rank phase",
            "the rank, and the number of the phase; its regions are `phase 1` and `phase 1/iteration`",
            rank=count(),
            phase=count(),
        ),
        columns("iterations", "that it had", iterations=count()),
        columns(
            "found_after",
            "so many had passed when they were found; the others have regions",
            found_after=count(),
        ),
        columns(
            "length",
            "MPI calls of a typical one, without posts, polls, and what there are as many of as it takes",
            length=count("calls"),
        ),
        columns("forms", "different sequences of functions that they had", forms=count()),
        columns(
            "share",
            "of all such calls of the rank, those from the first iteration to the end of the last",
            share=part(digits=0),
        ),
        columns("start end", "of the phase, seconds after MPI_Init", start=time(), end=time()),
    ),
    declare_table(
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
            "seconds from `start` to the last stamp in the slice; longer than a slice where a call, or a "
            "time without calls, went on",
            duration=time(),
        ),
        columns(
            "p2p_time coll_time rma_time io_time wait_time",
            "as in `ranks`",
            p2p_time=time("p2p"),
            coll_time=time("collectives' time"),
            wait_time=time("waiting"),
        ),
        order="rank slice start duration sends bytes_sent recvs bytes_recv colls p2p_time coll_time "
        "wait_time",
    ),
    declare_table(
        "binding",
        columns("rank host pid", "the rank, its host, and its process there", rank=exact(), host=text()),
        columns(
            "cpus",
            "that it might run on when MPI was initialised, such as `0-3,8`; null: not known",
            cpus=text("CPUs"),
        ),
        columns(
            "numa_nodes sockets", "that these are of, likewise", numa_nodes=text("NUMA nodes"), sockets=text()
        ),
    ),
)
INFO = declare_table(
    "info",
    columns(
        "key value",
        "what is known about the run; values other than texts are JSON",
        key=text("about the run"),
        value=info_value("", key="key"),
    ),
)
