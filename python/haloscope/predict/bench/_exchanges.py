"""Exchanges of a stencil, with and without the protocol layer by turns: measured, and printed."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from haloscope.base.errors import HaloscopeError, LaunchError, UsageError
from haloscope.predict.bench._stream import Stopped, stream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from numpy.typing import NDArray

    from haloscope.predict.bench._mpi_library import Library

    Floats = NDArray[np.float64]

__all__ = ["PARTS", "Method", "Result", "Series", "measure", "write"]

PARTS = {"stencil": ("total", "inter", "intra"), "overlap": ("communication", "computation", "both")}
_LARGE = 8193  # bytes, from where on OSU takes fewer iterations
_MOST = (1 << 31) - 1  # MPI counts elements in an int
_RESAMPLES = 1000


@dataclass(frozen=True)
class Method:
    """How it is measured. Without iterations or warm-ups they are OSU's."""

    test: str
    sizes: Sequence[int]
    ranks: int
    dims: int = 3
    periodic: bool = False
    iterations: int | None = None
    warmup: int | None = None
    pause: float = 0.0
    test_every: float = 0.0
    late: bool = False
    memory: str = "alloc"
    null_buffers: bool = False
    protocol: str | None = None
    layers: tuple[str, ...] = ("off",)
    rounds: int = 1
    limit: float = 60.0

    def checked(self) -> Method:
        """Itself. Raises `UsageError` for what cannot be."""
        if self.ranks < 2:
            raise UsageError(f"{self.ranks} rank has no neighbours: give 2 or more with -n")
        if max(self.sizes) > _MOST:
            raise UsageError(f"{max(self.sizes)} bytes are more than an MPI call can count")
        if "on" not in self.layers and (self.protocol or self.null_buffers):
            raise UsageError("protocols and NULL buffers are the layer's: add --layer on or both")
        return self

    def words(self, layer: str) -> list[str]:
        """The program's options."""
        small, large = (self.iterations or 1000, self.iterations or 100)
        warm = (100, 10) if self.warmup is None else (self.warmup, self.warmup)
        values: dict[str, Any] = {
            "test": self.test,
            "sizes": ",".join(map(str, self.sizes)),
            "threshold": _LARGE,
            "dims": self.dims,
            "periodic": int(self.periodic),
            "iterations": small,
            "large-iterations": large,
            "warmup": warm[0],
            "large-warmup": warm[1],
            "pause": self.pause,
            "test-every": self.test_every,
            "late": int(self.late),
            "memory": "alloc" if self.memory == "alloc" else "malloc",
            "null-buffers": int(self.null_buffers and layer == "on"),
        }
        return [word for name, value in values.items() for word in (f"--{name}", str(value))]

    def command(self, library: Library, layer: str, record: Path) -> list[str]:
        """What starts the program, below the layer or without it."""
        program = [str(library.program("stencil")), *self.words(layer)]
        launch = library.launch(program, self.ranks, {})
        if layer == "off":
            return launch
        options = ["--quiet", "--record", str(record)]
        options += ["--protocol", self.protocol] if self.protocol else []
        options += ["--share-heap"] if self.memory == "share-heap" else []
        return [sys.executable, "-m", "haloscope.cli", "stencil", *options, "--", *launch]


@dataclass(frozen=True)
class Series:
    """Exchanges of one size: for each part seconds, rounds × iterations."""

    layer: str
    bytes: int
    samples: Mapping[str, Floats]

    def figures(self) -> dict[str, tuple[float, float, float]]:
        """Medians and what follows from them, each with its 95 % bootstrap interval.

        Parts of one turn, or rounds, are drawn together.
        """
        values = np.stack([_summarised(one) for one in self.samples.values()])
        random = np.random.default_rng(0)
        drawn = random.integers(values.shape[1], size=(_RESAMPLES, values.shape[1]))
        resampled = np.median(values[:, drawn], axis=2)
        middle = _derived(tuple(self.samples), np.median(values, axis=1))
        spread = _derived(tuple(self.samples), resampled)
        return {name: (float(middle[name]), *_interval(spread[name])) for name in middle}


