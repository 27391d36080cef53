"""A report of mpiP as a profile: one region, the program, with calls, call sites and ranks."""

from __future__ import annotations

import shlex
import time
from pathlib import Path, PurePath
from typing import Any

import polars as pl

from haloscope.profile.importing.foreign_tables import Foreign, make_unreadable_error, path_rows
from haloscope.profile.importing.mpi_functions import FAMILIES, kinds_of
from haloscope.profile.importing.mpip_report import MpipFrame, MpipReport, parse_report
from haloscope.profile.shown.cells import PROGRAM
from haloscope.profile.store.framing import DamageError

# Times have three or four digits: rounding alone can leave this difference.
_ROUNDING = 0.05


def read_mpip(path: Path, text: str) -> Foreign:
    """Return the profile of an mpiP report. Raises `ProfileError` if it has no data."""
    try:
        report = parse_report(text)
    except DamageError as damage:
        raise make_unreadable_error(
            path, "this mpiP report", f"{damage}; run the program again, or take another copy"
        ) from None
    foreign = Foreign(path, _source(report), _information(report))
    foreign.tables |= {
        "paths": path_rows([PROGRAM], [-1], [False]),
        "processes": _processes(report),
        "ranks": _ranks(report),
    }
    if report.times is not None:
        foreign.tables |= {"calls": _calls(report, report.times), "sites": _site_rows(report, report.times)}
    if not _is_complete(report):
        totals = _totals(report)
        foreign.totals = (totals, totals)
    return foreign


def _source(report: MpipReport) -> str:
    words = ["an mpiP", report.introduction.get("Version", ""), "report"]
    return " ".join(word for word in words if word) + ("" if report.is_whole else " that was cut short")


def _information(report: MpipReport) -> dict[str, Any]:
    command = report.introduction.get("Command", "")
    start = _moment(report.introduction.get("Start time", ""))
    information = {
        "program": PurePath(_first_word(command)).name or None,
        "command": command or None,
        "ranks": len(report.ranks),
        "start": start,
        "duration": report.ranks["time"].max(),
        "exact_times": True,
        "source": _source(report),
    }
    kept = {
        "Timer Used": "mpip.timer",
        "MPIP env var": "mpip.environment",
        "Report generation": "mpip.report",
    }
    introduction = report.introduction
    metadata = {ours: introduction[theirs] for theirs, ours in kept.items() if theirs in introduction}
    return {**information, "metadata": metadata}


def _first_word(command: str) -> str:
    try:
        return next(iter(shlex.split(command)), "")
    except ValueError:
        return command.split(" ", 1)[0]


def _moment(text: str) -> float | None:
    """Return a local time in this machine's time zone: the report does not state the zone."""
    try:
        return time.mktime(time.strptime(text, "%Y %m %d %H:%M:%S"))
    except (ValueError, OverflowError):
        return None


def _processes(report: MpipReport) -> pl.DataFrame:
    hosts = pl.DataFrame(report.hosts, schema={"rank": pl.Int64, "host": pl.String}, orient="row")
    named = hosts.unique("rank", keep="first", maintain_order=True)
    rows = report.ranks.select("rank", pl.col("time").alias("duration"))
    return rows.join(named, on="rank", how="left", maintain_order="left")


def _is_complete(report: MpipReport) -> bool:
    """Return whether the call sites of each rank add up to its MPI time: they may have been filtered."""
    if report.times is None:
        return False
    spent = report.times.group_by("rank").agg(_total("time").alias("spent"))
    both = report.ranks.join(spent, on="rank", how="left").with_columns(pl.col("spent").fill_null(0.0))
    lacking = both["mpi_time"] - both["spent"] > _ROUNDING * both["mpi_time"] + 1e-5
    return not lacking.any()


def _total(what: str) -> pl.Expr:
    return (pl.col("mean") * pl.col("count")).sum().alias(what)


def _ranks(report: MpipReport) -> pl.DataFrame:
    """Return the row of each rank, with the columns that mpiP knows."""
    rows = report.ranks.select(
        pl.lit(0, pl.Int64).alias("path"), "rank", "time", pl.lit(1, pl.Int64).alias("instances")
    )
    if report.times is None or not _is_complete(report):
        return rows
    times = report.times.join(kinds_of(report.times["call"]), on="call", maintain_order="left")
    spent = times.group_by("rank").agg(
        *(
            (pl.col("mean") * pl.col("count"))
            .filter(pl.col("family") == family)
            .sum()
            .alias(f"{family}_time")
            for family in FAMILIES
        ),
        (pl.col("mean") * pl.col("count")).filter("waits").sum().alias("wait_time"),
        pl.col("count").filter(pl.col("family") == "coll").sum().alias("colls"),
    )
    moved = _sum_traffic(report)
    joined = rows.join(spent, on="rank", how="left").join(moved, on="rank", how="left").sort("rank")
    return joined.with_columns(pl.exclude("path", "rank", "time").fill_null(0))


