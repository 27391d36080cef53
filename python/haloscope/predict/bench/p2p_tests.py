"""Measurements of messages between two cores, point by point."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from haloscope.base.errors import HaloscopeError, LaunchError, UsageError
from haloscope.base.units import noun_text
from haloscope.predict.bench.library_in_use import library
from haloscope.predict.bench.measured import fit_machine
from haloscope.predict.bench.output_stream import Stopped, stream
from haloscope.predict.bench.p2p_points import Failure, P2pPoint
from haloscope.predict.bench.surroundings import describe_environment, find_free_memory
from haloscope.predict.bench.system import BenchSystem, Pair, find_launcher, leaf_switches, topology
from haloscope.predict.lines import fit_pieces
from haloscope.predict.machine import Machine
from haloscope.predict.progress import Remark, ignore_text

# OSU's names; `overhead` and `reduce` are for LogGP, PLogP and the cost of arithmetic.
P2P_TESTS = ("latency", "bw", "bibw", "mbw_mr", "overhead", "reduce")
_FOR_MODEL = ("latency", "bw", "bibw", "overhead", "reduce")
_WINDOWED = ("bw", "bibw", "mbw_mr")
_LARGE = 8193  # bytes from which OSU takes fewer iterations
# Iterations and warm-ups of small and of large messages.
_FEW = ((100, 10), (20, 2))
_MANY = ((1000, 100), (100, 10))
_ALIKE = 1.25  # largest ratio of the medians of two launches of an unchanged machine
_MOST = (1 << 31) - 1  # MPI counts elements in an int


@dataclass(frozen=True)
class P2pMethod:
    """The method by which each point is measured.

    Attributes:
        sizes: Bytes of a message.
        iterations: Number of measured iterations; None: that of OSU for the test and size.
        warmup: Number of iterations before the measured ones; None: that of OSU.
        window: Number of concurrent messages of `bw`, `bibw` and `mbw_mr`.
        check: Whether received data are compared with sent data.
    """

    sizes: tuple[int, ...] = tuple(1 << power for power in range(23))
    iterations: int | None = None
    warmup: int | None = None
    window: int = 64
    datatype: str = "mpi_char"
    """Datatype of messages: `mpi_char`, `mpi_int` or `mpi_float`."""
    check: bool = False
    time_limit: float = 60.0
    """Time without a result after which a launch is ended (s)."""
    memory: int = 1 << 29
    """Largest size of the buffers of a rank (bytes)."""
    for_model: bool = False
    """Whether more sizes are measured where the slope of the latency changes."""

    def check_sizes(self) -> P2pMethod:
        """Return this method.

        Raises:
            UsageError: A size cannot be measured.
        """
        if not self.sizes:
            raise UsageError("no sizes to measure; the default is -m 1:4194304")
        largest, width = max(self.sizes), 1 if self.datatype == "mpi_char" else 4
        if largest // width > _MOST:
            raise UsageError(f"{largest} bytes are more elements than an MPI call can count")
        free = find_free_memory()
        if 2 * largest > self.memory:
            raise UsageError(
                f"messages of {largest} bytes need {2 * largest} bytes of buffers in each rank, "
                f"more than {self.memory}: give smaller messages (-m), or raise P2pMethod.memory in Python"
            )
        if 4 * largest > free:
            raise UsageError(
                f"messages of {largest} bytes need {4 * largest} bytes of buffers, "
                f"but {free} are free: lower -m"
            )
        if min(self.sizes) < width:
            raise UsageError(f"a message of this type has at least {width} bytes; see -m")
        return self

    def words(self, test: str) -> list[str]:
        """Return the options of the program."""
        small, large = _FEW if test in _WINDOWED else _MANY
        if test == "overhead":
            large = _FEW[0]
        pairs = {
            "tests": test,
            "sizes": ",".join(map(str, self.sizes)),
            "iterations": self.iterations or small[0],
            "warmup": small[1] if self.warmup is None else self.warmup,
            "large-iterations": self.iterations or large[0],
            "large-warmup": large[1] if self.warmup is None else self.warmup,
            "threshold": _LARGE,
            "window": self.window,
            "type": self.datatype,
            "check": int(self.check),
        }
        return [word for name, value in pairs.items() for word in (f"--{name}", str(value))]


@dataclass
class P2pMeasured:
    """The results of `bench_p2p`, and the measured system."""

    system: BenchSystem
    points: list[P2pPoint] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    interrupted: bool = False
    """Whether Ctrl-C ended the measurement early; all finished points are there."""

    def machine(self, name: str) -> Machine:
        """Fit a machine model to the points.

        Raises:
            MachineError: The latency between the farthest cores was not measured.
        """
        about = describe_environment(self.system.library.name, "", {})
        cores = noun_text(len(self.system.topology.cores), "core")
        source = f"haloscope {about['haloscope']} bench p2p, {self.system.library.name}, {about['date'][:10]}"
        description = f"{about['host']}: {self.system.nodes} × {cores}, {about['processor']}"
        return fit_machine(name, self.system, self.points, description, source)


def bench_p2p(
    tests: Sequence[str] = (),
    method: P2pMethod | None = None,
    *,
    pairs: Sequence[tuple[int, int]] = (),
    all_pairs: bool = False,
    nodes: int = 1,
    launcher: Sequence[str] = (),
    each: Callable[[P2pMeasured, P2pPoint], None] = lambda measured, point: None,
    remark: Remark = ignore_text,
) -> P2pMeasured:
    """Measure messages between pairs of cores with the MPI in use.

    Args:
        tests: Names of `P2P_TESTS`; empty: `latency`, or with `method.for_model` all tests that a machine
            model needs.
        method: The method; None: `P2pMethod()`.
        pairs: Pairs of cores, numbered as by hwloc over all nodes; empty: core 0 and one core of each level
            of the topology.
        all_pairs: Whether to measure the latency between every two cores as well.
        nodes: Number of nodes.
        launcher: The command that starts ranks, with its options, such as
            `["mpiexec", "--hostfile", "hosts"]`; empty: that of the MPI.
        each: Is called with the results so far and each new point.
        remark: Receives remarks about the topology, one line each.

    Returns:
        The points (times in seconds). Failed pairs are in `failures`.

    Raises:
        UsageError: A test or size cannot be measured.
        LaunchError: The launcher fails, or does not start the requested ranks.

    Examples:
        >>> measured = haloscope.bench_p2p(["latency", "bw"], P2pMethod(sizes=(8, 1 << 20)))
        >>> print([(point.test, point.bytes, point.median) for point in measured.points])
    """
    method = (method or P2pMethod()).check_sizes()
    unknown = [name for name in tests if name not in P2P_TESTS]
    if unknown:
        raise UsageError(f"{unknown[0]!r} is not one of {', '.join(P2P_TESTS)}")
    results = P2pMeasured(_open_system(nodes, launcher, method, remark))
    chosen = [results.system.pair(*pair) for pair in pairs] or results.system.representatives()
    names = list(tests) or list(_FOR_MODEL if method.for_model else ("latency",))
    try:
        for result in _measure_all(results.system, names, chosen, method, all_pairs):
            if isinstance(result, Failure):
                results.failures.append(result)
            else:
                results.points.append(result)
                each(results, result)
    except KeyboardInterrupt:
        results.interrupted = True
    return results


def _open_system(nodes: int, launcher: Sequence[str], method: P2pMethod, remark: Remark) -> BenchSystem:
    launcher = find_launcher(launcher)
    found = topology()
    for line in found.remarks:
        remark(line)
    return find_switches(BenchSystem(found, library(launcher), nodes, launcher), method.time_limit)


def _measure_all(
    system: BenchSystem, tests: Sequence[str], pairs: Sequence[Pair], method: P2pMethod, matrix: bool
) -> Iterator[P2pPoint | Failure]:
    for test in tests:
        # Tests of a single core are measured once.
        several = pairs[:1] if test == "reduce" else pairs
        points = []
        for point in measure_p2p(system, test, several, method):
            if isinstance(point, P2pPoint):
                points.append(point)
            yield point
        if test == "latency" and method.for_model:
            yield from refine_slopes(system, points, method)
    if matrix:
        yield from measure_all_pairs(system, method)


def measure_p2p(
    system: BenchSystem, test: str, pairs: Sequence[Pair], method: P2pMethod
) -> Iterator[P2pPoint | Failure]:
    """Yield points as they are measured: one launch per pair; `mbw_mr` measures all pairs in one launch."""
    if test == "mbw_mr" and len(pairs) > 1:
        yield from _catch_failure(_measure_pairs(system, pairs, method), test, pairs[0])
        return
    for pair in pairs:
        yield from _catch_failure(_measure_pair(system, test, pair, method), test, pair)


def _catch_failure(points: Iterator[P2pPoint], test: str, pair: Pair) -> Iterator[P2pPoint | Failure]:
    try:
        yield from points
    except Stopped as stopped:
        yield Failure(test, pair, stopped.reason)


def _measure_pair(system: BenchSystem, test: str, pair: Pair, method: P2pMethod) -> Iterator[P2pPoint]:
    for record in _read_points(system.make_pair_command(pair, method.words(test)), method):
        yield _make_point(record, pair)


def _measure_pairs(system: BenchSystem, pairs: Sequence[Pair], method: P2pMethod) -> Iterator[P2pPoint]:
    cores = [core for pair in pairs for core in (pair.first, pair.second)]
    if len(set(cores)) < len(cores):
        raise UsageError("pairs that send at the same time must not share a core; see --pair")
    command = system.make_command(pairs, method.words("mbw_mr"))
    for record in _read_points(command, method):
        yield replace(_make_point(record, pairs[0]), pairs=len(pairs))


def refine_slopes(
    system: BenchSystem, points: Sequence[P2pPoint], method: P2pMethod
) -> Iterator[P2pPoint | Failure]:
    """Yield latencies at sizes near the changes of slope of `points`, for each pair.

    The sizes on both sides of a change are measured again. If their latencies differ now, the machine has
    changed, and the new points are omitted.
    """
    for pair in dict.fromkeys(point.pair for point in points):
        own = sorted((point for point in points if point.pair == pair), key=lambda point: point.bytes)
        known = {point.bytes: point.median for point in own}
        for piece in fit_pieces(list(known), list(known.values()))[1:]:
            ends = (piece.before, piece.first)
            more = sorted({*_divide_gap(*ends), *ends})
            again = list(measure_p2p(system, "latency", [pair], replace(method, sizes=tuple(more))))
            now = {point.bytes: point.median for point in again if isinstance(point, P2pPoint)}
            if all(size in now and _are_alike(now[size], known[size]) for size in ends):
                again = [point for point in again if isinstance(point, Failure) or point.bytes not in ends]
                yield from again
            else:
                yield from (point for point in again if isinstance(point, Failure))


def _are_alike(first: float, second: float) -> bool:
    return max(first, second) <= _ALIKE * min(first, second)


def _divide_gap(low: int, high: int) -> list[int]:
    """Return sizes that divide a gap into eighths; multiples of 8 if the gap is large."""
    steps = [low + (high - low) * part // 8 for part in range(1, 8)]
    return [size // 8 * 8 if high - low >= 128 else size for size in steps]


def measure_all_pairs(system: BenchSystem, method: P2pMethod) -> Iterator[P2pPoint | Failure]:
    """Yield the latency of all pairs of cores, in one launch with a rank on each core."""
    smallest = replace(method, sizes=(min(method.sizes),))
    pairs = {(pair.first, pair.second): pair for pair in system.all_pairs()}
    command = system.make_command(list(pairs.values()), smallest.words("latency"))

    def points() -> Iterator[P2pPoint]:
        for record in _read_points(command, method):
            first, second = record["pair"]
            yield _make_point(record, pairs[first, second])

    yield from _catch_failure(points(), "latency", next(iter(pairs.values())))


def find_switches(system: BenchSystem, limit: float) -> BenchSystem:
    """Return the system with the switches of its nodes.

    Raises:
        LaunchError: The launcher does not start one rank on each node.
    """
    if system.nodes == 1:
        return system
    try:
        ranks = list(stream(system.make_host_command(), os.environ, limit))
    except Stopped as stopped:
        raise LaunchError(f"no ranks on {system.nodes} nodes: {stopped.reason}") from None
    hosts = {rank["host"] for rank in ranks}
    if len(ranks) != system.nodes or len(hosts) != system.nodes:
        raise LaunchError(
            f"the launcher started {noun_text(len(ranks), 'rank')} on {noun_text(len(hosts), 'node')} instead"
            " of "
            f"one on each of {system.nodes} nodes; give it the hosts, such as --nodes 2 -- mpiexec --hostfile"
            " HOSTS"
        )
    ranks.sort(key=lambda rank: rank["rank"])
    return replace(system, switches=leaf_switches(ranks))


def _read_points(command: Sequence[str], method: P2pMethod) -> Iterator[dict[str, Any]]:
    is_empty = True
    for record in stream(command, os.environ, method.time_limit):
        if record["record"] == "rank" and record["error"]:
            raise HaloscopeError(f"{record['host']}: {record['error']}")
        if record["record"] == "point":
            is_empty = False
            yield record
    if is_empty:
        raise Stopped("failed", f"{command[0]} printed no result")


def _make_point(record: Mapping[str, Any], pair: Pair) -> P2pPoint:
    return P2pPoint(
        record["test"],
        pair,
        record["bytes"],
        np.array(record["samples_ns"]) * 1e-9,
        record["batch"],
        np.array(record.get("receive_ns", [])) * 1e-9,
        record["valid"],
        record.get("clock_ns", 0.0) * 1e-9,
    )


# Its name in `import haloscope`.
p2p = bench_p2p
