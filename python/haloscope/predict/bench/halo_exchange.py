"""Halo exchanges, with and without the shm library alternately: measured, and printed."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

import numpy as np

from haloscope.base.arrays import Floats
from haloscope.base.errors import HaloscopeError, LaunchError, UsageError
from haloscope.predict.bench.library_in_use import library
from haloscope.predict.bench.output_stream import Stopped, stream
from haloscope.predict.bench.system import find_launcher
from haloscope.predict.mpi_library import Library
from haloscope.predict.progress import Progress, show_no_progress

PARTS = {"halo": ("total", "inter", "intra"), "overlap": ("communication", "computation", "both")}
_LARGE = 8193  # bytes, from where on OSU takes fewer iterations
_MOST = (1 << 31) - 1  # MPI counts elements in an int
_RESAMPLES = 1000


@dataclass(frozen=True)
class HaloMethod:
    """How halo exchanges are measured.

    `test` is `halo` or `overlap`, `sizes` are bytes to each neighbour, `ranks` as many as there
    are cores here if they are None. `dims` are the dimensions of the grid of ranks, which has no
    borders if it is `periodic`. `iterations` and `warmup` are OSU's if they are None. `shm` lists
    `off` (without the shm library), `on`, or both by turns; there are so many `rounds` of launches of
    each (None: 1, or 10 of both). `protocol` is that of the shm library instead of its own choice.
    `memory` is where buffers come from: `alloc` (MPI_Alloc_mem), `malloc`, or `share-heap`, which is
    malloc in memory that the shm library shares. With `null_buffers` the shm library owns the receive
    buffers. `pause` seconds pass before each exchange. Of `overlap`, `test_every` seconds of
    computation are between two calls of MPI_Testall (0: none is called), and `late` posts the
    receives after the computation.
    """

    test: str = "halo"
    sizes: Sequence[int] = tuple(1 << power for power in range(10, 24))
    ranks: int | None = None
    dims: int = 3
    periodic: bool = False
    iterations: int | None = None
    warmup: int | None = None
    pause: float = 0.0
    test_every: float = 1e-4
    late: bool = False
    memory: str = "alloc"
    null_buffers: bool = False
    protocol: str | None = None
    shm: tuple[str, ...] = ("off",)
    rounds: int | None = None
    time_limit: float = 60.0
    """Seconds without a result after which a launch is given up."""

    def checked(self) -> HaloMethod:
        """Return this method with what was None. Raises `UsageError` for what cannot be measured."""
        ranks = max(len(os.sched_getaffinity(0)), 2) if self.ranks is None else self.ranks
        if ranks < 2:
            raise UsageError(f"{ranks} rank has no neighbours: give 2 or more with -n")
        if max(self.sizes) > _MOST:
            raise UsageError(f"{max(self.sizes)} bytes are more than an MPI call can count")
        if "on" not in self.shm and (self.protocol or self.null_buffers):
            raise UsageError("protocols and NULL buffers are the shm library's: measure with it, too")
        rounds = self.rounds or (10 if len(self.shm) > 1 else 1)
        return replace(self, ranks=ranks, rounds=rounds)

    def words(self, shm: str) -> list[str]:
        """Return the program's options."""
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
            "test-every": self.test_every if self.test == "overlap" else 0,
            "late": int(self.late),
            "memory": "alloc" if self.memory == "alloc" else "malloc",
            "null-buffers": int(self.null_buffers and shm == "on"),
        }
        return [word for name, value in values.items() for word in (f"--{name}", str(value))]

    def command(self, library: Library, shm: str, record: Path) -> list[str]:
        """Return what starts the program, below the shm library or without it."""
        program = [str(library.program("stencil")), *self.words(shm)]
        launch = library.launch(program, self.ranks or 0, {})
        if shm == "off":
            return launch
        options = ["--quiet", "-o", str(record)]
        options += ["--share-heap"] if self.memory == "share-heap" else []
        # The shm library itself is measured, so it carries all that it can.
        chosen = [f"HALOSCOPE_SHM_PROTOCOL={self.protocol}"] if self.protocol else []
        carried = ["env", "HALOSCOPE_SHM_MEASURE=off", *chosen, sys.executable, "-m", "haloscope.cli", "shm"]
        return [*carried, *options, "--", *launch]


