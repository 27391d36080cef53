"""The history of runs: the information of many profiles as one frame, without their tables."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from haloscope.base.errors import ProfileError, UsageError
from haloscope.base.texts import is_number
from haloscope.explain.runs.history_foreign import FOREIGN_SUFFIXES, read_foreign_info
from haloscope.profile.shown import (
    columns,
    count,
    declare_table,
    moment,
    number,
    part,
    size,
    slower,
    text,
    time,
)
from haloscope.profile.store import read_info

_ROWS_AT_A_TIME = 4096
_TEXTS = ("program", "command", "mpi_library", "mpi_standard", "mpi_abi", "version")
_TIMES = ("rank_time", "mpi_time", "p2p_time", "coll_time", "rma_time", "io_time", "wait_time")
_COUNTS = ("sends", "bytes_sent", "colls", "coll_bytes", "rma_bytes", "io_bytes")

# The columns of the frame.
HISTORY: Mapping[str, Any] = {
    "profile": pl.String,
    **dict.fromkeys(_TEXTS, pl.String),
    "ranks": pl.Int64,
    "start": pl.Float64,
    "duration": pl.Float64,
    "partial": pl.Boolean,
    "hosts": pl.Int64,
    **dict.fromkeys(_TIMES, pl.Float64),
    **dict.fromkeys(_COUNTS, pl.Float64),
    **dict.fromkeys(("job_id", "partition", "metadata"), pl.String),
    "host_names": pl.List(pl.String),
    "host_ranks": pl.List(pl.Int64),
    "host_compute": pl.List(pl.Float64),
}
# Groups by which the time of runs is summed.
COSTS: Mapping[str, str] = {"program": "program", "host": "host", "mpi": "mpi_library"}
HISTORY_TABLE = declare_table(
    "history",
    columns(
        "program host mpi_library", "depends on `--by`", program=text(), host=text(), mpi_library=text("MPI")
    ),
    columns("start", "of the run, with `--by run`", start=moment()),
    columns("runs ranks", "numbers; ranks of all runs", runs=count(), ranks=count()),
    columns(
        "rank_time mpi_time",
        "seconds, summed over the ranks of all runs: from `MPI_Init` to `MPI_Finalize`, and in MPI",
        rank_time=time("ranks' time"),
        mpi_time=time("in MPI"),
    ),
    columns("share", "of all time in MPI", share=part("of all")),
    columns("bytes_sent", "in point-to-point messages", bytes_sent=size("sent")),
    columns(
        "observations programs slowdown slowdown_low slowdown_high p_value suspect",
        "of hosts only, see below",
        slowdown=slower("slower by", low="slowdown_low", high="slowdown_high"),
        p_value=number("p", digits=2),
    ),
)


@dataclass(frozen=True)
class History:
    """The result of `read_history`: one row per profile, and one line per unreadable file."""

    frame: pl.DataFrame
    unreadable: list[str] = field(default_factory=list)


def history(directory: str | os.PathLike[str]) -> pl.DataFrame:
    """Return one row per profile below `directory`, the earliest first, without reading their tables.

    Times are seconds, summed over ranks; unknown values are null. Unreadable files are skipped:
    `haloscope.explain.read_history` lists them.

    Raises:
        UsageError: There is no such directory.

    Examples:
        >>> runs = haloscope.history("/scratch/profiles")
        >>> runs.group_by("program").agg(pl.sum("mpi_time")).sort("mpi_time")
    """
    return read_history(directory).frame


def read_history(directory: str | os.PathLike[str]) -> History:
    """Return the history of all profiles below `directory`, and the unreadable files.

    Only the `info` of `*.halo` is read; `*.cali` and `*.mpiP` are read completely, OTF2 archives are not
    read. At most one file is in memory at a time.

    Raises:
        UsageError: There is no such directory.
    """
    top = os.fspath(directory)
    if not os.path.isdir(top):
        raise UsageError(f"{top}: no such directory; give a directory with profiles")
    parts, rows, unreadable = [], [], []
    for path in _find_profiles(top):
        try:
            info = read_foreign_info(path) if path.endswith(FOREIGN_SUFFIXES) else read_info(path)
            rows.append(_make_row(path, info))
        except ProfileError as error:
            unreadable.append(str(error))
        if len(rows) == _ROWS_AT_A_TIME:
            parts.append(_make_frame(rows))
            rows = []
    frame = pl.concat([*parts, _make_frame(rows)])
    return History(frame.sort("start", "profile", nulls_last=True), unreadable)


def costs(frame: pl.DataFrame, by: str) -> pl.DataFrame:
    """Return the time of programs, hosts or MPI libraries, the most time in MPI first.

    `rank_time` and `mpi_time` are seconds, summed over the ranks of all runs; `share` is the share of all
    time in MPI. The time of a run is distributed over its hosts by their numbers of ranks. Runs without data
    count in `runs` only.

    Args:
        frame: The history.
        by: One of `COSTS`.

    Raises:
        UsageError: `by` is unknown.
    """
    if by not in COSTS:
        raise UsageError(f"unknown group {by!r}; choose from {', '.join(COSTS)}")
    rows = _split_by_host(frame) if by == "host" else frame
    summed = rows.group_by(COSTS[by]).agg(
        pl.len().alias("runs"),
        pl.col("ranks").sum(),
        pl.col("rank_time").sum(),
        pl.col("mpi_time").sum(),
        pl.col("bytes_sent").sum(),
    )
    share = (pl.col("mpi_time") / pl.col("mpi_time").sum()).fill_nan(None).alias("share")
    return summed.with_columns(share).sort(["mpi_time", COSTS[by]], descending=[True, False])


def _split_by_host(frame: pl.DataFrame) -> pl.DataFrame:
    part = pl.col("host_ranks") / pl.col("host_ranks").sum().over("run")
    return (
        frame.with_row_index("run")
        .explode("host_names", "host_ranks", "host_compute")
        .filter(pl.col("host_names").is_not_null())
        .with_columns((pl.col(name) * part).alias(name) for name in ("rank_time", "mpi_time", "bytes_sent"))
        .with_columns(pl.col("host_ranks").alias("ranks"), pl.col("host_names").alias("host"))
    )


def _find_profiles(top: str) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".halo", *FOREIGN_SUFFIXES)):
                yield os.path.join(folder, name)


def _make_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=HISTORY, orient="row")


def _make_row(path: str, info: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the frame. Raises `ProfileError` if a value has the wrong type."""
    known = _Known(path, info)
    roll_up = _Known(path, known.get("rollup", _is_object) or {})
    job = _Known(path, known.get("job", _is_object) or {})
    metadata = known.get("metadata", _is_object)
    hosts = {name: roll_up.get(name, fits) for name, fits in _OF_HOSTS.items()}
    if len({len(values) for values in hosts.values() if values is not None}) > 1:
        raise ProfileError(f"{path}: the profile is damaged: its lists of hosts differ in length")
    return {
        "profile": path,
        **{name: known.get(name, _is_text) for name in _TEXTS},
        "ranks": known.get("ranks", _is_count),
        **{name: known.get(name, is_number) for name in ("start", "duration")},
        "partial": known.get("partial", _is_flag),
        "hosts": roll_up.get("hosts", _is_count),
        **{name: roll_up.get(name, is_number) for name in _TIMES},
        **{name: roll_up.get(name, is_number) for name in _COUNTS},
        **{name: job.get(name, _is_text) for name in ("job_id", "partition")},
        "metadata": None if metadata is None else json.dumps(metadata, ensure_ascii=False),
        **hosts,
    }


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_list_of(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


_OF_HOSTS = {
    "host_names": _is_list_of(_is_text),
    "host_ranks": _is_list_of(_is_count),
    "host_compute": _is_list_of(is_number),
}


@dataclass(frozen=True)
class _Known:
    """Checked values of a file, by key."""

    path: str
    values: Mapping[str, Any]

    def get(self, key: str, fits: Callable[[object], bool]) -> Any:
        value = self.values.get(key)
        if value is not None and not fits(value):
            raise ProfileError(f"{self.path}: the profile is damaged: its info {key} has the wrong type")
        return value
