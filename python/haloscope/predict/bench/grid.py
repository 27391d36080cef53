"""What is to be measured: every algorithm at every number of ranks, mapping and size."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from haloscope.base.errors import UsageError
from haloscope.base.units import bytes_text
from haloscope.predict.bench.surroundings import free_memory
from haloscope.predict.bench.workload import CollectivePoint
from haloscope.predict.mpi_library import DEFAULT, Algorithm, Library

_MOST = (1 << 31) - 1  # counts and displacements are C's int
_COLLECTING = frozenset({"allgather", "allgatherv", "gather", "gatherv"})
_SPREADING = frozenset({"scatter", "scatterv"})
_EXCHANGING = frozenset({"alltoall", "alltoallv"})


@dataclass(frozen=True)
class BenchGrid:
    """The axes. `sizes` are bytes as the OSU benchmarks count them.

    Empty `collectives` or the word `all`, and empty `algorithms`, mean all that the library offers;
    empty `ranks` mean as many as there are cores here. `default` is the library's own choice.
    `segments` (bytes) and `fanouts` are for algorithms that have such a setting, 0 is the library's
    own. `mappings` are words of the launcher such as `core` or `node`, None is its own. `iterations` says
    how often each of some points is measured, such as `Workload.iterations`; only these are measured then,
    whatever `ranks` and `sizes` say.
    """

    collectives: Sequence[str]
    ranks: Sequence[int] = ()
    sizes: Sequence[int] = tuple(1 << power for power in range(21))
    algorithms: Sequence[str] = ()
    segments: Sequence[int] = (0,)
    fanouts: Sequence[int] = (0,)
    mappings: Sequence[str | None] = (None,)
    iterations: Mapping[CollectivePoint, int] = field(default_factory=dict)

    def completed(self, library: Library, ranks: int) -> BenchGrid:
        """Return the same grid with what is empty filled in."""
        every = not self.collectives or "all" in self.collectives
        used = sorted({point.collective for point in self.iterations}) or library.collectives()
        names = tuple(used if every else dict.fromkeys(self.collectives))
        counts = sorted({point.ranks for point in self.iterations}) or self.ranks or (ranks,)
        return replace(self, collectives=names, ranks=counts, mappings=self.mappings or (None,))

    def lines(self) -> dict[tuple[str, int], tuple[int, ...]]:
        """Return the sizes of each collective and number of ranks. Raises `UsageError` if there are none."""
        if self.iterations:
            found = lines_of(point for point in self.iterations if point.collective in self.collectives)
            if not found:
                there = ", ".join(sorted({point.collective for point in self.iterations}))
                asked = ", ".join(self.collectives)
                raise UsageError(f"{asked}: the program does not use it; it uses {there}")
            return found
        return {
            (collective, ranks): (0,) if collective == "barrier" else tuple(self.sizes)
            for collective in self.collectives
            for ranks in self.ranks
        }


def lines_of(points: Iterable[CollectivePoint]) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return the sizes of each collective and number of ranks."""
    lines: dict[tuple[str, int], tuple[int, ...]] = {}
    for point in sorted(points):
        line = point.collective, point.ranks
        lines[line] = (*lines.get(line, ()), point.bytes)
    return lines


@dataclass(frozen=True)
class LaunchPoints:
    """What one launch measures: one algorithm on so many ranks, at many sizes."""

    algorithm: Algorithm
    segment: int
    fanout: int
    ranks: int
    mapping: str | None
    sizes: tuple[int, ...]
    launch: int = 0
    """Which of the launches of the same it is, from 0."""
    iterations: Mapping[int, int] = field(default_factory=dict)
    """How often each size is measured; empty: as the method says."""

    @property
    def collective(self) -> str:
        return self.algorithm.collective

    def point(self, size: int) -> dict[str, object]:
        """Return the words that name one of its points in a sweep."""
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


def units(
    grid: BenchGrid, library: Library, seed: int | None, remote: bool = False, launches: int = 1
) -> list[LaunchPoints]:
    """Return all launches, in random order unless `seed` is None. Raises `UsageError`.

    With several launches of each, all are launched once before any is launched again.

    With a launcher of the user's (`remote`) ranks may be anywhere, so that this machine's memory
    says nothing.
    """
    _check_names(grid, library)
    lines = grid.lines()
    if min(ranks for _, ranks in lines) < 2:
        raise UsageError("-n: a collective needs 2 processes or more")
    _check_sizes(lines, None if remote else free_memory())
    often = grid.iterations
    made = [
        LaunchPoints(
            chosen,
            segment,
            fanout,
            ranks,
            mapping,
            sizes,
            iterations={size: often[CollectivePoint(collective, ranks, size)] for size in sizes}
            if often
            else {},
        )
        for (collective, ranks), sizes in lines.items()
        for chosen, segment, fanout in _algorithms(grid, library, collective)
        for mapping in grid.mappings
    ]
    rounds = [[replace(unit, launch=launch) for unit in made] for launch in range(launches)]
    if seed is not None:
        order = random.Random(seed)
        rounds = [shuffle_launches(units, order) for units in rounds]
    return [unit for units in rounds for unit in units]


def shuffle_launches(units: Sequence[LaunchPoints], order: random.Random) -> list[LaunchPoints]:
    """Return launches in random order, and the sizes in each as well."""
    made = order.sample(units, len(units))
    return [replace(unit, sizes=tuple(order.sample(unit.sizes, len(unit.sizes)))) for unit in made]


def _algorithms(grid: BenchGrid, library: Library, collective: str) -> Iterator[tuple[Algorithm, int, int]]:
    for one in library.algorithms(collective):
        if grid.algorithms and one.name not in grid.algorithms:
            continue
        for segment in grid.segments if one.segments else (0,):
            for fanout in grid.fanouts if one.fanouts else (0,):
                yield one.with_segment(segment).with_fanout(fanout), segment, fanout


def _check_names(grid: BenchGrid, library: Library) -> None:
    known = library.collectives()
    for collective in grid.collectives:
        if collective not in known:
            raise UsageError(f"{collective}: no such collective; there are {', '.join(known)}")
    offered = {one.name: None for collective in grid.collectives for one in library.algorithms(collective)}
    for name in grid.algorithms:
        if name not in offered:
            only = " (this MPI cannot be asked for others)" if list(offered) == [DEFAULT] else ""
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
                "counts (2^31 - 1): ask for smaller sizes (-m)"
            )
        needed = ranks * size * _buffers(collective, ranks)
        if free is not None and needed > free:
            raise UsageError(
                f"{collective} of {bytes_text(size)} among {ranks} processes needs "
                f"{bytes_text(needed)} of memory, and {bytes_text(free)} are free: ask for "
                "smaller sizes (-m) or fewer processes (-n)"
            )


def _buffers(collective: str, ranks: int) -> int:
    """Return the memory of a rank in messages, the library's own copies not counted."""
    if collective in _EXCHANGING:
        return 2 * ranks
    return ranks + 1 if collective in _COLLECTING | _SPREADING else 2
