"""Records that ranks write in parts, which are joined to one table after the run."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from haloscope.base.errors import LaunchError, OutputError
from haloscope.base.files import follow_link, refuse_other_kind, write_file
from haloscope.base.units import noun_text

if TYPE_CHECKING:
    import polars

_INJECTED = "rank,time,what,partner,tag,link,regime,machine_state,once,latency"
_LATENCIES = "record of haloscope inject"
_LONGEST = 200  # bytes; a part of a spawned program has 45 more at most
_WHAT = ("message", "collective", "one-sided")
# struct Row of src/hide/inject/journal.hpp.
_ROW = [
    ("sent", "<i8"),
    ("latency", "<f8"),
    ("partner", "<i4"),
    ("tag", "<i4"),
    ("regime", "<i2"),
    ("machine_state", "<i2"),
    ("link", "u1"),
    ("once", "u1"),
    ("what", "u1"),
    ("", "V1"),
]


def prepare_record(record: Path, header: str, what: str) -> Path:
    """Return the absolute path of a record with this header. An old one stays until there are new parts.

    Raises:
        LaunchError: The path is not writable.
        OutputError: It is a file of another kind.
    """
    path = _find_record(record, header, what)
    try:
        remove_parts(path)
        is_new = not path.exists()
        with path.open("ab"):
            pass
        if is_new:
            path.unlink()
    except OSError as error:
        raise LaunchError(
            f"{path}: cannot be written ({error.strerror}); choose a different file with -o"
        ) from None
    return path


def _find_record(record: Path, header: str, what: str) -> Path:
    path = follow_link(record.absolute())
    refuse_other_kind(path, header.encode(), what)
    if len(os.fsencode(path.name)) > _LONGEST:
        raise OutputError(
            f"{path}: the files of the ranks have longer names; name a file of at most {_LONGEST} bytes"
        )
    return path


def join_parts(record: Path, header: str) -> bool:
    """Make a record of the parts that ranks wrote next to it, after a header of columns.

    Returns:
        Whether there were parts; without any, nothing changes.
    """
    parts = _list_parts(record)
    if parts:
        with write_file(record, "record") as file:
            file.write(f"{header}\n".encode())
            file.writelines(part.read_bytes() for part in parts)
    for part in parts:
        part.unlink()
    return bool(parts)


def _list_parts(record: Path) -> list[Path]:
    """Return the parts of a record, by rank."""
    name = re.compile(rf"{re.escape(record.name)}\.part-(\d+)")
    paths = record.parent.iterdir() if record.parent.is_dir() else ()
    ranks = [int(match[1]) for path in paths if (match := name.fullmatch(path.name))]
    return [record.with_name(f"{record.name}.part-{rank}") for rank in sorted(ranks)]


def remove_parts(record: Path) -> None:
    """Remove the parts next to a record that have not been joined: something ended us before that."""
    for part in _list_parts(record):
        part.unlink(missing_ok=True)


def remove_latency_parts(record: Path) -> None:
    """Remove those of a record of latencies."""
    for parts in _find_worlds(record).values():
        for part in parts.values():
            part.unlink(missing_ok=True)


def prepare_latency_record(record: Path) -> Path:
    """Return the absolute path of a record of latencies, as `prepare_record` does.

    Raises:
        LaunchError: The path is not writable.
        OutputError: It is a file of another kind.
    """
    path = prepare_record(record, _INJECTED, _LATENCIES)
    remove_latency_parts(path)
    return path


def join_latency_record(record: Path) -> dict[Path, str]:
    """Join the parts next to a record into tables, one per world.

    Returns:
        The tables, each with a remark if ranks are missing in it.
    """
    remarks = {}
    for table, parts in _find_worlds(record).items():
        size = int(next(iter(parts.values())).name.rpartition("-")[2])
        with write_file(table, _LATENCIES) as file:
            for position, (rank, part) in enumerate(sorted(parts.items())):
                _read_rows(rank, part).write_csv(file, include_header=not position)
        for part in parts.values():
            part.unlink()
        remarks[table] = (
            f"{table}: has the rows of {len(parts)} of {noun_text(size, 'rank')}: the files of the others are"
            " not visible on this node"
            if len(parts) < size
            else ""
        )
    return remarks


def summarise_latencies(summary: Path) -> str | None:
    """Return a line about the injected latencies of all ranks; None if no rank reported any."""
    lines = [line.split() for line in summary.read_text(encoding="ascii").splitlines()]
    if not lines:
        return None
    count = sum(int(words[2]) for words in lines)
    if not count:
        return latency_text(0, "", 0)
    mean = sum(float(words[3]) for words in lines) / count
    own = {words[1] for words in lines if words[0] == "0"}
    size = int(next(iter(own)).rpartition("-")[2]) if own else 0
    note = (
        f" (from {len(own)} of {noun_text(size, 'rank')}; the others are not visible on this node)"
        if len(own) < size
        else ""
    )
    return latency_text(count, f"mean {1e3 * mean:.3g} ms", max(float(words[4]) for words in lines)) + note


def latency_text(count: int, middle: str, longest: float) -> str:
    """Return a line about injected latencies.

    Args:
        count: Their number.
        middle: Their mean or median, as text.
        longest: The longest one in seconds."""
    if not count:
        return "nothing was injected: no message between ranks was sent"
    return f"injected {noun_text(count, 'latency', 'latencies')}, {middle}, longest {1e3 * longest:.3g} ms"


def _find_worlds(record: Path) -> dict[Path, dict[int, Path]]:
    """Return the parts of a record by rank, for its table and the table of each spawned program."""
    stem, ending = (record.stem, ".csv") if record.suffix == ".csv" else (record.name, "")
    name = re.compile(rf"({re.escape(stem)}(?:-spawned-\d+)?{re.escape(ending)})\.part-(\d+)-of-\d+")
    found: dict[Path, dict[int, Path]] = {}
    for path in record.parent.iterdir() if record.parent.is_dir() else ():
        if match := name.fullmatch(path.name):
            found.setdefault(record.with_name(match[1]), {})[int(match[2])] = path
    return found


def _read_rows(rank: int, part: Path) -> polars.DataFrame:
    import numpy as np
    import polars as pl

    data = part.read_bytes()
    row = np.dtype(_ROW)
    rows = np.frombuffer(data, row, len(data) // row.itemsize)
    columns = {name: rows[name] for name in row.names or () if name}
    what = pl.col("what")
    return pl.DataFrame(columns).select(
        rank=pl.lit(rank),
        time=(pl.col("sent") * 1e-9).round(9),
        what=what.replace_strict(dict(enumerate(_WHAT)), return_dtype=pl.String),
        partner=pl.when(what != 1).then("partner"),
        tag=pl.when(what == 0).then("tag"),
        link=pl.when(pl.col("link") == 0).then(pl.lit("intra")).otherwise(pl.lit("inter")),
        regime="regime",
        machine_state="machine_state",
        once="once",
        latency="latency",
    )
