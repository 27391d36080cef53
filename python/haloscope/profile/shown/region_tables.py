"""The tables of regions and ranks."""

from __future__ import annotations

from haloscope.base.schema import COUNTED, INSTANCE_QUANTITIES
from haloscope.profile.shown.cells import count, exact, share, size, span, text, time
from haloscope.profile.shown.shown_table import columns, declare_table

_EXTREMES = " ".join(f"{name}_instance_{end}" for name in INSTANCE_QUANTITIES for end in ("min", "max"))

REGION_TABLES = (
    declare_table(
        "regions",
        columns("region path", "last name, full name", region=text()),
        columns("ranks", "number of ranks that entered the region", ranks=count()),
        columns("instances", "finished instances, the largest number of all ranks", instances=count()),
        columns(
            "sends_min sends_max sends_total", "point-to-point messages started", sends_total=count("sends")
        ),
        columns("recvs_min recvs_max recvs_total", "messages received"),
        columns(
            "dest_ranks_min dest_ranks_mean dest_ranks_max",
            "distinct ranks sent to",
            dest_ranks_min=span("partners", to="dest_ranks_max"),
        ),
        columns("src_ranks_min src_ranks_mean src_ranks_max", "distinct ranks received from"),
        columns(
            "bytes_sent_min bytes_sent_max bytes_sent_total",
            "bytes in messages sent",
            bytes_sent_total=size("sent"),
        ),
        columns("bytes_recv_min bytes_recv_max bytes_recv_total", "bytes in messages received"),
        columns("largest_message", "bytes of the largest single message sent; 0 if none was"),
        columns(
            "mean_message",
            "`bytes_sent_total` / `sends_total`; null without sends",
            mean_message=size("message"),
        ),
        columns(
            "sends_offnode_total bytes_offnode_total",
            "messages, and their bytes, to ranks on another host; a partner whose host is unknown is "
            "not counted",
        ),
        columns(
            "colls_max colls_total",
            "collective calls, neighbourhood collectives among them",
            colls_total=count("colls"),
        ),
        columns("coll_bytes_total", "bytes of the collectives' send arguments"),
        columns("rma_ops_total rma_bytes_total", "one-sided operations and their bytes"),
        columns("time_mean time_min time_max", "time spent in the region", time_mean=time("time")),
        columns(
            "cpu_time_mean",
            "CPU time in the region; the rest of `time_mean` it slept or waited for a core. Null for regions "
            "whose instances last less than 1 ms on average",
        ),
        columns("p2p_time_mean", "in point-to-point calls and in waiting for their requests"),
        columns("coll_time_mean", "in collectives and in waiting for their requests"),
        columns("rma_time_mean", "in one-sided calls"),
        columns("io_ops_total io_bytes_total io_time_mean", "MPI-IO operations, bytes, time"),
        columns(
            "mpi_time_mean",
            "in all MPI calls: the four above, the other functions, and polls (`poll_time_mean`)",
            mpi_time_mean=share("MPI", of="time_mean"),
        ),
        columns("wait_time_mean", "the part of it that was [waiting](#waiting)"),
        columns("compute_time_mean", "`time_mean` − `mpi_time_mean`"),
        columns(
            "skew_time_mean", "waiting for others to arrive (see `ranks`); null where it was not measured"
        ),
        *(
            columns(" ".join(f"{column.name}_{kind}" for kind in column.over_ranks), column.meaning)
            for column in COUNTED
            if column.over_ranks
        ),
        columns("omp_threads_max", "the most OpenMP threads of a rank at once"),
        columns(
            _EXTREMES,
            "extremes over single instances, of all ranks, for X in `sends`, `recvs`, `dest_ranks`, "
            "`src_ranks`, `bytes_sent`, `bytes_recv`, `colls`; null if no instance finished",
        ),
        note="time: mean of ranks; MPI: share of time; partners: ranks sent to, min–max",
        order="region ranks instances time_mean mpi_time_mean sends_total bytes_sent_total mean_message "
        "dest_ranks_min colls_total",
    ),
    declare_table(
        "ranks",
        columns(
            "region rank host program",
            "the rank's host, and the program that it runs; null for a rank without a process record",
            region=text(),
            rank=exact(),
            host=text(),
            program=text(),
        ),
        columns("instances", "finished instances"),
        columns("sends recvs", "messages", sends=count()),
        columns(
            "dest_ranks src_ranks", "distinct ranks sent to, received from", dest_ranks=count("partners")
        ),
        columns("bytes_sent bytes_recv", "bytes in messages sent, received", bytes_sent=size("sent")),
        columns("largest_message mean_message", "bytes of the largest, of the average message sent"),
        columns("sends_offnode bytes_offnode", "to ranks on another host"),
        columns("colls coll_bytes", "collective calls, bytes", colls=count()),
        columns("rma_ops rma_bytes", "one-sided operations, bytes"),
        columns("time", "in the region", time=time()),
        columns("cpu_time", "CPU time in the region, as in `regions`"),
        columns("p2p_time coll_time rma_time", "in point-to-point, collective, one-sided calls"),
        columns("io_ops io_bytes io_time", "MPI-IO"),
        columns("mpi_time", "in all MPI calls, and in polling", mpi_time=share("MPI", of="time")),
        columns("wait_time", "the waiting part of it", wait_time=time("waiting")),
        columns("compute_time", "`time` − `mpi_time`"),
        columns(
            "skew_time",
            "part of `coll_time`: waiting for the last rank in blocking collectives, measured by a "
            "barrier before them. An estimate with `--sync-collectives N`: then each barrier is "
            "extrapolated to the calls since the one before. Null where it was not measured",
        ),
        *(columns(column.name, column.meaning) for column in COUNTED if column.over_ranks),
        columns("omp_threads", "the most OpenMP threads at once"),
        columns(_EXTREMES, "as in `regions`, of this rank"),
        note="MPI: its share of the time; partners: distinct ranks sent to",
        order="region rank host program time mpi_time sends bytes_sent dest_ranks colls wait_time",
    ),
)
