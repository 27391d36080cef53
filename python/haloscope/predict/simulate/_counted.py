"""Makes a profile of what was counted in a simulation."""

from __future__ import annotations

import socket
import time
from collections import defaultdict
from collections.abc import Mapping
from importlib.metadata import version
from math import nan
from pathlib import Path
from typing import Any

import polars as pl

from haloscope.explain import write_profile
from haloscope.predict.simulate import _simgrid

__all__ = ["read_counts", "save"]

_INSTANCE = ("sends", "recvs", "dest_ranks", "src_ranks", "bytes_sent", "bytes_recv", "colls")
_ADDED = ("sends", "recvs", "bytes_sent", "bytes_recv", "colls")
_ENDS = ("_instance_min", "_instance_max", "_instance_min_exclusive", "_instance_max_exclusive")
_FIRST = (
    "path",
    "rank",
    "instances",
    "time",
    "coll_bytes",
    "largest_message",
    "p2p_time",
    "coll_time",
    "other_time",
    "wait_time",
    "dest_ranks",
    "src_ranks",
)
_EXTREMES = tuple(x + end for end in _ENDS for x in _INSTANCE)
_LINES = {
    "path": ("path", "parent", "communication", "name"),
    "process": ("rank", "host", "begin", "end", "unmatched_begins", "unmatched_ends"),
    "region": (*_FIRST, *(f"own_{x}" for x in _INSTANCE), *_EXTREMES),
    "partner": ("path", "rank", "partner", "sends", "bytes_sent", "recvs", "bytes_recv", "time"),
    "call": ("path", "call", "calls", "bytes", "time_total", "time_max"),
    "size": ("path", "kind", "bytes", "messages", "sum", "time_total", "time_max"),
    "collective": ("path", "operation", "comm_size", "bytes", "calls", "sum", "time_total", "time_max"),
    "unaccounted": ("call", "calls"),
}
_TEXT = {"name", "host", "call", "operation"}
_WORDS = {"kind"}
_REAL = {"time", "p2p_time", "coll_time", "other_time", "wait_time", "begin", "end", "time_total", "time_max"}


def read_counts(path: Path) -> dict[str, pl.DataFrame]:
    """The lines of the recorder in src/predict/simulate, as frames by their first word."""
    rows: dict[str, list[list[str]]] = defaultdict(list)
    with path.open(encoding="ascii") as stream:
        for line in stream:
            kind, *words = line.rstrip("\n").split("\t")
            rows[kind].append(words)
    return {kind: _frame(names, rows[kind]) for kind, names in _LINES.items()}


def _frame(names: tuple[str, ...], rows: list[list[str]]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    return frame.with_columns(
        pl.col(name).map_elements(
            lambda text: bytes.fromhex(text).decode("utf-8", "replace"), return_dtype=pl.String
        )
        if name in _TEXT
        else pl.col(name).cast(pl.Float64 if name in _REAL else pl.Int64)
        for name in names
        if name not in _WORDS
    )


def save(counts: Path, output: Path, ranks: int, about: Mapping[str, Any]) -> None:
    """Write the profile; `about` adds to, or replaces, what `info` says."""
    lines = read_counts(counts)
    processes = lines["process"]
    longest = float((processes["end"] - processes["begin"]).max() or 0)
    info = {
        "mpi_library": f"SimGrid SMPI {_simgrid.version()}",
        "mpi_abi": "simgrid",
        "ranks": ranks,
        "start": time.time(),
        "duration": longest,
        "partial": False,
        "missing_ranks": [],
        "unwatched_ranks": [],
        "exact_times": True,
        "sync_collectives": 0,
        "only": "",
        "from": 0.0,
        "until": 0.0,
        "rows_left_out": 0,
        "sizes_spilled": False,
        "version": version("haloscope"),
        "simulated": True,
        "simulated_on": socket.gethostname(),
        **about,
    }
    write_profile(output, info, _tables(lines, ranks))


def _tables(lines: Mapping[str, pl.DataFrame], ranks: int) -> dict[str, pl.DataFrame]:
    processes = lines["process"]
    return {
        "paths": lines["path"].select("path", "parent", "communication", "name"),
        "processes": processes.select(
            "rank",
            "host",
            duration=pl.col("end") - pl.col("begin"),
            pid=0,
            start=pl.lit(time.time()),
            threads=1,
            unmatched_begins="unmatched_begins",
            unmatched_ends="unmatched_ends",
            dropped=0,
            finalized=1,
            sizes_spilled=0,
            watched=1,
            tick=pl.lit(1e-9),
        ),
        "ranks": _ranks(lines),
        "calls": lines["call"],
        "sizes": lines["size"].select("path", "kind", "bytes", "messages", "time_total", bytes_upper="bytes"),
        "partners": lines["partner"],
        "neighbors": lines["partner"].head(0),
        "collectives": lines["collective"].select(
            "path", "operation", "comm_size", "bytes", "calls", "time_total", "time_max"
        ),
        "communicators": _world(lines, ranks),
        "unaccounted": lines["unaccounted"],
    }


def _ranks(lines: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    regions, partners = lines["region"], lines["partner"]
    exclusive = partners.group_by("path", "rank").agg(
        dest_ranks_exclusive=(pl.col("sends") > 0).sum().cast(pl.Int64),
        src_ranks_exclusive=(pl.col("recvs") > 0).sum().cast(pl.Int64),
    )
    joined = regions.join(exclusive, on=["path", "rank"], how="left").with_columns(
        pl.col("dest_ranks_exclusive", "src_ranks_exclusive").fill_null(0)
    )
    named = joined.with_columns(**{name: f"own_{name}" for name in _ADDED})
    nothing = {name: pl.lit(0) for name in ("rma_ops", "rma_bytes", "io_ops", "io_bytes")}
    no_time = {name: pl.lit(0.0) for name in ("rma_time", "io_time")}
    full = named.with_columns(**nothing, **no_time, skew_time=pl.lit(nan))
    return full.drop([f"own_{name}" for name in _INSTANCE]).sort("path", "rank")


def _world(lines: Mapping[str, pl.DataFrame], ranks: int) -> pl.DataFrame:
    """SMPI names no communicators: all is put down to the world."""
    partners, collectives = lines["partner"], lines["collective"]
    return pl.DataFrame(
        {
            "name": ["MPI_COMM_WORLD"],
            "size": [ranks],
            "members": [0],
            "ranks": [ranks],
            "calls": [int(partners["sends"].sum()) + int(collectives["calls"].sum())],
            "bytes": [int(partners["bytes_sent"].sum()) + int(collectives["sum"].sum())],
        }
    )
