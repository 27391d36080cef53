"""Messages between two cores: what is measured, point by point, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from haloscope.base.errors import HaloscopeError, LaunchError, UsageError
from haloscope.predict.bench.library_in_use import library
from haloscope.predict.bench.measured import machine
from haloscope.predict.bench.output_stream import Stopped, stream
from haloscope.predict.bench.p2p_points import Failure, P2pPoint
from haloscope.predict.bench.surroundings import free_memory, surroundings
from haloscope.predict.bench.system import BenchSystem, Pair, launcher_of, leaf_switches, topology
from haloscope.predict.lines import fit_pieces
from haloscope.predict.machine import Machine
from haloscope.predict.progress import Remark, ignore_text

# OSU's names; `overhead` and `reduce` are for LogGP, PLogP and the cost of arithmetic.
P2P_TESTS = ("latency", "bw", "bibw", "mbw_mr", "overhead", "reduce")
_FOR_MODEL = ("latency", "bw", "bibw", "overhead", "reduce")
_WINDOWED = ("bw", "bibw", "mbw_mr")
_LARGE = 8193  # bytes, from where on OSU takes fewer iterations
# Iterations and warm-ups of small and of large messages.
_FEW = ((100, 10), (20, 2))
_MANY = ((1000, 100), (100, 10))
_ALIKE = 1.25  # if medians of two launches differ by less, the machine has not changed
_MOST = (1 << 31) - 1  # MPI counts elements in an int


@dataclass(frozen=True)
class P2pMethod:
    """How each point is measured.

    `sizes` are bytes of a message. `iterations` and `warmup` are OSU's numbers for the test and the
    size if they are None, `window` is how many messages are under way at once in `bw`, `bibw` and
    `mbw_mr`. With `check` what arrives is compared with what was sent.
    """

    sizes: tuple[int, ...] = tuple(1 << power for power in range(23))
    iterations: int | None = None
    warmup: int | None = None
    window: int = 64
    datatype: str = "mpi_char"
    """What messages are made of: `mpi_char`, `mpi_int` or `mpi_float`."""
    check: bool = False
    time_limit: float = 60.0
    """Seconds without a result after which a launch is given up."""
    memory: int = 1 << 29
    """Bytes that a rank's buffers may have."""
    for_model: bool = False
    """More sizes are measured around those where the latency changes its slope."""

    def checked(self) -> P2pMethod:
        """Return this method. Raises `UsageError` for sizes that cannot be measured."""
        if not self.sizes:
            raise UsageError("there are no sizes to measure; -m 1:4194304 is the default")
        largest, width = max(self.sizes), 1 if self.datatype == "mpi_char" else 4
        if largest // width > _MOST:
            raise UsageError(f"{largest} bytes are more elements than an MPI call can count")
        free = free_memory()
        if 2 * largest > self.memory:
            raise UsageError(
                f"messages of {largest} bytes need {2 * largest} bytes of buffers in each rank, "
                f"more than {self.memory}: ask for smaller messages (-m), or raise P2pMethod.memory in Python"
            )
        if 4 * largest > free:
            raise UsageError(
                f"messages of {largest} bytes need {4 * largest} bytes of buffers, "
                f"and {free} are free: lower -m"
            )
        if min(self.sizes) < width:
            raise UsageError(f"a message has {width} bytes or more with this type; see -m")
        return self

    def words(self, test: str) -> list[str]:
        """Return the program's options."""
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
    """What `p2p` measured, and on what."""

    system: BenchSystem
    points: list[P2pPoint] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    interrupted: bool = False
    """True if Ctrl-C ended it early; the points are those that were finished."""

    def machine(self, name: str) -> Machine:
        """Return the machine model that is fitted to the points.

        Raises `MachineError` if the latency between the farthest cores was not measured.
        """
        about = surroundings(self.system.library.name, "", {})
        cores = f"{len(self.system.topology.cores)} cores"
        made = f"haloscope {about['haloscope']} bench p2p, {self.system.library.name}, {about['date'][:10]}"
        place = f"{about['host']}: {self.system.nodes} × {cores}, {about['processor']}"
        return machine(name, self.system, self.points, place, made)


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

    `tests` are names of `P2P_TESTS`; without any it is `latency`, or with `method.for_model` all that
    a machine model needs.
    `pairs` are numbers of cores as hwloc counts them, through all nodes; without any core 0 and one
    core of each level of the topology. With `all_pairs` the latency between every two cores is
    measured as well. `launcher` is the command that starts ranks, with its options, such as
    `["mpiexec", "--hostfile", "hosts"]`; without it the MPI's own. `each` is called with the result
    so far and each new point, `remark` with lines about the topology.

    Times are in seconds. Raises `UsageError` for what cannot be measured, `LaunchError` if the
    launcher does not do what it should. A pair that fails is in `failures`, the others go on.

        measured = haloscope.bench_p2p(["latency", "bw"], P2pMethod(sizes=(8, 1 << 20)))
        print([(one.test, one.bytes, one.median) for one in measured.points])
    """
    method = (method or P2pMethod()).checked()
    unknown = [name for name in tests if name not in P2P_TESTS]
    if unknown:
        raise UsageError(f"{unknown[0]!r} is not one of {', '.join(P2P_TESTS)}")
    made = P2pMeasured(_system(nodes, launcher, method, remark))
    chosen = [made.system.pair(*pair) for pair in pairs] or made.system.representatives()
    wanted = list(tests) or list(_FOR_MODEL if method.for_model else ("latency",))
    try:
        for one in _points_of_all(made.system, wanted, chosen, method, all_pairs):
            if isinstance(one, Failure):
                made.failures.append(one)
            else:
                made.points.append(one)
                each(made, one)
    except KeyboardInterrupt:
        made.interrupted = True
    return made


def _system(nodes: int, launcher: Sequence[str], method: P2pMethod, remark: Remark) -> BenchSystem:
    launcher = launcher_of(launcher)
    found = topology()
    for line in found.remarks:
        remark(line)
    return with_switches(BenchSystem(found, library(launcher), nodes, launcher), method.time_limit)


def _points_of_all(
    system: BenchSystem, tests: Sequence[str], pairs: Sequence[Pair], method: P2pMethod, matrix: bool
) -> Iterator[P2pPoint | Failure]:
    for test in tests:
        # What one core does alone is measured once.
        several = pairs[:1] if test == "reduce" else pairs
        points = []
        for one in measure_p2p(system, test, several, method):
            if isinstance(one, P2pPoint):
                points.append(one)
            yield one
        if test == "latency" and method.for_model:
            yield from refined(system, points, method)
    if matrix:
        yield from all_pairs(system, method)


def measure_p2p(
    system: BenchSystem, test: str, pairs: Sequence[Pair], method: P2pMethod
) -> Iterator[P2pPoint | Failure]:
    """Yield points as they come: one launch a pair; `mbw_mr` has all pairs at once in one."""
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
    for record in _points(system.command_of_pair(pair, method.words(test)), method):
        yield _point(record, pair)


def _measure_pairs(system: BenchSystem, pairs: Sequence[Pair], method: P2pMethod) -> Iterator[P2pPoint]:
    cores = [core for pair in pairs for core in (pair.first, pair.second)]
    if len(set(cores)) < len(cores):
        raise UsageError("pairs that send at the same time must not share a core; see --pair")
    command = system.command_of_all(pairs, method.words("mbw_mr"))
    for record in _points(command, method):
        yield replace(_point(record, pairs[0]), pairs=len(pairs))


def refined(
    system: BenchSystem, points: Sequence[P2pPoint], method: P2pMethod
) -> Iterator[P2pPoint | Failure]:
    """Yield latencies between the sizes where the lines through `points` change, for each pair.

    The sizes on both sides of a change are measured once more with them: if these come out
    otherwise now, the machine has changed, and nothing is said about the change.
    """
    for pair in dict.fromkeys(point.pair for point in points):
        own = sorted((one for one in points if one.pair == pair), key=lambda one: one.bytes)
        known = {one.bytes: one.median for one in own}
        for piece in fit_pieces(list(known), list(known.values()))[1:]:
            ends = (piece.before, piece.first)
            more = sorted({*_divide_gap(*ends), *ends})
            again = list(measure_p2p(system, "latency", [pair], replace(method, sizes=tuple(more))))
            now = {one.bytes: one.median for one in again if isinstance(one, P2pPoint)}
            if all(size in now and _alike(now[size], known[size]) for size in ends):
                again = [one for one in again if isinstance(one, Failure) or one.bytes not in ends]
                yield from again
            else:
                yield from (one for one in again if isinstance(one, Failure))


def _alike(one: float, other: float) -> bool:
    return max(one, other) <= _ALIKE * min(one, other)


def _divide_gap(low: int, high: int) -> list[int]:
    """Return sizes that divide a gap into eighths; multiples of 8 where there is room for them."""
    steps = [low + (high - low) * part // 8 for part in range(1, 8)]
    return [size // 8 * 8 if high - low >= 128 else size for size in steps]


def all_pairs(system: BenchSystem, method: P2pMethod) -> Iterator[P2pPoint | Failure]:
    """Yield the latency between all pairs of cores, in one launch with a rank on each."""
    smallest = replace(method, sizes=(min(method.sizes),))
    pairs = {(pair.first, pair.second): pair for pair in system.all_pairs()}
    command = system.command_of_all(list(pairs.values()), smallest.words("latency"))

    def points() -> Iterator[P2pPoint]:
        for record in _points(command, method):
            first, second = record["pair"]
            yield _point(record, pairs[first, second])

    yield from _catch_failure(points(), "latency", next(iter(pairs.values())))


def with_switches(system: BenchSystem, limit: float) -> BenchSystem:
    """Return the system with what its nodes say of their place. Raises if they are not nodes."""
    if system.nodes == 1:
        return system
    try:
        ranks = list(stream(system.command_of_roll(), os.environ, limit))
    except Stopped as stopped:
        raise LaunchError(f"no ranks on {system.nodes} nodes: {stopped.reason}") from None
    hosts = {rank["host"] for rank in ranks}
    if len(ranks) != system.nodes or len(hosts) != system.nodes:
        raise LaunchError(
            f"the launcher put {system.nodes} ranks on {len(hosts)} nodes; give it the hosts, for "
            "example: --nodes 2 -- mpiexec --hostfile HOSTS"
        )
    ranks.sort(key=lambda rank: rank["rank"])
    return replace(system, switches=leaf_switches(ranks))


def _points(command: Sequence[str], method: P2pMethod) -> Iterator[dict[str, Any]]:
    none = True
    for record in stream(command, os.environ, method.time_limit):
        if record["record"] == "rank" and record["error"]:
            raise HaloscopeError(f"{record['host']}: {record['error']}")
        if record["record"] == "point":
            none = False
            yield record
    if none:
        raise Stopped("failed", f"{command[0]} brought no result")


def _point(record: Mapping[str, Any], pair: Pair) -> P2pPoint:
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
