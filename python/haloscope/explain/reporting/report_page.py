"""The work of `haloscope report`: the page of one profile, whose data it makes, or of an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from haloscope.base.errors import UsageError, printable, without_folders
from haloscope.explain.ensembles import Speeds, open_all, write_ensemble_page
from haloscope.explain.reporting.flame import make_site_data
from haloscope.explain.reporting.report_findings import make_findings
from haloscope.explain.reporting.report_history import make_history
from haloscope.explain.reporting.report_nodes import make_nodes
from haloscope.explain.reporting.report_packing import (
    bin_ranks,
    count_world,
    list_rows_by_region,
    number_regions,
    pack_rows,
)
from haloscope.explain.reporting.report_timeline import make_timeline
from haloscope.explain.reporting.report_waiting import make_waiting
from haloscope.explain.reporting.run_efficiency import compute_efficiency, grade_efficiency, list_doubts
from haloscope.explain.reporting.text_summary import (
    MOST_EVENTS,
    list_kinds,
    list_unknown_regions,
    list_warnings,
)
from haloscope.profile import Profile
from haloscope.profile.page import page, write_page
from haloscope.profile.shown import SHOWN
from haloscope.profile.store import PROGRAM, RegionTree, Scope, region_text
from haloscope.profile.tables import call_rows, efficiency_rows, info, rank_rows, region_rows, run_information

File = str | PathLike[str]

# Largest number of rows of one figure, about ten megabytes of page.
_MOST_ROWS = 400_000
# Largest number of ranks in the table of their use of the machine.
_MOST_RANKS = 256
_OPENMP = ("omp_threads", "omp_parallel_time", "omp_team_time", "omp_thread_time", "omp_barrier_time")
_SCRIPTS = (
    "data.js",
    "figures.js",
    "calls.js",
    "findings.js",
    "waiting.js",
    "timeline_data.js",
    "timeline_draw.js",
    "timeline_map.js",
    "timeline.js",
    "timeline_moves.js",
    "nodes.js",
    "sizes.js",
    "history.js",
    "sites.js",
    "sections.js",
    "main.js",
)


def report(
    profiles: File | Sequence[File],
    output: File,
    *,
    against: str = "run_ranks",
    by: str = "program",
    machine: Speeds | None = None,
) -> list[str]:
    """Write one page about one or more profiles. `output` is replaced atomically.

    Several profiles make a page about scaling. Unreadable ones are left out and listed. The checksums of a
    single profile are verified first. A trace that is refused is left out.

    Args:
        profiles: One profile, or several.
        output: HTML file to write.
        against: Column of `Ensemble.runs` for the x axis, with several profiles.
        by: Column of `Ensemble.runs` that separates series, with several profiles.
        machine: Speed of the machine, for comparison with messages.

    Returns:
        Remarks on data that the page leaves out; they are on the page, too.

    Raises:
        UsageError: There are no profiles, or no run has one of the columns.
        ProfileError: No profile can be read.
        OutputError: The page cannot be written.

    Examples:
        >>> haloscope.report(["app-8.halo", "app-16.halo"], "scaling.html")
    """
    paths = [profiles] if isinstance(profiles, (str, PathLike)) else list(profiles)
    if not paths:
        raise UsageError("a report needs one profile or more")
    if len(paths) > 1:
        write_ensemble_page(open_all(paths), Path(output), against=against, by=by, machine=machine)
        return []
    with Profile(paths[0]) as profile:
        profile.verify()
        data, remarks = profile.data.guard_trace(lambda: _make_page_data(profile))
    data["warnings"] += [without_folders(remark) for remark in remarks]
    write_page(page("report.html", f"{data['program']} – Haloscope", _SCRIPTS, data, "explain"), Path(output))
    return remarks


def _make_page_data(profile: Profile) -> dict[str, Any]:
    """Return the data of the page of a run. Raises `DamageError`."""
    tree = profile.regions
    info_ = run_information(profile.data)
    exclusive = Scope(tree, exclusive=True)
    own = rank_rows(profile.data, exclusive)
    inclusive = _make_columns(profile, Scope(tree), rank_rows(profile.data, Scope(tree)))
    return {
        "profile": printable(profile.path.name),
        "program": printable(info_["program"] or "unknown program"),
        "command": without_folders(info_["command"] or ""),
        "ranks": info_["ranks"],
        "hosts": len(info_["hosts"]),
        "duration": info_["duration"],
        "efficiency": [
            (name, f"{100 * share:.0f} %", grade_efficiency(share))
            for name, share in compute_efficiency(profile, MOST_EVENTS).items()
        ],
        "kinds": list_kinds({name: values[0] for name, values in inclusive.items()}) if len(own) else [],
        "warnings": [
            without_folders(warning)
            for warning in (*list_doubts(profile), *list_unknown_regions(profile), *list_warnings(info_))
        ],
        "about": _make_about(profile),
        **make_findings(profile, info_),
        **_make_regions(tree),
        "inclusive": inclusive,
        "exclusive": _make_columns(profile, exclusive, own),
        "split": _make_split(profile, own, _MOST_ROWS),
        "usage": _make_usage(profile),
        **_make_traffic(profile, _MOST_ROWS),
        "sizes": _make_sizes(profile),
        "history": make_history(profile, _MOST_ROWS),
        "calls": list_rows_by_region(tree, _read_calls(profile)),
        "sites": _make_sites(profile),
        "regimes": _make_regimes(profile),
        "waiting": make_waiting(profile, _MOST_ROWS) if profile.has_trace else None,
        "timeline": make_timeline(profile) if profile.has_trace else None,
    }


def _make_about(profile: Profile) -> list[tuple[str, str]]:
    frame = info(profile.data)
    key, value = SHOWN["info"].views(frame.columns)
    return [(key.get_text(row), without_folders(value.get_text(row))) for row in frame.to_dicts()]


def _make_regions(tree: RegionTree) -> dict[str, Any]:
    """Return the tree in depth-first order; `end` is the index after the last nested region."""
    paths = tree.order.argsort().tolist()
    ends = [0] * len(paths)
    for path in reversed(paths):
        index = int(tree.order[path])
        ends[index] = max(ends[index], index + 1)
        parent = int(tree.order[tree.parents[path]]) if index else 0
        ends[parent] = max(ends[parent], ends[index])
    return {
        "names": [region_text(tree.names[path]) for path in paths],
        "full": [region_text(tree.full_names[path]) for path in paths],
        "depth": tree.depths[paths].tolist(),
        "communication": tree.communication[paths].tolist(),
        "end": ends,
    }


def _make_columns(profile: Profile, scope: Scope, of_ranks: pl.DataFrame) -> dict[str, list[Any]]:
    """Return the tables `regions` and `pop` by column, with null for regions that no rank entered."""
    tree = profile.regions
    efficiencies = efficiency_rows(profile.data, scope, of_ranks)
    rows = region_rows(profile.data, scope, of_ranks).join(efficiencies, on="path", how="left")
    every = pl.DataFrame({"path": range(len(tree))}, schema={"path": pl.Int64})
    floats = pl.col(pl.Float64)
    return (
        every.join(number_regions(tree, rows), on="path", how="left", maintain_order="left")
        .drop("path")
        # A sum may overflow, and JSON has no infinity.
        .with_columns(pl.when(floats.is_finite()).then(floats).name.keep())
        .to_dict(as_series=False)
    )


def _read_calls(profile: Profile) -> pl.DataFrame:
    rows = call_rows(profile.data, Scope(profile.regions, exclusive=True))
    return rows.select("path", "call", "calls", "bytes", "time_total", "time_max")


def _make_usage(profile: Profile) -> dict[str, Any]:
    """Return how ranks used the machine: the tables `binding` and `ranks` of the whole run."""
    durations = profile.frame("processes", ["rank", "duration"])
    of_openmp = profile.table("ranks", region=PROGRAM).select("rank", *_OPENMP, "omp_imbalance_time")
    rows = (
        profile.table("binding")
        .join(durations, on="rank", how="left")
        .join(of_openmp, on="rank", how="left")
        .drop("pid", "numa_nodes", "sockets")
    )
    is_known = pl.any_horizontal(pl.col("cpus", "cpu_time", "omp_threads").is_not_null())
    known = rows.filter(is_known).with_columns(pl.col(pl.Float64).round(9))
    shown = known.sort("cpu_time", descending=True, nulls_last=True).head(_MOST_RANKS).sort("rank")
    texts = [
        {**row, "host": printable(row["host"] or ""), "cpus": row["cpus"] and printable(row["cpus"])}
        for row in shown.to_dicts()
    ]
    return {"rows": texts, "left_out": len(known) - len(shown)}


def _make_split(profile: Profile, own: pl.DataFrame, most_rows: int) -> dict[str, Any]:
    """Return the exclusive time of each region and rank by part, in seconds."""
    parts = own.filter(pl.col("rank") >= 0).select(
        "path",
        "rank",
        pl.col("compute_time").alias("compute"),
        pl.col("p2p_time").alias("p2p"),
        pl.col("coll_time").alias("coll"),
        (pl.col("mpi_time") - pl.col("p2p_time") - pl.col("coll_time")).alias("other"),
    )
    ranks = count_world(profile, parts["rank"])
    bin_size, joined = bin_ranks(parts, ["rank"], ranks, most_rows)
    joined = joined.rename({"rank": "bin"})
    # A mean over the ranks of a bin, with 0 for ranks that did not enter. The last bin may be smaller.
    members = pl.min_horizontal(pl.lit(bin_size), ranks - pl.col("bin") * bin_size)
    values = ("compute", "p2p", "coll", "other")
    means = joined.with_columns(pl.col(name) / members for name in values)
    types = {"bin": "u2", **dict.fromkeys(values, "f8")}
    return pack_rows(profile.regions, means, types, ranks, bin_size)


def _make_traffic(profile: Profile, most_rows: int) -> dict[str, Any]:
    names = ["path", "rank", "partner", "sends", "bytes_sent", "time"]
    known = (pl.col("rank") >= 0) & (pl.col("partner") >= 0)
    pairs = profile.data.exchanges(names).filter(known)
    return {"matrix": _make_matrix(profile, pairs, most_rows), "nodes": make_nodes(profile, pairs, most_rows)}


def _make_matrix(profile: Profile, pairs: pl.DataFrame, most_rows: int) -> dict[str, Any]:
    """Return rank × partner of each region, exclusive: bytes and messages sent, seconds."""
    ranks = count_world(profile, pl.concat([pairs["rank"], pairs["partner"]]))
    bin_size, joined = bin_ranks(pairs, ["rank", "partner"], ranks, most_rows)
    columns = {"rank": "row", "partner": "column", "sends": "messages", "bytes_sent": "bytes"}
    types = {"row": "u2", "column": "u2", "messages": "f8", "bytes": "f8", "time": "f8"}
    return pack_rows(profile.regions, joined.rename(columns), types, ranks, bin_size)


def _make_regimes(profile: Profile) -> list[dict[str, Any]]:
    # A report needs no extra. Without the extra for statistics it has no regimes.
    if not profile.data.source.rows("instances") or find_spec("scipy") is None:
        return []
    from haloscope.markov.figures import report_sections

    return report_sections(profile)


def _make_sites(profile: Profile) -> dict[str, Any] | None:
    if not profile.data.source.rows("sites"):
        return None

    return make_site_data(profile)


def _make_sizes(profile: Profile) -> dict[str, Any]:
    names = ["path", "kind", "bytes", "bytes_upper", "messages", "time_total"]
    return list_rows_by_region(profile.regions, profile.frame("sizes", names))
