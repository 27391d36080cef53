"""Measurement and output of halo exchanges, alternately with and without the shm library."""

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
from haloscope.base.units import noun_text
from haloscope.predict.bench.foreign import format_osu_line
from haloscope.predict.bench.library_in_use import library
from haloscope.predict.bench.output_stream import Stopped, stream
from haloscope.predict.bench.system import find_launcher
from haloscope.predict.mpi_library import Library
from haloscope.predict.progress import Progress, show_no_progress

PARTS = {"halo": ("total", "inter", "intra"), "overlap": ("communication", "computation", "both")}
_LARGE = 8193  # bytes from which OSU takes fewer iterations
_MOST = (1 << 31) - 1  # MPI counts elements in an int
_RESAMPLES = 1000


@dataclass(frozen=True)
class HaloMethod:
    """The method by which halo exchanges are measured.

    Attributes:
        test: `halo` or `overlap`.
        sizes: Bytes to each neighbour.
        ranks: Number of ranks; None: the number of cores of this machine.
        dims: Number of dimensions of the grid of ranks.
        periodic: Whether the grid of ranks is periodic.
        iterations: Number of measured iterations; None: that of OSU.
        warmup: Number of iterations before the measured ones; None: that of OSU.
        pause: Pause before each exchange (s).
        test_every: For `overlap`: computation between two calls of MPI_Testall (s); 0: no calls.
        late: For `overlap`: whether receives are posted after the computation.
        memory: Origin of buffers: `alloc` (MPI_Alloc_mem), `malloc`, or `share-heap` (malloc in memory that
            the shm library shares).
        null_buffers: Whether the shm library owns the receive buffers.
        protocol: Protocol of the shm library; None: its own choice.
        shm: `off` (without the shm library), `on`, or both alternately.
        rounds: Number of launches for each of `shm`; None: 1, or 10 for both.
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
    """Time without a result after which a launch is ended (s)."""

    def complete(self) -> HaloMethod:
        """Return this method with its defaults.

        Raises:
            UsageError: The method cannot be measured.
        """
        ranks = max(len(os.sched_getaffinity(0)), 2) if self.ranks is None else self.ranks
        if ranks < 2:
            raise UsageError(f"{noun_text(ranks, 'rank')}: no neighbours; give 2 or more with -n")
        if max(self.sizes) > _MOST:
            raise UsageError(f"{max(self.sizes)} bytes are more than an MPI call can count")
        if "on" not in self.shm and (self.protocol or self.null_buffers):
            raise UsageError("protocols and NULL buffers need the shm library: measure with it, too")
        rounds = self.rounds or (10 if len(self.shm) > 1 else 1)
        return replace(self, ranks=ranks, rounds=rounds)

    def words(self, shm: str) -> list[str]:
        """Return the options of the program."""
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
        """Return the command that starts the program, with or without the shm library."""
        program = [str(library.program("stencil")), *self.words(shm)]
        launch = library.launch(program, self.ranks or 0, {})
        if shm == "off":
            return launch
        options = ["--quiet", "-o", str(record)]
        options += ["--share-heap"] if self.memory == "share-heap" else []
        # The shm library is measured, so it copies all messages that it can.
        settings = [f"HALOSCOPE_SHM_PROTOCOL={self.protocol}"] if self.protocol else []
        prefix = ["env", "HALOSCOPE_SHM_MEASURE=off", *settings, sys.executable, "-m", "haloscope.cli", "shm"]
        return [*prefix, *options, "--", *launch]


@dataclass(frozen=True)
class Series:
    """Exchanges of one size: the times of each part (s), shape (rounds, iterations)."""

    shm: str
    bytes: int
    samples: Mapping[str, Floats]

    def figures(self) -> dict[str, tuple[float, float, float]]:
        """Return medians and derived figures, each with its 95 % bootstrap interval.

        Parts of one iteration or round are resampled together.
        """
        values = np.stack([_reduce_rounds(series) for series in self.samples.values()])
        random = np.random.default_rng(0)
        drawn = random.integers(values.shape[1], size=(_RESAMPLES, values.shape[1]))
        resampled = np.median(values[:, drawn], axis=2)
        middle = _derive_figures(tuple(self.samples), np.median(values, axis=1))
        spread = _derive_figures(tuple(self.samples), resampled)
        return {name: (float(middle[name]), *_percentile_interval(spread[name])) for name in middle}


@dataclass(frozen=True)
class HaloResult:
    """The results of `bench_halo`."""

    method: HaloMethod
    library: str
    sides: tuple[int, ...]
    nodes: int
    series: Sequence[Series]

    def gains(self) -> dict[int, tuple[float, float, float]]:
        """Return, by size, the time without the shm library divided by that with it, and its interval."""
        part = PARTS[self.method.test][2 if self.method.test == "overlap" else 0]
        by_shm = {
            shm: {series.bytes: series.samples[part] for series in self.series if series.shm == shm}
            for shm in ("off", "on")
        }
        found = {}
        for size in sorted(by_shm["off"].keys() & by_shm["on"].keys()):
            medians = [np.median(by_shm[shm][size], axis=1) for shm in ("off", "on")]
            ratios = medians[0] / medians[1]
            random = np.random.default_rng(0)
            drawn = np.median(random.choice(ratios, (_RESAMPLES, len(ratios))), axis=1)
            found[size] = (float(np.median(ratios)), *_percentile_interval(drawn))
        return found


def bench_halo(
    method: HaloMethod | None = None,
    *,
    launcher: Sequence[str] = (),
    progress: Progress = show_no_progress,
    build_shm: Callable[[Sequence[str]], object] = lambda command: None,
) -> HaloResult:
    """Measure halo exchanges, or their overlap with computation, with the MPI in use.

    Args:
        method: The method; None: `HaloMethod()`.
        launcher: The command that starts ranks, with its options; empty: that of the MPI.
        progress: Receives the number of launches, and a text per launch.
        build_shm: Is called with the launch command before the first launch with the shm library, to build
            it (`haloscope.hide.build_shm_library_for`), which may take longer than the time limit.

    Returns:
        The times of each part (s), shape (rounds, iterations).

    Raises:
        UsageError: The method cannot be measured.
        LaunchError: A launch fails.

    Examples:
        >>> result = haloscope.bench_halo(HaloMethod(ranks=4, sizes=(1 << 20,)))
        >>> print(result.series[0].figures()["ratio"])
    """
    method = (method or HaloMethod()).complete()
    ranks, turns = method.ranks or 2, method.rounds or 1
    offered = library(find_launcher(launcher))
    collected: dict[tuple[str, int], list[dict[str, list[float]]]] = {}
    start: Mapping[str, Any] = {}
    if "on" in method.shm:
        build_shm(offered.launch([str(offered.program("stencil"))], ranks, {}))
    with TemporaryDirectory() as directory, progress(turns * len(method.shm)) as step:
        for shm in method.shm * turns:
            step(f"shm {shm}")
            records = _read_records(method.command(offered, shm, Path(directory) / "shm.csv"), method)
            start = records[0]
            for record in records[1:]:
                parts = {name: record[name] for name in _list_parts(method, start)}
                collected.setdefault((shm, record["bytes"]), []).append(parts)
    series = [
        Series(shm, size, {name: np.array([record[name] for record in rounds]) * 1e-9 for name in rounds[0]})
        for (shm, size), rounds in collected.items()
    ]
    series.sort(key=lambda series: (method.shm.index(series.shm), series.bytes))
    return HaloResult(method, offered.name, tuple(start["sides"]), start["nodes"], series)


def _list_parts(method: HaloMethod, start: Mapping[str, Any]) -> list[str]:
    """Return the parts for which ranks have neighbours."""
    absent = set()
    if start["intra"] == 0:
        absent.add("intra")
    if start["intra"] == start["messages"]:
        absent.add("inter")
    return [part for part in PARTS[method.test] if part not in absent]


def _read_records(command: Sequence[str], method: HaloMethod) -> list[dict[str, Any]]:
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
        raise LaunchError(f"{command[0]} printed {noun_text(len(records), 'record')}: see its own output")
    if np.prod(records[0]["sides"]) != method.ranks:
        raise LaunchError(f"{command[0]} started each rank alone: it belongs to another MPI")
    return records


def _reduce_rounds(samples: Floats) -> Floats:
    """Return the iterations of a single round, or the medians of several rounds."""
    return samples[0] if len(samples) == 1 else np.asarray(np.median(samples, axis=1))


def _percentile_interval(resampled: Floats) -> tuple[float, float]:
    low, high = np.percentile(resampled, [2.5, 97.5])
    return float(low), float(high)


def _derive_figures(names: Sequence[str], medians: Floats) -> dict[str, Floats]:
    found = dict(zip(names, medians, strict=True))
    if "total" in found:
        ideal = np.max([found[name] for name in names if name != "total"], axis=0)
        return {**found, "ideal": ideal, "ratio": found["total"] / ideal}
    hidden = 1 - (found["both"] - found["computation"]) / found["communication"]
    return {**found, "overlap": np.clip(100 * hidden, 0, 100)}


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


# Its name in `import haloscope`.
halo = bench_halo