@dataclass(frozen=True)
class Result:
    """All that was measured."""

    method: Method
    library: str
    sides: tuple[int, ...]
    nodes: int
    series: Sequence[Series]

    def gains(self) -> dict[int, tuple[float, float, float]]:
        """For each size the time without the layer over that with it, of rounds side by side."""
        part = PARTS[self.method.test][2 if self.method.test == "overlap" else 0]
        by_layer = {
            layer: {one.bytes: one.samples[part] for one in self.series if one.layer == layer}
            for layer in ("off", "on")
        }
        found = {}
        for size in sorted(by_layer["off"].keys() & by_layer["on"].keys()):
            medians = [np.median(by_layer[layer][size], axis=1) for layer in ("off", "on")]
            ratios = medians[0] / medians[1]
            random = np.random.default_rng(0)
            drawn = np.median(random.choice(ratios, (_RESAMPLES, len(ratios))), axis=1)
            found[size] = (float(np.median(ratios)), *_interval(drawn))
        return found


def measure(
    library: Library,
    method: Method,
    step: Callable[[str], None] = lambda what: None,
    build_layer: Callable[[Sequence[str]], object] = lambda command: None,
) -> Result:
    """Measure launch after launch, layers by turns. Raises `LaunchError` if one does not end well.

    `build_layer` gets the launch command before the first launch with the layer, as building it
    may take longer than a launch may be silent.
    """
    collected: dict[tuple[str, int], list[dict[str, list[float]]]] = {}
    start: Mapping[str, Any] = {}
    if "on" in method.layers:
        build_layer(library.launch([str(library.program("stencil"))], method.ranks, {}))
    with TemporaryDirectory() as place:
        for layer in method.layers * method.rounds:
            step(f"layer {layer}")
            command = method.command(library, layer, Path(place) / "stencil.csv")
            records = _records(command, method)
            start = records[0]
            for record in records[1:]:
                parts = {name: record[name] for name in _existing(method, start)}
                collected.setdefault((layer, record["bytes"]), []).append(parts)
    series = [
        Series(layer, size, {name: np.array([one[name] for one in rounds]) * 1e-9 for name in rounds[0]})
        for (layer, size), rounds in collected.items()
    ]
    series.sort(key=lambda one: (method.layers.index(one.layer), one.bytes))
    return Result(method, library.name, tuple(start["sides"]), start["nodes"], series)


def _existing(method: Method, start: Mapping[str, Any]) -> list[str]:
    """Parts that there are neighbours for."""
    lacking = set()
    if start["intra"] == 0:
        lacking.add("intra")
    if start["intra"] == start["messages"]:
        lacking.add("inter")
    return [part for part in PARTS[method.test] if part not in lacking]


def _records(command: Sequence[str], method: Method) -> list[dict[str, Any]]:
    try:
        with closing(stream(command, os.environ, method.limit)) as running:
            records = list(running)
    except Stopped as stopped:
        raise LaunchError(f"nothing was measured: {stopped.reason}") from None
    for record in records:
        if record["record"] == "error":
            raise HaloscopeError(record["text"])
        if not record.get("right", True):
            raise HaloscopeError(f"messages of {record['bytes']} bytes arrived with wrong contents")
    if len(records) != 1 + len(method.sizes) or records[0]["record"] != "start":
        raise LaunchError(f"{command[0]} brought {len(records)} records: see what it prints itself")
    if np.prod(records[0]["sides"]) != method.ranks:
        raise LaunchError(f"{command[0]} started each rank alone: it belongs to another MPI")
    return records


def _summarised(samples: Floats) -> Floats:
    """Iterations of one round, or the medians of several."""
    return samples[0] if len(samples) == 1 else np.asarray(np.median(samples, axis=1))


def _interval(resampled: Floats) -> tuple[float, float]:
    low, high = np.percentile(resampled, [2.5, 97.5])
    return float(low), float(high)


def _derived(names: Sequence[str], medians: Floats) -> dict[str, Floats]:
    found = dict(zip(names, medians, strict=True))
    if "total" in found:
        ideal = np.max([found[name] for name in names if name != "total"], axis=0)
        return {**found, "ideal": ideal, "ratio": found["total"] / ideal}
    hidden = 1 - (found["both"] - found["computation"]) / found["communication"]
    return {**found, "overlap": np.clip(100 * hidden, 0, 100)}


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
