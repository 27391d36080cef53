"""Sweeps: files with one line per measured point, their journals and tables."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from haloscope.base.arrays import Floats, Integers
from haloscope.base.errors import MachineError, OutputError
from haloscope.predict.bench.sweep_points import POINT_KEYS, POINT_TIMES, frame
from haloscope.predict.bench.sweep_records import identify_point, read_records

if TYPE_CHECKING:
    import polars as pl

_PLACE = ("collective", "algorithm", "segment", "fanout", "ranks", "bytes")
# All points of a sweep have these in common.
_SAME = ("library", "host")
_METHOD = ("synchronisation", "warmup", "iterations", "type", "validate", "confidence", "precision")


@dataclass
class Sweep:
    """The points that were measured in one environment, with all samples."""

    environment: Mapping[str, Any]
    points: pl.DataFrame
    _records: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    interrupted: bool = False
    """Whether Ctrl-C ended the measurement early."""

    @classmethod
    def read(cls, path: Path | str) -> Sweep:
        """Read a file of `haloscope bench collective -o`.

        An incomplete last line is ignored. If a point exists twice, the later one counts.

        Raises:
            MachineError: The file is not a sweep, or damaged.
        """
        records = read_records(Path(path))
        points = {identify_point(record): record for record in records[1:] if record.get("record") == "point"}
        try:
            return cls.of(records[0], list(points.values()))
        except (KeyError, TypeError, ValueError) as error:
            raise MachineError(f"{path}: a point is damaged ({error})") from None

    @classmethod
    def of(cls, environment: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> Sweep:
        """Return a sweep of the records of a file."""
        return cls(environment, frame([make_row(record) for record in records]), records)

    def sorted(self) -> Sweep:
        """Return the points ordered by collective, ranks, algorithm (the own choice first) and size."""
        order = sorted(range(len(self._records)), key=lambda row: _make_sort_key(self._records[row]))
        return Sweep(self.environment, self.points[order], [self._records[row] for row in order])

    def spread(self) -> pl.DataFrame:
        """Return the standard deviations of logarithms of times `within` and `between` launches of a point.

        `between` is that of the medians, corrected for the scatter within launches; null for one launch.
        """
        import polars as pl

        times = [
            np.log(np.maximum(self.samples(row).max(axis=0, initial=1), 1)) for row in range(len(self.points))
        ]
        rows = self.points.with_columns(
            middle=pl.Series(
                [float(np.median(samples)) if len(samples) else None for samples in times], dtype=pl.Float64
            ),
            variance=pl.Series(
                [float(np.var(samples)) if len(samples) else None for samples in times], dtype=pl.Float64
            ),
        ).filter(pl.col("status") == "ok")
        alone = pl.col("variance") / pl.col("iterations") * np.pi / 2  # of a median
        return rows.group_by(*_PLACE, maintain_order=True).agg(
            launches=pl.len().cast(pl.Int64),
            within=pl.col("variance").mean().sqrt(),
            between=(pl.col("middle").var() - alone.mean()).clip(0).sqrt(),
        )

    def samples(self, row: int) -> Integers:
        """Return the times of a row of `points` (ns), shape (ranks, iterations)."""
        return np.array(self._records[row].get("samples_ns") or [[]], dtype=np.int64)


def join_sweeps(sweeps: Sequence[Sweep]) -> Sweep:
    """Return the sweeps as one, with the environment of the first one."""
    import polars as pl

    records = [record for sweep in sweeps for record in sweep._records]
    points = pl.concat([sweep.points for sweep in sweeps])
    return Sweep(sweeps[0].environment, points, records)


def read_points(
    paths: Sequence[Path | str], collectives: Sequence[str] = (), algorithms: Sequence[str] = ()
) -> tuple[pl.DataFrame, str]:
    """Return the points of sweeps, and the name of the library.

    Args:
        paths: Files of sweeps.
        collectives: Collectives to return; empty: all.
        algorithms: Algorithms to return; empty: all.

    Raises:
        MachineError: A file is not a sweep.
    """
    import polars as pl

    read = [Sweep.read(path) for path in paths]
    points = pl.concat([sweep.points for sweep in read])
    for column, names in (("collective", collectives), ("algorithm", algorithms)):
        if names:
            points = points.filter(pl.col(column).is_in(names))
    return points, str(read[0].environment.get("library") or "")


def make_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record of the file as a row of the table."""
    row = {key: record.get(key) for key in POINT_KEYS} | dict.fromkeys(POINT_TIMES)
    row.update({key: record.get(key) or 0 for key in ("segment", "fanout", "launch")})
    samples = np.array(record.get("samples_ns") or [[]], dtype=np.float64) * 1e-9
    if record["status"] == "ok" and samples.size:
        means = samples.mean(axis=1)
        middle, low, high = median_interval(samples.max(axis=0))
        row.update(
            time=float(means.mean()),
            time_min=float(means.min()),
            time_max=float(means.max()),
            median=middle,
            ci_low=low,
            ci_high=high,
            iterations=samples.shape[1],
        )
    return row


