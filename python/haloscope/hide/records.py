"""Records that the ranks of a run write in parts, which become one table when the run is over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from haloscope.base.errors import LaunchError

if TYPE_CHECKING:
    import polars

_INJECTED = "rank,time,what,partner,tag,link,regime,machine_state,once,latency"
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


def writable(record: Path) -> Path:
    """Return the absolute path of a new record, where nothing is.

    Raises `LaunchError` if nothing can be written there.
    """
    path = record.absolute()
    try:
        for part in _parts(path):
            part.unlink()
        path.unlink(missing_ok=True)
        path.touch()
        path.unlink()
    except OSError as error:
        raise LaunchError(f"{path}: can't be written ({error.strerror}); name another with -o") from None
    return path


def put_together(record: Path, header: str) -> None:
    """Add to a record the parts that ranks have left beside it, after a header of columns."""
    parts = _parts(record)
    if parts and not record.exists():
        record.write_text(f"{header}\n", encoding="utf-8")
    for part in parts:
        with record.open("ab") as file:
            file.write(part.read_bytes())
        part.unlink()


def _parts(record: Path) -> list[Path]:
    """Return the parts of a record, in the order of ranks."""
    beside = record.parent.glob(f"{escape(record.name)}.*")
    numbered = [path for path in beside if path.suffix[1:].isdigit()]
    return sorted(numbered, key=lambda path: int(path.suffix[1:]))


def writable_injected(record: Path) -> Path:
    """Return the absolute path of a new record of latencies, which may replace another one.

    Raises `LaunchError` if it can't be written, or if something else is there.
    """
    path = record.absolute()
    if path.is_file():
        with path.open("rb") as file:
            if file.readline(200).strip() not in (b"", _INJECTED.encode()):
                raise LaunchError(
                    f"{path}: is there and is no record of haloscope inject; name another with -o"
                )
    for part in (part for parts in _worlds(path).values() for part in parts.values()):
        part.unlink()
    return writable(path)


def joined_injected(record: Path) -> list[str]:
    """Make tables of the parts beside a record, one for each world.

    Return a remark on each table that lacks the rows of some ranks.
    """
    told = []
    for table, parts in _worlds(record).items():
        size = int(next(iter(parts.values())).name.rpartition("-")[2])
        for position, (rank, part) in enumerate(sorted(parts.items())):
            with table.open("ab" if position else "wb") as file:
                _rows(rank, part).write_csv(file, include_header=not position)
            part.unlink()
        if len(parts) < size:
            told.append(
                f"{table}: has the rows of {len(parts)} of {size} ranks: what the others wrote can "
                "not be seen from here"
            )
    return told


def totals(summary: Path) -> str | None:
    """Return a line about what ranks have said that they injected, or None if no rank said anything."""
    lines = [line.split() for line in summary.read_text(encoding="ascii").splitlines()]
    if not lines:
        return None
    count = sum(int(words[2]) for words in lines)
    if not count:
        return remark(0, "", 0)
    mean = sum(float(words[3]) for words in lines) / count
    own = {words[1] for words in lines if words[0] == "0"}
    size = int(next(iter(own)).rpartition("-")[2]) if own else 0
    seen = f" by {len(own)} of {size} ranks, which alone tell it here" if len(own) < size else ""
    return remark(count, f"mean {1e3 * mean:.3g} ms", max(float(words[4]) for words in lines)) + seen


def remark(count: int, middle: str, longest: float) -> str:
    """Return a line about so many latencies; `middle` says what a usual one is, `longest` is in seconds."""
    if not count:
        return "nothing was injected: no message between ranks was sent"
    return f"injected {count} latencies, {middle}, longest {1e3 * longest:.3g} ms"


def _worlds(record: Path) -> dict[Path, dict[int, Path]]:
    """Return the parts of a record by rank, for its own table and for that of each spawned program."""
    stem, ending = (record.stem, ".csv") if record.suffix == ".csv" else (record.name, "")
    name = re.compile(rf"({re.escape(stem)}(?:-spawned-\d+)?{re.escape(ending)})\.part-(\d+)-of-\d+")
    found: dict[Path, dict[int, Path]] = {}
    for path in _list_neighbours(record):
        if match := name.fullmatch(path.name):
            found.setdefault(record.with_name(match[1]), {})[int(match[2])] = path
    return found


def _list_neighbours(record: Path) -> Iterator[Path]:
    return record.parent.iterdir() if record.parent.is_dir() else iter(())


def _rows(rank: int, part: Path) -> polars.DataFrame:
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
