"""A .cali file as a profile: by rank where its records say the rank, else what is known over ranks."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from haloscope.explain._directory import DamageError
from haloscope.explain._tree import PROGRAM, RegionTree, roll_up
from haloscope.explain.importing._cali_file import CaliFile, parse_cali
from haloscope.explain.importing._cali_metrics import meaning_of
from haloscope.explain.importing._foreign_tables import Foreign, path_rows, unreadable
from haloscope.explain.importing._mpi_functions import FAMILIES, call_name, family_of, is_waiting

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from haloscope.explain.importing._cali_file import CaliRecord

__all__ = ["read_cali"]

_FUNCTION, _COMMUNICATION, _RANK = "mpi.function", "comm.region", "mpi.rank"
_ALL = -1  # ranks, of a record that is over ranks
_SUMS = ("sends", "recvs", "colls", "bytes_sent", "bytes_recv")
_EXTREMES = (*_SUMS, "dest_ranks", "src_ranks")
Key = tuple[int, int]  # node and rank
Values = dict[tuple[str, str], float]  # by quantity and statistic


def read_cali(path: Path, text: str) -> Foreign:
    """Return what a .cali file says. Raises `ProfileError` if that is nothing."""
    try:
        read = parse_cali(text)
        tree = _Tree()
        for record in read.records:
            tree.add(record)
    except DamageError as damage:
        raise unreadable(
            path, "this .cali file", f"{damage}; run the program again, or take another copy"
        ) from None
    source = "a .cali file of Caliper" + (
        f", {read.left_out} lines of which cannot be read" if read.left_out else ""
    )
    ranks = _world(read, tree)
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


@dataclass
class _Tree:
    """Regions, node 0 the program, parents first; and what is known of each on each rank, or over ranks.

    `functions` has calls and seconds of MPI functions within a region, itself without what is nested.
    """

    names: list[str] = field(default_factory=lambda: [PROGRAM])
    parents: list[int] = field(default_factory=lambda: [-1])
    communication: list[bool] = field(default_factory=lambda: [False])
    values: dict[Key, Values] = field(default_factory=lambda: defaultdict(dict))
    functions: dict[tuple[int, int, str], Values] = field(default_factory=lambda: defaultdict(dict))
    is_by_rank: bool = False
    _known: dict[tuple[int, str], int] = field(default_factory=dict)

    def add(self, record: CaliRecord) -> None:
        """Take a record; records of one region and rank add up."""
        said = record.labels.get(_RANK, record.values.get(_RANK, ""))
        rank = int(said) if said.isascii() and said.isdigit() else _ALL
        self.is_by_rank |= rank != _ALL
        node, call = 0, None
        for attribute, name in record.path:
            if attribute == _FUNCTION:
                call = call_name(name)
                break
            node = self._below(node, name, attribute == _COMMUNICATION)
        into = self.values[node, rank] if call is None else self.functions[node, rank, call]
        for attribute, text in record.values.items():
            meaning, number = meaning_of(attribute), _number(text)
            if meaning is not None and number is not None:
                key = (meaning.quantity, meaning.statistic)
                into[key] = _put(meaning.statistic, into.get(key), number * meaning.unit)

    def _below(self, parent: int, name: str, communication: bool) -> int:
        if (parent, name) not in self._known:
            self._known[parent, name] = len(self.names)
            self.names.append(name)
            self.parents.append(parent)
            self.communication.append(communication)
        return self._known[parent, name]

    def complete(self) -> None:
        """Let each region have its time with all that is nested, also where the file has own times."""
        ranks = sorted({rank for _, rank in self.values} | {rank for _, rank, _ in self.functions})
        inside: dict[Key, float] = defaultdict(float)
        has_own = any(("own_time", "sum") in known for known in self.values.values())
        if not has_own and not any(("time", "sum") in known for known in self.values.values()):
            return  # a file about something else
        for (node, rank, _), known in self.functions.items():
            spent = known.get(("time", "sum"), known.get(("own_time", "sum"), 0.0))
            inside[node, rank] += spent
        for node in range(len(self.names) - 1, -1, -1):
            for rank in ranks:
                known = self.values.get((node, rank), {})
                whole = known.get(("time", "sum")) if node else None
                if whole is None:
                    own = known.get(
                        ("own_time", "sum"), known.get(("time", "sum"), 0.0) if not has_own else 0.0
                    )
                    if not known and not inside[node, rank]:
                        continue
                    whole = inside[node, rank] + own
                self.values[node, rank]["time", "sum"] = whole
                inside[self.parents[node], rank] += whole


def _put(statistic: str, before: float | None, number: float) -> float:
    if before is None:
        return number
    if statistic == "min":
        return min(before, number)
    return before + number if statistic == "sum" else max(before, number)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _world(read: CaliFile, tree: _Tree) -> int:
    """Return the number of ranks: as the file says it, else as records show it; 1 for a serial program."""
    said = next(
        (read.run[key] for key in ("mpi.world.size", "jobsize") if read.run.get(key, "").isdigit()), "0"
    )
    ranks = 1 + max((rank for _, rank in tree.values), default=0)
    counted = max((known.get(("time", "ranks"), 0.0) for known in tree.values.values()), default=0)
    return max(int(said), ranks, int(counted), 1)


def _information(read: CaliFile) -> dict[str, Any]:
    said = dict(read.run)
    command = said.get("cmdline")
    program = said.get("program") or said.get("executable") or _first(command)
    launched = said.get("launchdate", "")
    elapsed = _number(said.get("elapsed") or said.get("elapsedtime") or said.get("walltime") or "")
    return {
        "program": program or None,
        "command": command,
        "mpi_library": said.get("mpi_library") or said.get("mpilibrary"),
        "start": float(launched) if launched.isdigit() else None,
        "duration": elapsed,
        "metadata": said,
    }


def _first(command: str | None) -> str | None:
    """Return the program of a command line, which Adiak writes as a list in brackets."""
    words = [word for word in (command or "").strip("[]").replace(",", " ").split() if word]
    return words[0].rpartition("/")[2] if words else None


def _calls(tree: _Tree) -> pl.DataFrame:
    sums: dict[tuple[int, str], list[float | None]] = {}
    for (node, _, call), known in tree.functions.items():
        row = sums.setdefault((node, call), [None, None])
        spent = known.get(("time", "sum"), known.get(("own_time", "sum")))
        for place, value in enumerate((known.get(("calls", "sum")), spent)):
            row[place] = value if row[place] is None else (row[place] or 0.0) + (value or 0.0)
    return pl.DataFrame(
        [(node, call, calls, seconds) for (node, call), (calls, seconds) in sums.items()],
        schema={"path": pl.Int64, "call": pl.String, "calls": pl.Float64, "time_total": pl.Float64},
        orient="row",
    ).with_columns(pl.col("calls").round().cast(pl.Int64))


def _spent(tree: _Tree) -> dict[Key, dict[str, float]]:
    """Return the seconds in MPI of each region and rank, without what is nested, by kind of function."""
    found: dict[Key, dict[str, float]] = defaultdict(lambda: dict.fromkeys([*FAMILIES, "wait"], 0.0))
    for (node, rank, call), known in tree.functions.items():
        seconds = known.get(("time", "sum"), known.get(("own_time", "sum"), 0.0))
        found[node, rank][family_of(call)] += seconds
        found[node, rank]["wait"] += seconds if is_waiting(call) else 0.0
    return found


def _rank_rows(tree: _Tree) -> pl.DataFrame:
    """Return the table `ranks`, with the columns that the file knows."""
    spent = _spent(tree)
    nothing = dict.fromkeys([*FAMILIES, "wait"], 0.0 if spent else None)
    rows = []
    for (node, rank), known in sorted(tree.values.items()):
        if rank == _ALL:
            continue
        times = spent.get((node, rank), nothing)
        rows.append(
            {
                "path": node,
                "rank": rank,
                "time": known.get(("time", "sum")),
                "instances": known.get(("calls", "sum")),
                **{f"{name}_time": seconds for name, seconds in times.items()},
                **{name: known.get((name, "sum")) for name in _SUMS},
                **{
                    f"{name}_instance_{end}": known.get((name, end))
                    for name in _EXTREMES
                    for end in ("min", "max")
                },
            }
        )
    kinds = {name: pl.Int64 if name in ("path", "rank") else pl.Float64 for name in (rows[0] if rows else ())}
    return pl.DataFrame(rows, schema=kinds)


def _totals(tree: _Tree, ranks: int, exclusive: bool) -> pl.DataFrame:
    """Return the columns of `regions` that a file over ranks knows."""
    regions = RegionTree(tree.names, np.array(tree.parents), np.array(tree.communication))
    own = _own_rows(tree)
    sums = [name for name in own.columns if name != "path"]
    inclusive = own if exclusive else roll_up(own, regions, [], dict.fromkeys(sums, "sum"))
    rows = []
    for (node, _), known in sorted(tree.values.items()):
        entered = int(known.get(("time", "ranks"), 0.0)) or ranks
        rows.append(
            {
                "path": node,
                "ranks": entered,
                "instances": known.get(
                    ("calls", "max"), known.get(("calls", "sum")) if entered == 1 else None
                ),
                **{
                    f"time_{end}": None if exclusive or not node else known.get(("time", end))
                    for end in ("min", "max")
                },
                **{
                    f"{name}_instance_{end}": known.get((name, end))
                    for name in _EXTREMES
                    for end in ("min", "max")
                },
            }
        )
    known_rows = pl.DataFrame(rows, schema=_kinds(rows), infer_schema_length=None)
    return _means(known_rows.join(inclusive, on="path", how="left", maintain_order="left"))


def _kinds(rows: list[dict[str, Any]]) -> Mapping[str, Any]:
    return {name: pl.Int64 if name in ("path", "ranks") else pl.Float64 for name in (rows[0] if rows else ())}


def _own_rows(tree: _Tree) -> pl.DataFrame:
    """Return a row a region: seconds over all ranks without what is nested, and messages of its own."""
    spent = _spent(tree)
    below: dict[int, float] = defaultdict(float)
    for (node, _), known in tree.values.items():
        if node:
            below[tree.parents[node]] += known.get(("time", "sum"), 0.0)
    rows = []
    for (node, rank), known in sorted(tree.values.items()):
        times = spent.get((node, rank), dict.fromkeys([*FAMILIES, "wait"], 0.0 if spent else None))
        rows.append(
            {
                "path": node,
                "time": known["time", "sum"] - below[node] if ("time", "sum") in known else None,
                **{f"{name}_time": seconds for name, seconds in times.items()},
                **{f"{name}_total": known.get((name, "sum")) for name in _SUMS},
            }
        )
    kinds = {name: pl.Int64 if name == "path" else pl.Float64 for name in (rows[0] if rows else ())}
    return pl.DataFrame(rows, schema=kinds)


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