def median_interval(values: Floats, confidence: float = 0.95) -> tuple[float, float, float]:
    """Return the median and its distribution-free interval by order statistics.

    With fewer than six values, the interval is their range, whose confidence is lower.
    """
    from scipy.stats import binom

    ordered = np.sort(values)
    count = len(ordered)
    outside = max(int(binom.ppf((1 - confidence) / 2, count, 0.5)), 1)
    low, high = outside - 1, count - outside
    return float(np.median(ordered)), float(ordered[low]), float(ordered[high])


def _make_sort_key(record: Mapping[str, Any]) -> tuple[Any, ...]:
    name, algorithm, number, segment, fanout, ranks, mapping, size, launch = identify_point(record)
    other = algorithm != "default"
    return name, ranks, str(mapping), other, number, algorithm, segment, fanout, launch, size


class SweepJournal:
    """The points so far, and the file that they are written to, if any."""

    def __init__(self, environment: Mapping[str, Any], file: int | None) -> None:
        self.environment = environment
        self.points: dict[tuple[Any, ...], Mapping[str, Any]] = {}
        self._file = file

    def add(self, point: Mapping[str, Any]) -> None:
        """Write and store a point. An interrupt before it is written discards it."""
        self.write(point)
        self.points[identify_point(point)] = point

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a line."""
        if self._file is None:
            return
        data = (json.dumps(record, separators=(",", ":")) + "\n").encode()
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            raise OutputError(f"the sweep's file: {error.strerror}; earlier points are saved") from None

    def has(self, point: Mapping[str, Any]) -> bool:
        """Return whether the point has been measured."""
        return identify_point(point) in self.points


@contextlib.contextmanager
def open_journal(path: Path | None, environment: Mapping[str, Any]) -> Iterator[SweepJournal]:
    """Open a journal. An existing file is continued if its library, host and method are the same."""
    if path is None:
        yield SweepJournal(environment, None)
        return
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from None
    try:
        _lock(file, path)
        yield _continue(file, path, environment)
    finally:
        os.close(file)


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(f"{path}: another haloscope bench writes to it") from None
    except OSError:
        pass  # a file system without locks


def _continue(file: int, path: Path, environment: Mapping[str, Any]) -> SweepJournal:
    if os.fstat(file).st_size == 0:
        new = SweepJournal(environment, file)
        new.write(environment)
        return new
    records = read_records(path)
    earlier = records[0]
    _check_same(path, earlier, environment)
    _cut_torn_line(file, path)
    continued = SweepJournal(earlier, file)
    points = (record for record in records[1:] if record.get("record") == "point")
    continued.points = {identify_point(point): point for point in points}
    return continued


def _check_same(path: Path, earlier: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    was, method = earlier.get("method") or {}, now["method"]
    pairs = [(name, earlier.get(name), now[name]) for name in _SAME]
    pairs += [(name, was.get(name), method[name]) for name in _METHOD]
    for name, before, after in pairs:
        if before != after:
            raise OutputError(
                f"{path}: measured with {name} {before}, now it is {after}; give another file, or the "
                "same method"
            )


def _cut_torn_line(file: int, path: Path) -> None:
    """Remove an incomplete last line, which would damage the next one."""
    content = path.read_bytes()
    if not content.endswith(b"\n"):
        os.ftruncate(file, content.rfind(b"\n") + 1)
