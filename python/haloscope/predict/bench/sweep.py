"""A sweep: the file that a measurement leaves, a line a point, its journal and its table."""

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

if TYPE_CHECKING:
    import polars as pl

_PLACE = ("collective", "algorithm", "segment", "fanout", "ranks", "bytes")
# Points measured otherwise don't belong into one sweep.
_SAME = ("library", "host")
_METHOD = ("synchronisation", "warmup", "iterations", "type", "validate", "confidence", "precision")


@dataclass
class Sweep:
    """The points that were measured in one environment, with all their samples."""

    environment: Mapping[str, Any]
    points: pl.DataFrame
    _records: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    interrupted: bool = False
    """True if Ctrl-C ended the measurement before all points were there."""

    @classmethod
    def read(cls, path: Path | str) -> Sweep:
        """Read the file that `haloscope bench collective -o` writes.

        A last line that an interruption cut off is left out; of a point that is there twice, the
        later one counts. Raises `MachineError` for what is no such file.
        """
        records = read_records(Path(path))
        if not records or records[0].get("record") != "environment":
            raise MachineError(f"{path}: not a sweep of haloscope bench (no line on its environment)")
        points = {identity(one): one for one in records[1:] if one.get("record") == "point"}
        try:
            return cls.of(records[0], list(points.values()))
        except (KeyError, TypeError, ValueError) as error:
            raise MachineError(f"{path}: a point is damaged ({error})") from None

    @classmethod
    def of(cls, environment: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> Sweep:
        """Return a sweep of points as its file has them."""
        return cls(environment, frame([row_of(one) for one in records]), records)

    def sorted(self) -> Sweep:
        """Return the same points by collective and ranks, the library's own choice first, then by size."""
        order = sorted(range(len(self._records)), key=lambda row: _place(self._records[row]))
        return Sweep(self.environment, self.points[order], [self._records[row] for row in order])

    def spread(self) -> pl.DataFrame:
        """Return how far logarithms of times scatter `within` launches and `between` launches of the same.

        `between` is of the medians, less what iterations alone make them differ by; null for a single launch.
        """
        import polars as pl

        times = [
            np.log(np.maximum(self.samples(row).max(axis=0, initial=1), 1)) for row in range(len(self.points))
        ]
        rows = self.points.with_columns(
            middle=pl.Series(
                [float(np.median(one)) if len(one) else None for one in times], dtype=pl.Float64
            ),
            variance=pl.Series([float(np.var(one)) if len(one) else None for one in times], dtype=pl.Float64),
        ).filter(pl.col("status") == "ok")
        alone = pl.col("variance") / pl.col("iterations") * np.pi / 2  # of a median
        return rows.group_by(*_PLACE, maintain_order=True).agg(
            launches=pl.len().cast(pl.Int64),
            within=pl.col("variance").mean().sqrt(),
            between=(pl.col("middle").var() - alone.mean()).clip(0).sqrt(),
        )

    def samples(self, row: int) -> Integers:
        """Return the nanoseconds of a row of `points`: one line a rank, one column an iteration."""
        return np.array(self._records[row].get("samples_ns") or [[]], dtype=np.int64)


def join_sweeps(sweeps: Sequence[Sweep]) -> Sweep:
    """Return several sweeps as one; the environment is the first one's."""
    import polars as pl

    records = [record for sweep in sweeps for record in sweep._records]
    points = pl.concat([sweep.points for sweep in sweeps])
    return Sweep(sweeps[0].environment, points, records)


def measured_points(
    paths: Sequence[Path | str], collectives: Sequence[str] = (), algorithms: Sequence[str] = ()
) -> tuple[pl.DataFrame, str]:
    """Return the points of several sweeps, of some collectives and algorithms, and the library's name.

    Without names they are all. Raises `MachineError` for a file that is no sweep.
    """
    import polars as pl

    read = [Sweep.read(path) for path in paths]
    points = pl.concat([sweep.points for sweep in read])
    for column, names in (("collective", collectives), ("algorithm", algorithms)):
        if names:
            points = points.filter(pl.col(column).is_in(names))
    return points, str(read[0].environment.get("library") or "")


def row_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a point of the file as a row of the table."""
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
    """Return the median with its interval: order statistics, whatever the distribution.

    Of less than six values the interval is their range, which is all that can be said.
    """
    from scipy.stats import binom

    ordered = np.sort(values)
    count = len(ordered)
    outside = max(int(binom.ppf((1 - confidence) / 2, count, 0.5)), 1)
    low, high = outside - 1, count - outside
    return float(np.median(ordered)), float(ordered[low]), float(ordered[high])


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return all records of a sweep's file, the environment first."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror}") from None
    records = []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line) if line.strip() else None
        except ValueError:
            if number == len(lines):  # cut off by an interruption: a whole line ends with a newline
                break
            raise MachineError(f"{path}: line {number} is not JSON; not a sweep") from None
        if record is not None and not isinstance(record, dict):
            raise MachineError(f"{path}: line {number} is not a record; not a sweep")
        records += [record] if record else []
    if not records or records[0].get("record") != "environment":
        raise MachineError(f"{path}: not a sweep of haloscope bench: no line on the environment")
    return records


def identity(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what makes a point another one."""
    keys = ("collective", "algorithm", "number", "segment", "fanout", "ranks", "mapping", "bytes", "launch")
    return tuple(record.get(key) or 0 for key in keys)


def _place(record: Mapping[str, Any]) -> tuple[Any, ...]:
    name, algorithm, number, segment, fanout, ranks, mapping, size, launch = identity(record)
    other = algorithm != "default"
    return name, ranks, str(mapping), other, number, algorithm, segment, fanout, launch, size


class SweepJournal:
    """The points so far, and the file that they go to, if there is one."""

    def __init__(self, environment: Mapping[str, Any], file: int | None) -> None:
        self.environment = environment
        self.points: dict[tuple[Any, ...], Mapping[str, Any]] = {}
        self._file = file

    def add(self, point: Mapping[str, Any]) -> None:
        """Keep a point, whatever happens next; an interrupt before it is written leaves it out."""
        self.write(point)
        self.points[identity(point)] = point

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a line."""
        if self._file is None:
            return
        data = (json.dumps(record, separators=(",", ":")) + "\n").encode()
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            raise OutputError(f"the sweep's file: {error.strerror}; it holds all before") from None

    def has(self, point: Mapping[str, Any]) -> bool:
        """Return True if the point need not be measured again."""
        return identity(point) in self.points


@contextlib.contextmanager
def open_journal(path: Path | None, environment: Mapping[str, Any]) -> Iterator[SweepJournal]:
    """Open a journal; a file that exists is continued if it was measured in the same way."""
    if path is None:
        yield SweepJournal(environment, None)
        return
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from None
    try:
        _lock(file, path)
        yield _continued(file, path, environment)
    finally:
        os.close(file)


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(f"{path}: another haloscope bench writes there") from None
    except OSError:
        pass  # a file system without locks


def _continued(file: int, path: Path, environment: Mapping[str, Any]) -> SweepJournal:
    if os.fstat(file).st_size == 0:
        made = SweepJournal(environment, file)
        made.write(environment)
        return made
    records = read_records(path)
    earlier = records[0]
    _check_same(path, earlier, environment)
    _cut_torn_line(file, path)
    made = SweepJournal(earlier, file)
    points = (record for record in records[1:] if record.get("record") == "point")
    made.points = {identity(point): point for point in points}
    return made


def _check_same(path: Path, earlier: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    was, method = earlier.get("method") or {}, now["method"]
    pairs = [(name, earlier.get(name), now[name]) for name in _SAME]
    pairs += [(name, was.get(name), method[name]) for name in _METHOD]
    for name, before, after in pairs:
        if before != after:
            raise OutputError(
                f"{path}: measured with {name} {before}, now it is {after}; name another file, "
                "or ask for the same"
            )


def _cut_torn_line(file: int, path: Path) -> None:
    """What an interruption left of a line would spoil the next one."""
    content = path.read_bytes()
    if not content.endswith(b"\n"):
        os.ftruncate(file, content.rfind(b"\n") + 1)
