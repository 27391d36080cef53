"""Grids of measurements: algorithms, numbers of ranks, mappings and sizes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from haloscope.base.errors import UsageError
from haloscope.base.units import bytes_text
from haloscope.predict.bench.surroundings import find_free_memory
from haloscope.predict.bench.workload import CollectivePoint
from haloscope.predict.mpi_library import DEFAULT, Algorithm, Library

_MOST = (1 << 31) - 1  # counts and displacements are C's int
_COLLECTING = frozenset({"allgather", "allgatherv", "gather", "gatherv"})
_SPREADING = frozenset({"scatter", "scatterv"})
_EXCHANGING = frozenset({"alltoall", "alltoallv"})


@dataclass(frozen=True)
class BenchGrid:
    """The axes of a grid of measurements.

    Attributes:
        collectives: Collectives; empty or the word `all`: all of the library.
        ranks: Numbers of ranks; empty: the number of cores of this machine.
        sizes: Bytes, as the OSU benchmarks count them.
        algorithms: Algorithms; empty: all of the library. `default` is the library's own choice.
        segments: Segment sizes (bytes) for algorithms with this setting; 0 is the library's own choice.
        fanouts: Fan-outs for algorithms with this setting; 0 is the library's own choice.
        mappings: Mappings of the launcher, such as `core` or `node`; None is its own.
        iterations: Number of measured calls per point, such as `Workload.iterations`. If it is given, only
            these points are measured, and `ranks` and `sizes` are ignored.
    """

    collectives: Sequence[str]
    ranks: Sequence[int] = ()
    sizes: Sequence[int] = tuple(1 << power for power in range(21))
    algorithms: Sequence[str] = ()
    segments: Sequence[int] = (0,)
    fanouts: Sequence[int] = (0,)
    mappings: Sequence[str | None] = (None,)
    iterations: Mapping[CollectivePoint, int] = field(default_factory=dict)

    def complete(self, library: Library, ranks: int) -> BenchGrid:
        """Return the grid with defaults for empty axes."""
        every = not self.collectives or "all" in self.collectives
        used = sorted({point.collective for point in self.iterations}) or library.collectives()
        names = tuple(used if every else dict.fromkeys(self.collectives))
        counts = sorted({point.ranks for point in self.iterations}) or self.ranks or (ranks,)
        return replace(self, collectives=names, ranks=counts, mappings=self.mappings or (None,))

    def lines(self) -> dict[tuple[str, int], tuple[int, ...]]:
        """Return the sizes per collective and number of ranks.

        Raises:
            UsageError: The program does not call these collectives.
        """
        if self.iterations:
            found = group_points(point for point in self.iterations if point.collective in self.collectives)
            if not found:
                called = ", ".join(sorted({point.collective for point in self.iterations}))
                names = ", ".join(self.collectives)
                raise UsageError(f"{names}: the program does not call it; it calls {called}")
            return found
        return {
            (collective, ranks): (0,) if collective == "barrier" else tuple(self.sizes)
            for collective in self.collectives
            for ranks in self.ranks
        }


def group_points(points: Iterable[CollectivePoint]) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return the sizes of each collective and number of ranks."""
    lines: dict[tuple[str, int], tuple[int, ...]] = {}
    for point in sorted(points):
        line = point.collective, point.ranks
        lines[line] = (*lines.get(line, ()), point.bytes)
    return lines


@dataclass(frozen=True)
class LaunchPoints:
    """The points of one launch: one algorithm and number of ranks, several sizes."""

    algorithm: Algorithm
    segment: int
    fanout: int
    ranks: int
    mapping: str | None
    sizes: tuple[int, ...]
    launch: int = 0
    """Number of the repetition, from 0."""
    iterations: Mapping[int, int] = field(default_factory=dict)
    """Number of measured calls per size; empty: that of the method."""

    @property
    def collective(self) -> str:
        return self.algorithm.collective

    def point(self, size: int) -> dict[str, object]:
        """Return the fields that identify a point in a sweep."""
        return {
            "collective": self.collective,
            "algorithm": self.algorithm.name,
            "number": self.algorithm.number,
            "segment": self.segment,
            "fanout": self.fanout,
            "ranks": self.ranks,
            "mapping": self.mapping,
            "bytes": size,
            "launch": self.launch,
        }


