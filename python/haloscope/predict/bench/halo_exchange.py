"""Measurement of halo exchanges, alternately with and without the shm library."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from haloscope.base.arrays import Floats
from haloscope.base.errors import HaloscopeError, LaunchError, UsageError
from haloscope.base.units import noun_text
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
        """Return medians, each with its 95 % bootstrap interval.

        The ideal, the total over the ideal and the overlap are computed for each turn, so that a change of
        the speed between turns has no effect on them.
        """
        values = {name: _reduce_rounds(series) for name, series in _derive_samples(self.samples).items()}
        count = len(next(iter(values.values())))
        drawn = np.random.default_rng(0).integers(count, size=(_RESAMPLES, count))
        found = {}
        for name, each in values.items():
            medians = np.array([np.median(each), *np.median(each[drawn], axis=1)])
            if name == "overlap":
                medians = np.clip(medians, 0, 100)
            found[name] = (float(medians[0]), *_percentile_interval(medians[1:]))
        return found

    def is_contradictory(self) -> bool:
        """Return whether the total is surely below the ideal, which it includes: the parts were disturbed."""
        figures = self.figures()
        return "ratio" in figures and figures["ratio"][2] < 1


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


def _derive_samples(samples: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the samples, and the figures that follow from the samples of a turn."""
    if "total" in samples:
        ideal = np.max([values for name, values in samples.items() if name != "total"], axis=0)
        return {**samples, "ideal": ideal, "ratio": samples["total"] / ideal}
    hidden = 1 - (samples["both"] - samples["computation"]) / samples["communication"]
    return {**samples, "overlap": 100 * hidden}


# Its name in `import haloscope`.
halo = bench_halo
