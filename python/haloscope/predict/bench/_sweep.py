"""A sweep: the file that a measurement leaves, a line a point, and its table."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from haloscope.base.errors import MachineError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Sweep", "frame", "identity", "joined", "median_interval", "read_records", "row_of"]

_KEYS = ("collective", "algorithm", "number", "segment", "fanout", "ranks", "nodes", "mapping",
         "bytes", "iterations", "status", "reason")  # fmt: skip
_NUMBERS = frozenset({"number", "segment", "fanout", "ranks", "nodes", "bytes", "iterations"})
_TIMES = ("time", "time_min", "time_max", "median", "ci_low", "ci_high")


@dataclass
class Sweep:
    """The points that were measured in one environment, with all their samples."""

    environment: Mapping[str, Any]
    points: pl.DataFrame
    _records: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    @classmethod
    def read(cls, path: Path | str) -> Sweep:
        """Read the file that `haloscope bench collective -o` writes.

        A last line that an interruption cut off is left out; of a point that is there twice, the
        later one counts. Raises `MachineError` for what is no such file.
        """
        records = read_records(Path(path))
        if not records or records[0].get("record") != "environment":
            raise MachineError(
                f"{path}: not a sweep of haloscope bench (no line on its environment)"
            )
        points = {identity(one): one for one in records[1:] if one.get("record") == "point"}
        try:
            return cls.of(records[0], list(points.values()))
        except (KeyError, TypeError, ValueError) as error:
            raise MachineError(f"{path}: a point is damaged ({error})") from None

    @classmethod
    def of(cls, environment: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> Sweep:
        """A sweep of points as its file has them."""
        return cls(environment, frame([row_of(one) for one in records]), records)

    def sorted(self) -> Sweep:
        """The same points by collective and ranks, the library's own choice first, then by size."""
        order = sorted(range(len(self._records)), key=lambda row: _place(self._records[row]))
        return Sweep(self.environment, self.points[order], [self._records[row] for row in order])

    def samples(self, row: int) -> NDArray[np.int64]:
        """The nanoseconds of a row of `points`: one line a rank, one column an iteration."""
        return np.array(self._records[row].get("samples_ns") or [[]], dtype=np.int64)


def joined(sweeps: Sequence[Sweep]) -> Sweep:
    """Return several sweeps as one; the environment is the first one's."""
    import polars as pl

    records = [record for sweep in sweeps for record in sweep._records]
    points = pl.concat([sweep.points for sweep in sweeps])
    return Sweep(sweeps[0].environment, points, records)


def row_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """A point of the file as a row of the table."""
    row = {key: record.get(key) for key in _KEYS} | dict.fromkeys(_TIMES)
    row.update(segment=record.get("segment") or 0, fanout=record.get("fanout") or 0)
    samples = np.array(record.get("samples_ns") or [[]], dtype=np.float64) * 1e-9
    if record["status"] == "ok" and samples.size:
        means = samples.mean(axis=1)
        middle, low, high = median_interval(samples.max(axis=0))
        row.update(
            time=float(means.mean()), time_min=float(means.min()), time_max=float(means.max()),
            median=middle, ci_low=low, ci_high=high, iterations=samples.shape[1],
        )  # fmt: skip
    return row


def frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return the table of points, with its columns even where there are none."""
    import polars as pl

    schema: dict[str, Any] = {key: pl.Int64 if key in _NUMBERS else pl.String for key in _KEYS}
    return pl.DataFrame(list(rows), schema=schema | dict.fromkeys(_TIMES, pl.Float64))


def median_interval(
    values: NDArray[np.float64], confidence: float = 0.95
) -> tuple[float, float, float]:
    """The median with its interval: order statistics, whatever the distribution.

    Of less than six values the interval is their range, which is all that can be said.
    """
    from scipy.stats import binom

    ordered = np.sort(values)
    count = len(ordered)
    outside = max(int(binom.ppf((1 - confidence) / 2, count, 0.5)), 1)
    low, high = outside - 1, count - outside
    return float(np.median(ordered)), float(ordered[low]), float(ordered[high])


def read_records(path: Path) -> list[dict[str, Any]]:
    """All records of a sweep's file, the environment first."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror}") from None
    records = []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line) if line.strip() else None
        except ValueError:
            if number == len(lines):  # torn off: the writer ends every line that is whole
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
    keys = ("collective", "algorithm", "number", "segment", "fanout", "ranks", "mapping", "bytes")
    return tuple(record.get(key) or 0 for key in keys)


def _place(record: Mapping[str, Any]) -> tuple[Any, ...]:
    name, algorithm, number, segment, fanout, ranks, mapping, size = identity(record)
    other = algorithm != "default"
    return name, ranks, str(mapping), other, number, algorithm, segment, fanout, size