def list_launches(
    grid: BenchGrid, library: Library, seed: int | None, remote: bool = False, launches: int = 1
) -> list[LaunchPoints]:
    """Return all launches, in random order unless `seed` is None.

    If `launches` is more than 1, all are launched once before any is repeated. If ranks run elsewhere
    (`remote`), the memory of this machine is not checked.

    Raises:
        UsageError: A name does not exist, or a size is too large.
    """
    _check_names(grid, library)
    lines = grid.lines()
    if min(ranks for _, ranks in lines) < 2:
        raise UsageError("-n: a collective needs 2 processes or more")
    _check_sizes(lines, None if remote else find_free_memory())
    iterations = grid.iterations
    units = [
        LaunchPoints(
            chosen,
            segment,
            fanout,
            ranks,
            mapping,
            sizes,
            iterations={size: iterations[CollectivePoint(collective, ranks, size)] for size in sizes}
            if iterations
            else {},
        )
        for (collective, ranks), sizes in lines.items()
        for chosen, segment, fanout in _list_algorithms(grid, library, collective)
        for mapping in grid.mappings
    ]
    rounds = [[replace(unit, launch=launch) for unit in units] for launch in range(launches)]
    if seed is not None:
        order = random.Random(seed)
        rounds = [shuffle_launches(launched, order) for launched in rounds]
    return [unit for launched in rounds for unit in launched]


def shuffle_launches(units: Sequence[LaunchPoints], order: random.Random) -> list[LaunchPoints]:
    """Return launches in random order, each with its sizes in random order."""
    shuffled = order.sample(units, len(units))
    return [replace(unit, sizes=tuple(order.sample(unit.sizes, len(unit.sizes)))) for unit in shuffled]


def _list_algorithms(
    grid: BenchGrid, library: Library, collective: str
) -> Iterator[tuple[Algorithm, int, int]]:
    for algorithm in library.algorithms(collective):
        if grid.algorithms and algorithm.name not in grid.algorithms:
            continue
        for segment in grid.segments if algorithm.segments else (0,):
            for fanout in grid.fanouts if algorithm.fanouts else (0,):
                yield algorithm.with_segment(segment).with_fanout(fanout), segment, fanout


def _check_names(grid: BenchGrid, library: Library) -> None:
    known = library.collectives()
    for collective in grid.collectives:
        if collective not in known:
            raise UsageError(f"{collective}: not a collective; choose from {', '.join(known)}")
    offered = {
        algorithm.name: None
        for collective in grid.collectives
        for algorithm in library.algorithms(collective)
    }
    for name in grid.algorithms:
        if name not in offered:
            only = " (other algorithms of this MPI cannot be selected)" if list(offered) == [DEFAULT] else ""
            raise UsageError(
                f"{library.name} has no algorithm {name} for {', '.join(grid.collectives)}; "
                f"it has {', '.join(offered)}{only}"
            )


def _check_sizes(lines: Mapping[tuple[str, int], Sequence[int]], free: int | None) -> None:
    for (collective, ranks), sizes in lines.items():
        size, many = max(sizes), collective in _COLLECTING | _EXCHANGING | _SPREADING
        if size * (ranks if many else 1) > _MOST:
            raise UsageError(
                f"{collective} of {bytes_text(size)} among {ranks} processes overflows MPI's "
                "counts (2^31 - 1): give smaller sizes (-m)"
            )
        needed = ranks * size * _count_buffers(collective, ranks)
        if free is not None and needed > free:
            raise UsageError(
                f"{collective} of {bytes_text(size)} among {ranks} processes needs "
                f"{bytes_text(needed)} of memory, but {bytes_text(free)} are free: give "
                "smaller sizes (-m) or fewer processes (-n)"
            )


def _count_buffers(collective: str, ranks: int) -> int:
    """Return the memory of a rank in messages, without copies by the library."""
    if collective in _EXCHANGING:
        return 2 * ranks
    return ranks + 1 if collective in _COLLECTING | _SPREADING else 2
