"""Rules about calls: repeated communicators, polls, slow algorithms, calls outside all regions."""

from __future__ import annotations

import polars as pl

from haloscope.base.units import bytes_text, count_text, list_text, noun_text, percent_text, time_text
from haloscope.explain.findings.finding import Evidence, Finding
from haloscope.explain.findings.ground import Ground
from haloscope.explain.findings.machine_limits import POLL
from haloscope.explain.findings.run_times import place_text
from haloscope.profile.store import PROGRAM

_MAKES = r"^MPI_(Comm_(split|split_type|dup|dup_with_info|create|create_group|free)|Cart_(create|sub))$"
_LEAST_MADE = 10  # per rank
_NEAR = 1.5  # largest ratio of the sizes of a call and of the measurement that is used for it
# Shares of the time in MPI and of the run outside all regions, from which on it is reported.
_OUTSIDE, _OUTSIDE_OF_RUN = 0.5, 0.1
# Interfaces of markers that are the program's own. Regions of the others may be those of its libraries.
_OWN_MARKERS = frozenset({"caliper", "adiak"})


def find_repeated_communicators(ground: Ground) -> list[Finding]:
    """Find communicators that are created so often that it takes time."""
    found = []
    calls = ground.table("calls").filter(pl.col("call").str.contains(_MAKES))
    ranks = len(ground.ranks)
    for (region,), rows in calls.group_by("own", maintain_order=True):
        name = str(region)
        made = rows.filter(pl.col("call") != "MPI_Comm_free")
        count = float(made["calls"].sum()) / ranks
        if count < _LEAST_MADE:
            continue
        time = min(float(rows["time_total"].sum()) / ranks, ground.unexplained_time(name, "other"))
        gain = time * (1 - 1 / count)
        functions = (
            made.group_by("call").agg(pl.col("calls").sum()).sort("calls", "call", descending=True)["call"]
        )
        verb = "creates" if len(functions) == 1 else "create"
        finding = ground.make_finding(
            "communicators_made",
            f"{list_text(functions.to_list())} {verb} {count:.0f} communicators per rank in"
            f" {place_text(name)}, which takes {time_text(time)} per rank on average",
            "create the communicators once and reuse them",
            gains=(0.7 * gain, gain, time),
            region=name,
            evidence=[
                Evidence("calls", {"region": name, "call": str(call)}, {"calls": made, "time_total": spent})
                for call, made, spent in rows.group_by("call", maintain_order=True)
                .agg(pl.col("calls").sum(), pl.col("time_total").sum())
                .iter_rows()
            ],
        )
        if finding:
            ground.take(name, "other", gain)
        found += finding
    return found


def find_polling(ground: Ground) -> list[Finding]:
    """Find polls that are so frequent that they take time."""
    polling = pl.col("poll_time").fill_null(0.0)
    # A rank that only polls is waiting: its time is not the cost of the polls.
    works = polling < pl.col("compute_time").fill_null(0.0)
    rows = ground.table("ranks").filter(pl.col("polls") > 0).group_by("own", maintain_order=True)
    computing = (pl.col("compute_time") + polling).filter(works).sum().alias("computing")
    sums = rows.agg(pl.col("polls").sum().alias("all"), pl.col("polls").filter(works).sum(), computing)
    found = []
    for region, all_polls, polls, time in sums.filter(pl.col("polls") > 0).iter_rows():
        low, gain, high = (min(polls * cost, time) / len(ground.ranks) for cost in POLL)
        if polls * POLL[2] >= time:
            continue
        found += ground.make_finding(
            "polling",
            f"{count_text(polls)} polls (MPI_Test, MPI_Iprobe) in {place_text(region)} find no message, one"
            f" per {time_text(time / polls)} of computing, and take about {time_text(low)} to"
            f" {time_text(high)} per rank on average",
            "poll less often (one poll per millisecond keeps messages moving), or wait in MPI_Wait",
            gains=(low, gain, high),
            region=region,
            evidence=[Evidence("regions", {"region": region}, {"polls_total": all_polls})],
        )
    return found