@dataclass(frozen=True)
class Series:
    """Exchanges of one size: for each part seconds, rounds × iterations."""

    shm: str
    bytes: int
    samples: Mapping[str, Floats]

    def figures(self) -> dict[str, tuple[float, float, float]]:
        """Return medians and what follows from them, each with its 95 % bootstrap interval.

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
class HaloResult:
    """All that was measured."""

    method: HaloMethod
    library: str
    sides: tuple[int, ...]
    nodes: int
    series: Sequence[Series]

    def gains(self) -> dict[int, tuple[float, float, float]]:
        """Return for each size the time without the shm library over that with it, and its interval."""
        part = PARTS[self.method.test][2 if self.method.test == "overlap" else 0]
        by_shm = {
            shm: {one.bytes: one.samples[part] for one in self.series if one.shm == shm}
            for shm in ("off", "on")
        }
        found = {}
        for size in sorted(by_shm["off"].keys() & by_shm["on"].keys()):
            medians = [np.median(by_shm[shm][size], axis=1) for shm in ("off", "on")]
            ratios = medians[0] / medians[1]
            random = np.random.default_rng(0)
            drawn = np.median(random.choice(ratios, (_RESAMPLES, len(ratios))), axis=1)
            found[size] = (float(np.median(ratios)), *_interval(drawn))
        return found


def bench_halo(
    method: HaloMethod | None = None,
    *,
    launcher: Sequence[str] = (),
    progress: Progress = show_no_progress,
    build_shm: Callable[[Sequence[str]], object] = lambda command: None,
) -> HaloResult:
    """Measure halo exchanges, or how much of them a computation hides, with the MPI in use.

    `launcher` is the command that starts ranks, with its options; without it the MPI's own.
    `build_shm` gets the launch command before the first launch with the shm library, as building
    it may take longer than a launch may be silent (`haloscope.hide.build_shm_library_for` does it).

    The samples of the result are seconds, rounds × iterations for each part. Raises `UsageError`
    for what cannot be measured, `LaunchError` if a launch does not end well.

        result = haloscope.bench_halo(HaloMethod(ranks=4, sizes=(1 << 20,)))
        print(result.series[0].figures()["ratio"])
    """
    method = (method or HaloMethod()).checked()
    ranks, turns = method.ranks or 2, method.rounds or 1
    offered = library(find_launcher(launcher))
    collected: dict[tuple[str, int], list[dict[str, list[float]]]] = {}
    start: Mapping[str, Any] = {}
    if "on" in method.shm:
        build_shm(offered.launch([str(offered.program("stencil"))], ranks, {}))
    with TemporaryDirectory() as place, progress(turns * len(method.shm)) as step:
        for shm in method.shm * turns:
            step(f"shm {shm}")
            records = _records(method.command(offered, shm, Path(place) / "shm.csv"), method)
            start = records[0]
            for record in records[1:]:
                parts = {name: record[name] for name in _existing(method, start)}
                collected.setdefault((shm, record["bytes"]), []).append(parts)
    series = [
        Series(shm, size, {name: np.array([one[name] for one in rounds]) * 1e-9 for name in rounds[0]})
        for (shm, size), rounds in collected.items()
    ]
    series.sort(key=lambda one: (method.shm.index(one.shm), one.bytes))
    return HaloResult(method, offered.name, tuple(start["sides"]), start["nodes"], series)


def _existing(method: HaloMethod, start: Mapping[str, Any]) -> list[str]:
    """Return parts that there are neighbours for."""
    lacking = set()
    if start["intra"] == 0:
        lacking.add("intra")
    if start["intra"] == start["messages"]:
        lacking.add("inter")
    return [part for part in PARTS[method.test] if part not in lacking]


def _records(command: Sequence[str], method: HaloMethod) -> list[dict[str, Any]]:
    try:
        with closing(stream(command, os.environ, method.time_limit)) as running:
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
    """Return iterations of one round, or the medians of several."""
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


def write_halo(result: HaloResult, form: str, full: bool, to: TextIO) -> None:
    """Print it as a table, or for programs with every sample."""
    if form == "json":
        lines = (json.dumps(_record(result, one)) for one in result.series)
        to.write("[" + ",\n ".join(lines) + "]\n")
    elif form == "csv":
        writer = csv.writer(to, lineterminator="\n")
        writer.writerow(["test", "shm", "bytes", "part", "round", "sample", "time"])
        for one in result.series:
            writer.writerows(_samples(result, one))
    else:
        to.writelines(f"{line}\n" for line in _table(result, full))


def _samples(result: HaloResult, one: Series) -> Iterator[list[object]]:
    for part, rounds in one.samples.items():
        for (number, sample), time in np.ndenumerate(rounds):
            yield [result.method.test, one.shm, one.bytes, part, number, sample, _plain(time)]


def _record(result: HaloResult, one: Series) -> dict[str, Any]:
    method = result.method
    on = one.shm == "on"
    record = {
        "test": method.test,
        "library": result.library,
        "ranks": method.ranks,
        "nodes": result.nodes,
        "sides": list(result.sides),
        "shm": one.shm,
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


def _table(result: HaloResult, full: bool) -> Iterator[str]:
    method = result.method
    command = f"haloscope bench halo{' --overlap' if method.test == 'overlap' else ''}"
    grid = " × ".join(map(str, result.sides))
    nodes = f"{result.nodes} node" + "s" * (result.nodes > 1)
    for shm in method.shm:
        series = [one for one in result.series if one.shm == shm]
        about = f"{grid} ranks on {nodes}, {result.library}, shm {shm}"
        yield f"# {command}: {about}"
        yield _line("# Size", _names(series[0], full))
        for one in series:
            yield _line(one.bytes, _cells(one, full))
    if len(method.shm) > 1:
        yield f"# {command}: time without the shm library over time with it"
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


# Its name in `import haloscope`.
halo = bench_halo
