"""Output of measured halo exchanges: tables, and every sample for programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np

from haloscope.base.units import noun_text
from haloscope.predict.bench.foreign import format_osu_line
from haloscope.predict.bench.halo_exchange import HaloResult, Series

# Values are in microseconds, unless a name has a different unit.
_COLUMNS = {
    "total": "Total (us)",
    "inter": "Inter (us)",
    "intra": "Intra (us)",
    "ideal": "Ideal (us)",
    "ratio": "Total/ideal",
    "communication": "Exchange (us)",
    "computation": "Compute (us)",
    "both": "Overall (us)",
    "overlap": "Overlap (%)",
}
# Figures whose intervals are printed.
_STATED = ("ratio", "overlap")


def write_halo(result: HaloResult, form: str, full: bool, to: TextIO) -> None:
    """Print it as a table, or for programs with every sample."""
    if form == "json":
        lines = (json.dumps(_make_record(result, series)) for series in result.series)
        to.write("[" + ",\n ".join(lines) + "]\n")
    elif form == "csv":
        writer = csv.writer(to, lineterminator="\n")
        writer.writerow(["test", "shm", "bytes", "part", "round", "sample", "time"])
        for series in result.series:
            writer.writerows(_list_samples(result, series))
    else:
        to.writelines(f"{line}\n" for line in _list_lines(result, full))


def _list_samples(result: HaloResult, series: Series) -> Iterator[list[object]]:
    for part, rounds in series.samples.items():
        for (number, sample), time in np.ndenumerate(rounds):
            yield [result.method.test, series.shm, series.bytes, part, number, sample, _round_digits(time)]


def _make_record(result: HaloResult, series: Series) -> dict[str, Any]:
    method = result.method
    has_shm = series.shm == "on"
    record = {
        "test": method.test,
        "library": result.library,
        "ranks": method.ranks,
        "nodes": result.nodes,
        "sides": list(result.sides),
        "shm": series.shm,
        "protocol": method.protocol if has_shm else None,
        "memory": method.memory,
        "null_buffers": method.null_buffers and has_shm,
        "late": method.late,
        "bytes": series.bytes,
        "rounds": method.rounds,
        "iterations": next(iter(series.samples.values())).shape[1],
    }
    for name, (value, low, high) in series.figures().items():
        record |= {
            name: _round_digits(value),
            f"{name}_low": _round_digits(low),
            f"{name}_high": _round_digits(high),
        }
    samples = {part: [list(map(_round_digits, row)) for row in v] for part, v in series.samples.items()}
    return {**record, "samples": samples}


def _list_lines(result: HaloResult, full: bool) -> Iterator[str]:
    method = result.method
    command = f"haloscope bench halo{' --overlap' if method.test == 'overlap' else ''}"
    grid = " × ".join(map(str, result.sides))
    nodes = noun_text(result.nodes, "node")
    for shm in method.shm:
        matching = [series for series in result.series if series.shm == shm]
        about = f"{grid} ranks on {nodes}, {result.library}, shm {shm}"
        yield f"# {command}: {about}"
        columns = _list_columns(matching[0], full)
        yield format_osu_line("# Size", columns, columns)
        for series in matching:
            yield format_osu_line(series.bytes, columns, _list_cells(series, full))
            if series.is_contradictory():
                yield (
                    f"# {series.bytes} bytes: the total is below the ideal, which it includes: other "
                    "programs or shaped links disturbed it; repeat it with more rounds, or with a pause"
                )
    if len(method.shm) > 1:
        yield f"# {command}: time without the shm library over time with it"
        columns = ["Off/on", "From", "To"]
        yield format_osu_line("# Size", columns, columns)
        for size, gain in result.gains().items():
            yield format_osu_line(size, columns, [f"{value:.3f}" for value in gain])


def _list_columns(series: Series, full: bool) -> list[str]:
    words = []
    for name in series.figures():
        words += [_COLUMNS[name], *(["From", "To"] if name in _STATED else [])]
    return words + (["Min (us)", "Max (us)", "Iterations"] if full else [])


def _list_cells(series: Series, full: bool) -> list[str]:
    words = []
    for name, (value, low, high) in series.figures().items():
        if name in _STATED:
            words += [f"{each:.3f}" for each in (value, low, high)]
        else:
            words.append(f"{1e6 * value:.2f}")
    if full:
        first = next(iter(series.samples.values()))
        words += [f"{1e6 * first.min():.2f}", f"{1e6 * first.max():.2f}", str(first.size)]
    return words


def _round_digits(value: float) -> float:
    return float(f"{value:.6g}")
