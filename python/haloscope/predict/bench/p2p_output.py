"""Output of messages between two cores: in the format of OSU, and as records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from haloscope.predict.bench.foreign import format_osu_line
from haloscope.predict.bench.p2p_points import P2pPoint
from haloscope.predict.bench.sweep import median_interval

_COLUMNS = {
    "latency": ("Latency (us)",),
    "bw": ("Bandwidth (MB/s)",),
    "bibw": ("Bandwidth (MB/s)",),
    "mbw_mr": ("MB/s", "Messages/s"),
    "overhead": ("Send (us)", "Receive (us)"),
    "reduce": ("Add (us)",),
}
_TITLES = {
    "latency": "Latency",
    "bw": "Bandwidth",
    "bibw": "Bi-Directional Bandwidth",
    "mbw_mr": "Multiple Bandwidth / Message Rate",
    "overhead": "Overheads os(m), or(m)",
    "reduce": "Local Reduction",
}


def make_p2p_header(point: P2pPoint, library: str, full: bool, tails: Sequence[float]) -> str:
    """Return the lines before the first point of a test and pair; all begin with #."""
    pair = point.pair
    tested = f"core {pair.first} and core {pair.second} ({pair.level})"
    if point.pairs > 1:
        tested = f"{point.pairs} pairs at once"
    names = _list_columns(point, full, tails)
    title = f"# haloscope bench p2p: MPI {_TITLES[point.test]} Test, {tested}, {library}"
    return f"{title}\n{format_osu_line('# Size', names, names)}"


def make_p2p_row(point: P2pPoint, full: bool, tails: Sequence[float]) -> str:
    """Return the line of a point: bytes and, as OSU prints it, the mean over all iterations."""
    values = _list_values(point)
    if full:
        low, high = point.samples.min(), point.samples.max()
        values += [1e6 * low, 1e6 * high, len(point.samples) * point.batch]
    values += [1e6 * value for value in np.percentile(point.samples, tails)] if tails else []
    cells = [_format_value(value) for value in values]
    cells += [] if point.valid is None else ["Pass" if point.valid else "Fail"]
    return format_osu_line(point.bytes, _list_columns(point, full, tails), cells)


def make_p2p_record(point: P2pPoint) -> dict[str, Any]:
    """Return the record of a point, in seconds, with all samples."""
    middle, low, high = median_interval(point.samples)
    return {
        "test": point.test,
        "level": point.pair.level,
        "first": point.pair.first,
        "second": point.pair.second,
        "pairs": point.pairs,
        "bytes": point.bytes,
        "iterations": len(point.samples) * point.batch,
        "batch": point.batch,
        "time": point.mean,
        "median": middle,
        "ci_low": low,
        "ci_high": high,
        "valid": point.valid,
        "samples": [float(f"{value:.5g}") for value in point.samples],
        "receive_samples": [float(f"{value:.5g}") for value in point.receive],
    }


def _list_columns(point: P2pPoint, full: bool, tails: Sequence[float]) -> list[str]:
    names = [*_COLUMNS[point.test]]
    names += ["Min (us)", "Max (us)", "Iterations"] if full else []
    names += [f"P{tail:g} (us)" for tail in tails]
    return names if point.valid is None else [*names, "Validation"]


def _list_values(point: P2pPoint) -> list[float]:
    mean = point.mean or float("nan")
    if point.test in ("bw", "bibw"):
        return [(2 if point.test == "bibw" else 1) * point.bytes / mean * 1e-6]
    if point.test == "mbw_mr":
        return [point.pairs * point.bytes / mean * 1e-6, point.pairs / mean]
    if point.test == "overhead":
        return [1e6 * point.mean, 1e6 * float(point.receive.mean())]
    return [1e6 * point.mean]


def _format_value(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.2f}"
