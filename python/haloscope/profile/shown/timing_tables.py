"""The tables of waiting, of efficiencies and of clocks."""

from __future__ import annotations

from haloscope.profile.shown.cells import bandwidth, count, exact, part, size, text, time
from haloscope.profile.shown.shown_table import columns, declare_table

TIMING_TABLES = (
    declare_table(
        "waits",
        columns(
            "region kind",
            "`kind` is one of the [kinds](#kinds-of-waiting) of waiting",
            region=text(),
            kind=text(),
        ),
        columns("waits", "number of waits; of `other` the number of MPI calls", waits=count()),
        columns(
            "time_total",
            "sum over ranks and calls; the sum of all kinds of a region is the time in MPI calls",
            time_total=time("time, all ranks"),
        ),
        columns("time_max", "the longest of a region, rank and partner together"),
        columns("share", "of the time in MPI calls of the region", share=part()),
        note="share: of the region's time in MPI calls; other: neither waiting nor completion",
    ),
    declare_table(
        "wait_pairs",
        columns("region kind", "as in `waits`", region=text(), kind=text()),
        columns(
            "rank partner", "`rank` waits, `partner` is waited for", rank=exact(), partner=exact("waits for")
        ),
        columns("waits time time_max", "number, sum of times, longest one", waits=count(), time=time()),
    ),
    declare_table(
        "delays",
        columns("region rank", "where others waited for this rank's time", region=text(), rank=exact()),
        columns(
            "cost", "all ranks' waiting that this caused: `direct` + `indirect`", cost=time("waiting caused")
        ),
        columns("direct", "waiting of ranks that waited for this rank", direct=time()),
        columns(
            "indirect",
            "waiting of ranks that waited for a rank that had waited because of this one",
            indirect=time(),
        ),
        columns("share", "of all waiting", share=part()),
        note="waiting caused: of all ranks, by the excess time of this rank there",
    ),
    declare_table(
        "critical_path",
        columns("region rank", "on the path", region=text(), rank=exact()),
        columns("time", "of the path; of all ranks together the time of the run", time=time()),
        columns("mpi_time", "the part of it in MPI calls: transfer, not waiting", mpi_time=time("in MPI")),
        columns("share", "of the run's time", share=part()),
        note="share: of the run's time; in MPI: transfer, as the critical path has no waiting",
    ),
    declare_table(
        "pop",
        columns("region", "as everywhere", region=text()),
        columns(
            "parallel",
            "share of the region's time that ranks compute: `load_balance` × `communication`",
            parallel=part(),
        ),
        columns("load_balance", "mean over largest computing time of a rank", load_balance=part("balance")),
        columns(
            "communication",
            "largest computing time of a rank over `run_time`: lost to MPI",
            communication=part("comm."),
        ),
        columns(
            "serialisation",
            "of `<program>`, with a trace: largest computing time over `ideal_time`: lost to waiting for "
            "each other's order",
            serialisation=part("serial."),
        ),
        columns(
            "transfer",
            "of `<program>`, with a trace: `ideal_time` over `run_time`: lost to the network and the MPI "
            "library; `communication` is the product of both",
            transfer=part(),
        ),
        columns(
            "run_time",
            "the longest time of a rank in the region; of `<program>`, with a trace: from the first "
            "`MPI_Init` to the last `MPI_Finalize`",
            run_time=time("run"),
        ),
        columns(
            "ideal_time",
            "of a replay in which MPI takes no time, but messages arrive after they were sent",
            ideal_time=time("ideal"),
        ),
        columns(
            "computing_mean computing_max", "outside of MPI calls, over the ranks that entered the region"
        ),
        columns(
            "hybrid",
            "`parallel` × `openmp`: share of the time of all threads in which they compute; null, like the "
            "next four, if no OpenMP threads were recorded",
            hybrid=part(),
        ),
        columns(
            "openmp",
            "share of the threads' time outside of MPI in which they compute: `openmp_load_balance` × "
            "`openmp_scheduling` × `openmp_serial`",
            openmp=part("OpenMP"),
        ),
        columns(
            "openmp_load_balance",
            "lost to threads that compute longer than others of their team",
            openmp_load_balance=part("balance of threads"),
        ),
        columns(
            "openmp_scheduling",
            "lost to the runtime: begin and end of parallel regions, barriers between equal threads",
            openmp_scheduling=part("scheduling"),
        ),
        columns(
            "openmp_serial",
            "lost to code outside of parallel regions, and to teams that are smaller than the largest one",
            openmp_serial=part("serial code"),
        ),
        note="parallel: share of the time that ranks compute: balance × comm.; comm.: serial. × transfer",
    ),
    declare_table(
        "tolerance",
        columns("region", "as everywhere", region=text()),
        columns(
            "latencies",
            "number of latencies of this region's messages on the critical path",
            latencies=count(),
        ),
        columns(
            "latency_1 latency_2 latency_5",
            "time that can be added to each latency of this region until the run is 1 %, 2 %, 5 % longer;"
            " null if it never is",
            latency_1=time("1 % longer"),
            latency_2=time("2 %"),
            latency_5=time("5 %"),
        ),
        columns("bytes", "bytes of this region's messages on the critical path", bytes=size()),
        columns(
            "per_byte_1 per_byte_2 per_byte_5",
            "time that can be added per byte of this region until the run is 1 %, 2 %, 5 % longer. "
            "One over it is the bandwidth of a further link on its messages' way; null if it never is",
            per_byte_1=bandwidth("1 % at"),
        ),
        columns("run_time", "of the whole run, as recorded", run_time=time("run")),
        columns(
            "without_waiting", "of the whole run, if no rank waited in this region", without_waiting=time()
        ),
        note="latencies, bytes: of the region's messages, on the critical path; then the latency that can be "
        "added to each until the run takes this share longer, and a further link's bandwidth for that",
    ),
    declare_table(
        "clocks",
        columns("rank host", "as everywhere", rank=exact(), host=text()),
        columns(
            "machine",
            "the number of the clock; 0 is the first rank's, to which all times refer",
            machine=exact(),
        ),
        columns(
            "offset_begin offset_end",
            "offset of the rank's clock, measured by round trips at `MPI_Init` and at "
            "`MPI_Finalize`, and interpolated between them",
            offset_begin=time("offset, begin"),
            offset_end=time("offset, end"),
        ),
        columns(
            "shift",
            "the largest further shift of the clock, computed from messages; 0 on the first machine",
            shift=time("by messages"),
        ),
        columns(
            "moved",
            "calls and ends of regions that were moved so that no message arrives before it was sent",
            moved=count(),
        ),
        columns("moved_max", "the largest move", moved_max=time("moved at most")),
    ),
)