def _sum_traffic(report: MpipReport) -> pl.DataFrame:
    """Return messages and bytes by rank; a report without such a section has none."""
    moved = pl.DataFrame(schema={"rank": pl.Int64})
    bytes_of = pl.col("mean") * pl.col("count")
    if report.sent is not None:
        is_message = pl.col("family") == "p2p"
        sent = report.sent.join(kinds_of(report.sent["call"]), on="call")
        moved = sent.group_by("rank").agg(
            pl.col("count").filter(is_message).sum().alias("sends"),
            bytes_of.filter(is_message).sum().round().cast(pl.Int64).alias("bytes_sent"),
            bytes_of.filter(pl.col("family") == "coll").sum().round().cast(pl.Int64).alias("coll_bytes"),
            pl.col("most").filter(is_message).max().cast(pl.Int64).alias("largest_message"),
        )
    for frame, name in ((report.files, "io"), (report.one_sided, "rma")):
        if frame is not None:
            sums = frame.group_by("rank").agg(
                pl.col("count").sum().alias(f"{name}_ops"),
                bytes_of.sum().round().cast(pl.Int64).alias(f"{name}_bytes"),
            )
            moved = moved.join(sums, on="rank", how="full", coalesce=True)
    return moved


def _calls(report: MpipReport, times: pl.DataFrame) -> pl.DataFrame:
    """Return the table `calls`; bytes that are not in the report are unknown."""
    rows = times.group_by("call", maintain_order=True).agg(
        pl.col("count").sum().alias("calls"), _total("time_total"), pl.col("most").max().alias("time_max")
    )
    return rows.join(_bytes_by(report, ["call"]), on="call", how="left").with_columns(
        pl.lit(0, pl.Int64).alias("path")
    )


def _bytes_by(report: MpipReport, keys: list[str]) -> pl.DataFrame:
    known = [frame for frame in (report.sent, report.files, report.one_sided) if frame is not None]
    if not known:
        kinds = {"call": pl.String, "site": pl.Int64}
        return pl.DataFrame(schema={**{key: kinds[key] for key in keys}, "bytes": pl.Int64})
    return pl.concat(known).group_by(keys).agg(_total("bytes").round().cast(pl.Int64))


def _site_rows(report: MpipReport, times: pl.DataFrame) -> pl.DataFrame:
    by_rank = times.group_by("site", "call", "rank", maintain_order=True).agg(
        pl.col("count").sum(), _total("time"), pl.col("most").max()
    )
    rows = by_rank.group_by("site", "call", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("ranks"),
        pl.col("count").sum().alias("calls"),
        pl.col("time").sum().alias("time_total"),
        (pl.col("time") ** 2).sum().alias("time_squares"),
        pl.col("most").max().alias("time_max"),
    )
    stacks = {site: "\n".join(map(_frame_text, frames)) for site, frames in report.sites.items()}
    named = pl.DataFrame(
        {"site": list(stacks), "stack": list(stacks.values())}, schema={"site": pl.Int64, "stack": pl.String}
    )
    joined = rows.join(named, on="site", how="left").join(
        _bytes_by(report, ["call", "site"]), on=["call", "site"], how="left"
    )
    unnamed = "site " + pl.col("site").cast(pl.String)
    return joined.with_columns(pl.lit(0, pl.Int64).alias("path"), pl.col("stack").fill_null(unnamed))


def _frame_text(frame: MpipFrame) -> str:
    """Return a frame in the form of the table `sites`."""
    if frame.file is None:
        return frame.address if frame.function in ("", "[unknown]") else f"{frame.function} ({frame.address})"
    words = (frame.file, str(frame.line), frame.function)
    return "\t".join(["source", *(word.replace("\t", " ") for word in words)])


def _totals(report: MpipReport) -> pl.DataFrame:
    """Return the row of `regions` for a report without call sites of all single ranks."""
    times = report.ranks
    return times.select(
        pl.lit(0, pl.Int64).alias("path"),
        pl.len().cast(pl.Int64).alias("ranks"),
        pl.lit(1, pl.Int64).alias("instances"),
        *(getattr(pl.col("time"), end)().alias(f"time_{end}") for end in ("min", "mean", "max")),
        pl.col("mpi_time").mean().alias("mpi_time_mean"),
        (pl.col("time") - pl.col("mpi_time")).mean().alias("compute_time_mean"),
    )
