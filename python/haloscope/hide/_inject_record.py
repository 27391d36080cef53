"""The record of what was injected: ranks write parts, which become a table when the run is over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from haloscope.base.errors import LaunchError
from haloscope.hide._parts import writable

if TYPE_CHECKING:
    import polars

__all__ = ["join", "prepared", "said", "totals"]

_HEADER = "rank,time,what,partner,tag,link,regime,machine_state,once,latency"
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


def prepared(record: Path) -> Path:
    """An absolute path for a new record; raises before anything is started."""
    path = record.absolute()
    if path.is_file():
        with path.open("rb") as file:
            if file.readline(200).strip() not in (b"", _HEADER.encode()):
                raise LaunchError(
                    f"{path}: is there and is no record of haloscope inject; name another with -o"
                )
    for part in (part for parts in _worlds(path).values() for part in parts.values()):
        part.unlink()
    return writable(path)


def join(record: Path) -> list[str]:
    """Make tables of the parts beside a record, one a world; a line on each that is not whole."""
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
    """What ranks have said that they injected, in one line; None if no rank said a thing."""
    lines = [line.split() for line in summary.read_text(encoding="ascii").splitlines()]
    if not lines:
        return None
    count = sum(int(words[2]) for words in lines)
    if not count:
        return said(0, "", 0)
    mean = sum(float(words[3]) for words in lines) / count
    own = {words[1] for words in lines if words[0] == "0"}
    size = int(next(iter(own)).rpartition("-")[2]) if own else 0
    seen = f" by {len(own)} of {size} ranks, which alone tell it here" if len(own) < size else ""
    return said(count, f"mean {1e3 * mean:.3g} ms", max(float(words[4]) for words in lines)) + seen


def said(count: int, middle: str, longest: float) -> str:
    """The line about what was injected."""
    if not count:
        return "nothing was injected: no message between ranks was sent"
    return f"injected {count} latencies, {middle}, longest {1e3 * longest:.3g} ms"


def _worlds(record: Path) -> dict[Path, dict[int, Path]]:
    """The parts by rank of a record, and those of programs that were spawned, by their tables."""
    stem, ending = (record.stem, ".csv") if record.suffix == ".csv" else (record.name, "")
    name = re.compile(rf"({re.escape(stem)}(?:-spawned-\d+)?{re.escape(ending)})\.part-(\d+)-of-\d+")
    found: dict[Path, dict[int, Path]] = {}
    for path in _beside(record):
        if match := name.fullmatch(path.name):
            found.setdefault(record.with_name(match[1]), {})[int(match[2])] = path
    return found


def _beside(record: Path) -> Iterator[Path]:
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
