"""Exchanges of a stencil as a table, as rows, and as records."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from haloscope.predict.bench._exchanges import Result, Series

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

__all__ = ["write"]

# What is not in microseconds has another unit in its name.
_COLUMNS = {
    "total": "Total (us)",
    "inter": "Inter-only (us)",
    "intra": "Intra-only (us)",
    "ideal": "Ideal (us)",
    "ratio": "Total/ideal",
    "communication": "Exchange (us)",
    "computation": "Compute (us)",
    "both": "Overall (us)",
    "overlap": "Overlap (%)",
}
# Figures whose intervals are printed.
_STATED = ("ratio", "overlap")


def write(result: Result, form: str, full: bool, to: TextIO) -> None:
    """Print it as a table, or for programs with every sample."""
    if form == "json":
        lines = (json.dumps(_record(result, one)) for one in result.series)
        to.write("[" + ",\n ".join(lines) + "]\n")
    elif form == "csv":
        writer = csv.writer(to, lineterminator="\n")
        writer.writerow(["test", "layer", "bytes", "part", "round", "sample", "time"])
        for one in result.series:
            writer.writerows(_samples(result, one))
    else:
        to.writelines(f"{line}\n" for line in _table(result, full))


def _samples(result: Result, one: Series) -> Iterator[list[object]]:
    for part, rounds in one.samples.items():
        for (number, sample), time in np.ndenumerate(rounds):
            yield [result.method.test, one.layer, one.bytes, part, number, sample, _plain(time)]


def _record(result: Result, one: Series) -> dict[str, Any]:
    method = result.method
    on = one.layer == "on"
    record = {
        "test": method.test,
        "library": result.library,
        "ranks": method.ranks,
        "nodes": result.nodes,
        "sides": list(result.sides),
        "layer": one.layer,
        "protocol": method.protocol if on else None,
        "memory": method.memory,
        "null_buffers": method.null_buffers and on,
        "late": method.late,
        "bytes": one.bytes,
        "rounds": method.rounds,
        "iterations": next(iter(one.samples.values())).shape[1],
    }
    for name, (value, low, high) in one.figures().items():
        record |= {name: _plain(value), f"{name}_low": _plain(low), f"{name}_high": _plain(high)}
    samples = {part: [list(map(_plain, row)) for row in v] for part, v in one.samples.items()}
    return {**record, "samples": samples}


def _table(result: Result, full: bool) -> Iterator[str]:
    method = result.method
    grid = " × ".join(map(str, result.sides))
    nodes = f"{result.nodes} node" + "s" * (result.nodes > 1)
    for layer in method.layers:
        series = [one for one in result.series if one.layer == layer]
        about = f"{grid} ranks on {nodes}, {result.library}, layer {layer}"
        yield f"# haloscope bench {method.test}: {about}"
        yield _line("# Size", _names(series[0], full))
        for one in series:
            yield _line(one.bytes, _cells(one, full))
    if len(method.layers) > 1:
        yield f"# haloscope bench {method.test}: time without the layer over time with it"
        yield _line("# Size", ["Off/on", "From", "To"])
        for size, gain in result.gains().items():
            yield _line(size, [f"{value:.3f}" for value in gain])


def _names(one: Series, full: bool) -> list[str]:
    words = []
    for name in one.figures():
        words += [_COLUMNS[name], *(["From", "To"] if name in _STATED else [])]
    return words + (["Min (us)", "Max (us)", "Iterations"] if full else [])


def _cells(one: Series, full: bool) -> list[str]:
    words = []
    for name, (value, low, high) in one.figures().items():
        if name in _STATED:
            words += [f"{each:.3f}" for each in (value, low, high)]
        else:
            words.append(f"{1e6 * value:.2f}")
    if full:
        first = next(iter(one.samples.values()))
        words += [f"{1e6 * first.min():.2f}", f"{1e6 * first.max():.2f}", str(first.size)]
    return words


def _line(first: object, cells: list[str]) -> str:
    return f"{first:<10}" + "".join(f"{cell:>17}" for cell in cells)


def _plain(value: float) -> float:
    return float(f"{value:.6g}")
