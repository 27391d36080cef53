"""Points as the OSU benchmarks print them, so that what reads those reads these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from haloscope.base.errors import printable
from haloscope.predict.bench._mpi_library import DEFAULT

if TYPE_CHECKING:
    from haloscope.predict.bench._sweep import Sweep

__all__ = ["TITLES", "write_osu"]

# OSU's own titles, where they are not the collective's name.
TITLES = {"bcast": "Broadcast", "alltoall": "All-to-All Personalized Exchange",
          "alltoallv": "All-to-Allv Personalized Exchange"}  # fmt: skip
_SIZE, _FIELD = 10, 20


def write_osu(
    sweep: Sweep, output: IO[str], full: bool = False, percentiles: Sequence[float] = ()
) -> None:
    """Print a block for each algorithm and number of ranks, by size; what failed is a comment."""
    method = sweep.environment.get("method") or {}
    rows = sweep.points.with_row_index("row").to_dicts()
    blocks: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        blocks.setdefault(_order(row), []).append(row)
    for key in sorted(blocks):
        block = sorted(blocks[key], key=lambda row: row["bytes"])
        for line in _head(block[0], sweep.environment.get("library"), method):
            output.write(f"# {printable(line)}\n")
        output.write(_columns(block[0], full, percentiles, method.get("validate") is not None))
        for row in block:
            output.write(_line(row, sweep, full, percentiles, method.get("validate") is not None))
        output.write("\n")


def _order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    number = -1 if row["algorithm"] == DEFAULT else row["number"] or 0
    return (row["collective"], row["ranks"] or 0, row["mapping"] or "", number, row["algorithm"],
            row["segment"], row["fanout"])  # fmt: skip


def _head(row: Mapping[str, Any], library: str | None, method: Mapping[str, Any]) -> list[str]:
    collective = row["collective"]
    said = {
        "collective": collective, "algorithm": row["algorithm"], "number": row["number"],
        "ranks": row["ranks"], "nodes": row["nodes"], "mapping": row["mapping"],
        "segment": row["segment"] or None, "fanout": row["fanout"] or None,
    }  # fmt: skip
    words = " ".join(f"{key}={value}" for key, value in said.items() if value is not None)
    synchronised = method.get("synchronisation")
    lines = [f"OSU MPI {TITLES.get(collective, collective.capitalize())} Latency Test"]
    lines += [f"haloscope: {words}"]
    if library or synchronised:
        lines.append(f"{library}, synchronised by {synchronised}, {method.get('type')}")
    return lines


def _columns(
    row: Mapping[str, Any], full: bool, percentiles: Sequence[float], validated: bool
) -> str:
    names = ["Avg Latency(us)"]
    names += ["Min Latency(us)", "Max Latency(us)", "Iterations"] if full else []
    names += [f"P{value:g} Tail Lat(us)" for value in percentiles]
    names += ["Validation"] if validated else []
    first = "# " if row["collective"] == "barrier" else f"{'# Size':<{_SIZE}}"
    return first + "".join(f"{name:>{_FIELD}}" for name in names) + "\n"


def _line(
    row: Mapping[str, Any], sweep: Sweep, full: bool, percentiles: Sequence[float], validated: bool
) -> str:
    size = "  " if row["collective"] == "barrier" else f"{row['bytes']:<{_SIZE}}"
    if row["status"] != "ok":
        return printable(f"# {row['bytes']} {row['status']}: {row['reason']}") + "\n"
    values = [row["time"], row["time_min"], row["time_max"]] if full else [row["time"]]
    fields = ["" if value is None else f"{value * 1e6:.2f}" for value in values]
    fields += [str(row["iterations"] or "")] if full else []
    if percentiles:
        fields += [f"{value * 1e-3:.2f}" for value in _tails(sweep, row["row"], percentiles)]
    fields += ["Pass"] if validated else []
    return size + "".join(f"{field:>{_FIELD}}" for field in fields) + "\n"


def _tails(sweep: Sweep, row: int, percentiles: Sequence[float]) -> list[float]:
    """Percentiles of the mean over ranks of each iteration, as OSU takes them."""
    samples = sweep.samples(row)
    if not samples.size:
        return [float("nan")] * len(percentiles)
    return [float(value) for value in np.percentile(samples.mean(axis=0), percentiles)]
