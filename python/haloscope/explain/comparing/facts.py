"""Data of one run for a comparison: its counts, which are exact, and its times, which have noise."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from haloscope.profile import Profile
from haloscope.profile.store import ProfileData, Scope
from haloscope.profile.tables import rank_rows, region_rows

# Columns of the table `regions` that depend on the program only, not on the machine.
COUNTS = (
    "ranks",
    "instances",
    "sends_total",
    "recvs_total",
    "bytes_sent_total",
    "bytes_recv_total",
    "largest_message",
    "dest_ranks_max",
    "src_ranks_max",
    "colls_total",
    "coll_bytes_total",
    "rma_ops_total",
    "rma_bytes_total",
    "io_ops_total",
    "io_bytes_total",
)
# The number of these calls depends on the arrival of messages.
_TIMELY = r"^MPI_(Test|Iprobe|Improbe|Waitsome|Request_get_status|Parrived)"

FACTS = {"region": pl.String, "table": pl.String, "quantity": pl.String, "count": pl.Int64}
OWN_TIMES = {
    "region": pl.String,
    **dict.fromkeys(("time", "compute", "mpi", "waiting", "caused", "inclusive"), pl.Float64),
}
PAIRS = {"region": pl.String, "rank": pl.Int64, "partner": pl.Int64}


def count_facts(profile: Profile) -> pl.DataFrame:
    """Return all counts of a run: `region` (its path), `table`, `quantity`, `count`; without nested regions.

    Phases that the recorder found count as the program, because their first iterations vary between runs.
    Unknown counts have no row. `table` is `regions`, `calls`, `sizes`, `memory` (the part of the previous two
    about GPU buffers), `collectives`, `communicators` or `spread`. The counts of `spread` are hashes: they
    differ if the distribution over ranks differs.
    """
    parts = [
        _count_regions(profile),
        _count_calls(profile),
        _count_sizes(profile),
        _count_memory(profile),
        _count_collectives(profile),
    ]
    parts += [_count_communicators(profile), _hash_distribution(profile)]
    rows = pl.concat([part.select(pl.col(name).cast(kind) for name, kind in FACTS.items()) for part in parts])
    return rows.filter(pl.col("count").is_not_null())


def _read_frame(profile: Profile, table: str, columns: list[str]) -> pl.DataFrame:
    """Return columns of a stored table, with found phases counted as the program."""
    return _add_program_path(profile, profile.frame(table, columns))


def _add_program_path(profile: Profile, frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(path=pl.lit(0, pl.Int64)) if profile.has_phases else frame


def _read_rows(profile: Profile, of: Callable[[ProfileData, Scope], pl.DataFrame]) -> pl.DataFrame:
    """Return rows of regions without nested ones, or those of the whole program if its phases were found."""
    if profile.has_phases:
        return of(profile.data, Scope(profile.regions)).filter(pl.col("path") == 0)
    return of(profile.data, Scope(profile.regions, exclusive=True))


def _add_region_names(profile: Profile, frame: pl.DataFrame) -> pl.DataFrame:
    names = pl.Series("region", profile.regions.full_names, dtype=pl.String)
    return frame.with_columns(names.gather(frame["path"]).alias("region"))


def _count_regions(profile: Profile) -> pl.DataFrame:
    rows = _read_rows(profile, region_rows).select("path", *COUNTS)
    long = rows.unpivot(COUNTS, index="path", variable_name="quantity", value_name="count")
    return _add_region_names(profile, long).with_columns(table=pl.lit("regions"))


def _count_calls(profile: Profile) -> pl.DataFrame:
    rows = _read_frame(profile, "calls", ["path", "call", "calls"]).filter(
        ~pl.col("call").str.contains(_TIMELY)
    )
    sums = rows.group_by("path", "call").agg(pl.col("calls").sum().alias("count"))
    return _add_region_names(profile, sums).with_columns(
        pl.lit("calls").alias("table"), pl.col("call").alias("quantity")
    )


def _count_sizes(profile: Profile) -> pl.DataFrame:
    """Return the number of messages of each size, without ranges of sizes, which depend on the order."""
    columns = ["path", "kind", "bytes", "bytes_upper", "messages"]
    rows = _read_frame(profile, "sizes", columns).filter(pl.col("bytes") == pl.col("bytes_upper"))
    sums = rows.group_by("path", "kind", "bytes").agg(pl.col("messages").sum().alias("count"))
    quantity = pl.format("{} {} B", "kind", "bytes").alias("quantity")
    return _add_region_names(profile, sums).with_columns(pl.lit("sizes").alias("table"), quantity)


def _count_memory(profile: Profile) -> pl.DataFrame:
    """Return the number of calls, and of messages of each size, with a buffer that is not in host memory."""
    calls = _read_frame(profile, "calls", ["path", "call", "memory", "calls"])
    sizes = _read_frame(profile, "sizes", ["path", "kind", "bytes", "bytes_upper", "memory", "messages"])
    exact = sizes.filter(pl.col("bytes") == pl.col("bytes_upper"))
    timely = pl.col("call").str.contains(_TIMELY)
    parts = [
        calls.filter(~timely).select("path", "memory", what="call", count="calls"),
        exact.select("path", "memory", what=pl.format("{} of {} B", "kind", "bytes"), count="messages"),
    ]
    rows = pl.concat(parts).filter(~pl.col("memory").is_in(["", "host"]), pl.col("count") > 0)
    sums = rows.group_by("path", "what", "memory").agg(pl.col("count").sum())
    quantity = pl.format("{} of {} memory", "what", "memory").alias("quantity")
    return _add_region_names(profile, sums).with_columns(pl.lit("memory").alias("table"), quantity)


def knows_memory(profile: Profile) -> bool:
    """Return whether the profile has the memory of buffers."""
    return not profile.frame("calls", ["call", "memory"])["memory"].is_null().any()


def _count_collectives(profile: Profile) -> pl.DataFrame:
    keys = ["path", "operation", "comm_size", "bytes"]
    rows = _read_frame(profile, "collectives", [*keys, "calls"])
    sums = rows.group_by(keys).agg(pl.col("calls").sum().alias("count"))
    quantity = pl.format("{} of {} B on {} ranks", "operation", "bytes", "comm_size").alias("quantity")
    return _add_region_names(profile, sums).with_columns(pl.lit("collectives").alias("table"), quantity)


def _count_communicators(profile: Profile) -> pl.DataFrame:
    sums = profile.frame("communicators", ["size"]).group_by("size").agg(pl.len().alias("count"))
    return sums.with_columns(
        pl.lit(profile.regions.full_names[0]).alias("region"),
        pl.lit("communicators").alias("table"),
        pl.format("of {} ranks", "size").alias("quantity"),
    )


def _hash_distribution(profile: Profile) -> pl.DataFrame:
    """Return hashes that differ if the distribution over ranks or the partners differ at equal sums."""
    keys = ["path", "rank", "partner", "sends", "bytes_sent"]
    between = (
        _add_program_path(profile, profile.data.exchanges(keys))
        .group_by(keys[:3])
        .agg(pl.col(keys[3:]).sum())
    )
    sent = between.filter(pl.col("sends") > 0)
    parts = [_hash_rows(sent, keys[:3], "partners"), _hash_rows(sent, keys, "messages of each pair")]
    if profile.data.source.over_ranks(True) is None:
        each = _read_rows(profile, rank_rows)
        parts.append(
            _hash_rows(each, ["path", "rank", "sends", "colls", "rma_ops", "io_ops"], "calls of each rank")
        )
    return _add_region_names(profile, pl.concat(parts)).with_columns(pl.lit("spread").alias("table"))


def _hash_rows(rows: pl.DataFrame, columns: list[str], quantity: str) -> pl.DataFrame:
    # Sums of 38 bits each of at most 2^24 rows fit. Hashes are comparable within one process only.
    hashes = rows.select("path", (rows.select(columns).hash_rows(18) & ((1 << 38) - 1)).alias("hash"))
    sums = hashes.group_by("path").agg(pl.col("hash").cast(pl.Int64).sum().alias("count"))
    return sums.with_columns(pl.lit(quantity).alias("quantity"))


def list_pairs(profile: Profile) -> pl.DataFrame:
    """Return the pairs of ranks with messages: `region`, `rank`, `partner`, without nested regions."""
    rows = _add_program_path(profile, profile.data.exchanges(["path", "rank", "partner", "sends"])).filter(
        pl.col("sends") > 0
    )
    return _add_region_names(profile, rows.select("path", "rank", "partner").unique()).select(list(PAIRS))


def read_own_times(profile: Profile) -> pl.DataFrame:
    """Return the time of a run by region: one row per region, mean seconds per rank of the run.

    `time` excludes nested regions and is `compute` + `mpi`. With a trace, `waiting` is the part of `mpi` in
    wait states, and `caused` the waiting of any rank that this region causes; otherwise both are null.
    `inclusive` is the mean over the ranks that entered the region, with nested regions.
    """
    tree = profile.regions
    ranks = max(int(profile.info.get("ranks") or 0), 1)
    own = _read_rows(profile, region_rows)
    # A mean over the ranks that entered the region. Unknown times of MPI stay null.
    share = pl.col("ranks") / ranks
    order = pl.Series(tree.order, dtype=pl.Int64)
    rows = own.sort(order.gather(own["path"])).select(
        "path",
        (pl.col("time_mean") * share).alias("time"),
        (pl.col("compute_time_mean") * share).alias("compute"),
        (pl.col("mpi_time_mean") * share).alias("mpi"),
    )
    whole = region_rows(profile.data, Scope(tree)).select("path", pl.col("time_mean").alias("inclusive"))
    rows = rows.join(whole, on="path", how="left", maintain_order="left")
    rows = rows.join(_read_waits(profile, ranks), on="path", how="left", maintain_order="left")
    return _add_region_names(profile, rows).select(
        pl.col(name).cast(kind) for name, kind in OWN_TIMES.items()
    )


def _read_waits(profile: Profile, ranks: int) -> pl.DataFrame:
    if not profile.has_trace:
        empty = {"path": pl.Int64, "waiting": pl.Float64, "caused": pl.Float64}
        return pl.DataFrame(schema=empty)
    waits = _add_program_path(profile, profile.waiting.waits.filter(pl.col("kind") != "other")).group_by(
        "path"
    )
    delays = _add_program_path(profile, profile.waiting.delays).group_by("path")
    found = waits.agg((pl.col("time").sum() / ranks).alias("waiting"))
    costs = delays.agg((pl.col("cost").sum() / ranks).alias("caused"))
    every = pl.DataFrame({"path": range(len(profile.regions))}, schema={"path": pl.Int64})
    both = every.join(found, on="path", how="left").join(costs, on="path", how="left")
    return both.with_columns(pl.col("waiting", "caused").fill_null(0.0))
