"""A .cali file as a profile: per rank if its records have ranks, else over ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from haloscope.base.texts import parse_whole
from haloscope.profile.importing.cali_file import CaliFile, parse_cali
from haloscope.profile.importing.cali_regions import ALL, CaliRegions, Values, number_in
from haloscope.profile.importing.foreign_tables import Foreign, make_unreadable_error, path_rows
from haloscope.profile.importing.mpi_functions import FAMILIES
from haloscope.profile.store.framing import DamageError
from haloscope.profile.store.tree import RegionTree, roll_up

_MOST_RANKS = 1 << 24
_SUMS = ("sends", "recvs", "colls", "bytes_sent", "bytes_recv")
_EXTREMES = (*_SUMS, "dest_ranks", "src_ranks")
_INSTANCES = [f"{name}_instance_{end}" for name in _EXTREMES for end in ("min", "max")]
_TIMES = [f"{name}_time" for name in (*FAMILIES, "wait")]


def read_cali(path: Path, text: str) -> Foreign:
    """Return the profile of a .cali file. Raises `ProfileError` if it has no data."""
    try:
        read = parse_cali(text)
        tree = CaliRegions()
        for record in read.records:
            tree.add(record)
        ranks = _world(read, tree)
    except DamageError as damage:
        raise make_unreadable_error(
            path, "this .cali file", f"{damage}; run the program again, or take another copy"
        ) from None
    source = "a .cali file of Caliper" + (
        f", {read.left_out} lines of which cannot be read" if read.left_out else ""
    )
    foreign = Foreign(path, source, {**_information(read), "ranks": ranks, "source": source})
    foreign.tables["paths"] = path_rows(tree.names, tree.parents, tree.communication)
    tree.complete()
    if tree.functions:
        foreign.tables["calls"] = _calls(tree)
    if tree.is_by_rank:
        foreign.tables |= {"ranks": _rank_rows(tree), "processes": pl.DataFrame({"rank": range(ranks)})}
    else:
        foreign.totals = (_totals(tree, ranks, False), _totals(tree, ranks, True))
    return foreign


def _world(read: CaliFile, tree: CaliRegions) -> int:
    """Return the number of ranks: that of the file, else that of its records; 1 for a serial program."""
    sizes = (parse_whole(read.run.get(key, "")) for key in ("mpi.world.size", "jobsize"))
    stated = next(filter(None, sizes), 0)
    ranks = 1 + max((rank for _, rank in tree.values), default=0)
    counted = max((known.get(("time", "ranks"), 0.0) for known in tree.values.values()), default=0)
    found = max(stated, ranks, int(counted), 1)
    if found > _MOST_RANKS:
        raise DamageError(f"it states {found} ranks, which no machine has")
    return found


def _information(read: CaliFile) -> dict[str, Any]:
    information = dict(read.run)
    command = information.get("cmdline")
    program = information.get("program") or information.get("executable") or _first(command)
    launched = parse_whole(information.get("launchdate", ""))
    elapsed = number_in(
        information.get("elapsed") or information.get("elapsedtime") or information.get("walltime") or ""
    )
    return {
        "program": program or None,
        "command": command,
        "mpi_library": information.get("mpi_library") or information.get("mpilibrary"),
        "start": None if launched is None else float(launched),
        "duration": elapsed,
        "metadata": information,
    }


def _first(command: str | None) -> str | None:
    """Return the program of a command line; Adiak writes it as a list in brackets."""
    words = [word for word in (command or "").strip("[]").replace(",", " ").split() if word]
    return words[0].rpartition("/")[2] if words else None


def _calls(tree: CaliRegions) -> pl.DataFrame:
    sums: dict[tuple[int, str], list[float | None]] = {}
    for (node, _, call), known in tree.functions.items():
        row = sums.setdefault((node, call), [None, None])
        spent = known.get(("time", "sum"), known.get(("own_time", "sum")))
        for column, value in enumerate((known.get(("calls", "sum")), spent)):
            row[column] = value if row[column] is None else (row[column] or 0.0) + (value or 0.0)
    return pl.DataFrame(
        [(node, call, calls, seconds) for (node, call), (calls, seconds) in sums.items()],
        schema={"path": pl.Int64, "call": pl.String, "calls": pl.Float64, "time_total": pl.Float64},
        orient="row",
    ).with_columns(pl.col("calls").round().cast(pl.Int64))


def _frame(rows: list[dict[str, Any]], whole: Sequence[str], fractions: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame(
        rows, schema={**dict.fromkeys(whole, pl.Int64), **dict.fromkeys(fractions, pl.Float64)}
    )


def _times(tree: CaliRegions, node: int, rank: int) -> dict[str, float | None]:
    """Return the exclusive seconds in MPI of a region, null if the file has no MPI functions."""
    times = tree.spent.get((node, rank))
    nothing = 0.0 if tree.spent else None
    return {f"{name}_time": nothing if times is None else times[name] for name in (*FAMILIES, "wait")}


def _extremes(known: Values) -> dict[str, float | None]:
    return {f"{name}_instance_{end}": known.get((name, end)) for name in _EXTREMES for end in ("min", "max")}


def _rank_rows(tree: CaliRegions) -> pl.DataFrame:
    """Return the table `ranks`, with the columns that the file has."""
    rows = [
        {
            "path": node,
            "rank": rank,
            "time": known.get(("time", "sum")),
            "instances": known.get(("calls", "sum")),
            **_times(tree, node, rank),
            **{name: known.get((name, "sum")) for name in _SUMS},
            **_extremes(known),
        }
        for (node, rank), known in sorted(tree.values.items())
        if rank != ALL
    ]
    return _frame(rows, ("path", "rank"), ("time", "instances", *_TIMES, *_SUMS, *_INSTANCES))


def _totals(tree: CaliRegions, ranks: int, exclusive: bool) -> pl.DataFrame:
    """Return the columns of `regions` from a file with values over ranks."""
    regions = RegionTree(tree.names, np.array(tree.parents), np.array(tree.communication))
    own = _own_rows(tree)
    sums = [name for name in own.columns if name != "path"]
    inclusive = own if exclusive else roll_up(own, regions, [], dict.fromkeys(sums, "sum"))
    rows = []
    for (node, _), known in sorted(tree.values.items()):
        entered = int(known.get(("time", "ranks"), 0.0)) or ranks
        passes = known.get(("calls", "sum")) if entered == 1 else None
        has_extremes = (node or tree.knows_program) and not exclusive
        least, most = (known.get(("time", end)) if has_extremes else None for end in ("min", "max"))
        row = {"path": node, "ranks": entered, "instances": known.get(("calls", "max"), passes)}
        rows.append({**row, "time_min": least, "time_max": most, **_extremes(known)})
    known_rows = _frame(rows, ("path", "ranks"), ("instances", "time_min", "time_max", *_INSTANCES))
    return _means(known_rows.join(inclusive, on="path", how="left", maintain_order="left"))


def _own_rows(tree: CaliRegions) -> pl.DataFrame:
    """Return a row per region: seconds over all ranks and messages, both exclusive."""
    below: dict[int, float] = defaultdict(float)
    for (node, _), known in tree.values.items():
        if node:
            below[tree.parents[node]] += known.get(("time", "sum"), 0.0)
    rows = [
        {
            "path": node,
            "time": known["time", "sum"] - below[node] if ("time", "sum") in known else None,
            **_times(tree, node, rank),
            **{f"{name}_total": known.get((name, "sum")) for name in _SUMS},
        }
        for (node, rank), known in sorted(tree.values.items())
    ]
    return _frame(rows, ("path",), ("time", *_TIMES, *(f"{name}_total" for name in _SUMS)))


def _means(rows: pl.DataFrame) -> pl.DataFrame:
    families = [pl.col(f"{family}_time") for family in FAMILIES]
    mpi_time = families[0]
    for other in families[1:]:
        mpi_time += other
    times = {"time": pl.col("time"), "mpi_time": mpi_time, "compute_time": pl.col("time") - mpi_time}
    times |= {f"{name}_time": pl.col(f"{name}_time") for name in ("p2p", "coll", "rma", "io", "wait")}
    means = [(seconds / pl.col("ranks")).alias(f"{name}_mean") for name, seconds in times.items()]
    return rows.with_columns(
        *means,
        pl.when(pl.col("sends_total") > 0)
        .then(pl.col("bytes_sent_total") / pl.col("sends_total"))
        .alias("mean_message"),
    )