def find_slow_algorithms(ground: Ground) -> list[Finding]:
    """Find collectives for which a measurement of the machine shows a faster algorithm."""
    measured = ground.measured.collectives
    if measured is None or measured.is_empty():
        return []
    calls = ground.table("collectives").with_columns(pl.col("operation").str.to_lowercase().alias("lower"))
    known = measured.select(
        pl.col("operation").str.to_lowercase().alias("lower"),
        pl.exclude("operation"),
        pl.col("bytes").alias("measured_bytes"),
    )
    near = calls.sort("bytes").join_asof(
        known.sort("bytes"), on="bytes", by=["lower", "comm_size"], strategy="nearest", check_sortedness=False
    )
    sizes = [pl.max_horizontal("bytes", "measured_bytes"), pl.min_horizontal("bytes", "measured_bytes")]
    joined = near.filter(sizes[0] <= _NEAR * sizes[1]).with_columns(
        # A run may be faster than the measurement, as it may have its own rules for algorithms.
        (pl.min_horizontal("time", pl.col("time_total") / pl.col("calls")) - pl.col("best_time")).alias(
            "each"
        )
    )
    found = []
    for row in joined.sort(pl.col("each") * pl.col("calls"), descending=True).iter_rows(named=True):
        region, share = row["own"], 1 - row["best_time"] / row["time"]
        spent = min(row["time_total"] / len(ground.ranks), ground.unexplained_time(region, "coll"))
        gain = min(row["each"] * row["calls"] / len(ground.ranks), spent)
        finding = ground.make_finding(
            "slow_algorithm",
            f"{count_text(row['calls'])} calls of MPI_{row['operation']} of {bytes_text(row['bytes'])} on"
            f" {noun_text(row['comm_size'], 'rank')} in {place_text(region)} would take"
            f" {percent_text(share, 1.0)} less time with the algorithm {row['algorithm']}, as measured on"
            " this machine",
            "select it with a rules file of the library, which haloscope tune writes and verifies",
            gains=(0.7 * gain, gain, max(gain, min(spent * share, spent))),
            region=region,
            evidence=[
                Evidence(
                    "collectives",
                    {
                        "region": row["region"],
                        **{key: row[key] for key in ("operation", "comm_size", "bytes")},
                    },
                    {"calls": row["calls"], "measured": row["time"], "measured_best": row["best_time"]},
                )
            ],
        )
        if finding:
            ground.take(region, "coll", gain)
        found += finding
    return found


def find_unmarked_communication(ground: Ground) -> list[Finding]:
    """Find communication outside all marked regions: no gain, but other findings cannot name its phase."""
    if len(ground.regions) < 2 or PROGRAM not in ground.regions or not _marks_regions(ground):
        return []
    root = ground.column_of(PROGRAM)
    outside = float(sum(ground.mpi[family].mean(axis=0)[root] for family in ("p2p", "coll")))
    whole = float(sum(ground.mpi[family].mean(axis=0).sum() for family in ("p2p", "coll")))
    if outside < _OUTSIDE * whole or outside < _OUTSIDE_OF_RUN * ground.run_time:
        return []
    return ground.make_note(
        "outside_regions",
        f"{percent_text(outside, whole)} of the time in messages and collectives ({time_text(outside)} per"
        " rank on average) is outside all marked regions",
        "mark the phases that communicate, so that findings can name them",
        region=PROGRAM,
        evidence=[Evidence("regions", {"region": PROGRAM}, {"mpi_time_outside": outside, "mpi_time": whole})],
    )


def _marks_regions(ground: Ground) -> bool:
    """Return whether the program itself marks the regions: none of its libraries does."""
    rows = ground.profile.frame("metadata", ["key", "value"])
    used = rows.filter(pl.col("key") == "annotations")["value"].str.split(", ").explode().drop_nulls()
    return _OWN_MARKERS.issuperset(used.to_list())
