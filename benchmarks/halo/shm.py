"""Exchanges of unchanged programs, with launches alternately with and without the shm library."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from common import MPI_ENVIRONMENT, emit, estimate, undisturbed
from programs import CHECKOUT, SIZES, Floats, Library, exchanges, output, row, with_shm

BLOCKS = 2  # of each way in a launch
# Copies by both cores at once: of data that each has written itself, and of data of the other core.
LIMITS = {
    "memcpy-two": "memcpy by both cores",
    "memcpy-other": "memcpy by both cores, of what the other wrote",
}
REACHED = 0.90
BARE = (
    "mpi-persistent",
    "mpi-isend",
    "mpi-isend-large-pages",
    "mpi-isend-malloc",
    "mpi-isend-alloc",
    "one-way",
    "one-way-large-pages",
    "one-way-alloc",
    *LIMITS,
)
# With the shm library, without its heap and with it.
PLAIN = ("mpi-isend-alloc", "mpi-isend-malloc", "one-way-alloc")
HEAP = ("mpi-isend-malloc",)
# Aims: shares of the time of the fastest MPI method.
ALLOC = {"256 KiB": 0.50, "1 MiB": 0.55, "2 MiB": 0.70}
SHARED = {"256 KiB": 0.60, "1 MiB": 0.65, "2 MiB": 0.80}
ONE_WAY, UNCHANGED = 0.40, 1.02
STEALING = {"1 MiB": 1.4, "2 MiB": 1.7}
BUDGET = 10.0  # nanoseconds per message

# Per way, the median of each launch: the exchange alone, and including the reading.
Launches = dict[str, list[tuple[float, float]]]


def measure(library: Library, rounds: int) -> None:
    """Print rows of all sizes from `rounds` launches of each kind."""
    kinds: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
        "bare": (BARE, ()),
        "plain": (PLAIN, with_shm()),
        "heap": (HEAP, with_shm("--share-heap")),
    }
    found: dict[tuple[str, int], Launches] = defaultdict(lambda: defaultdict(list))
    for _ in range(rounds):
        for kind, (methods, prefix) in kinds.items():
            blocks = exchanges(library, methods, BLOCKS, list(SIZES.values()), prefix)
            for count, ways in blocks.items():
                for name, (exchange, reading) in ways.items():
                    both = float(np.median(exchange)), float(np.median(reading))
                    found[kind, count][name].append(both)
    for size, count in SIZES.items():
        _rows(library, size, {kind: found[kind, count] for kind in kinds})


def _rows(library: Library, size: str, found: Mapping[str, Launches]) -> None:
    bare = found["bare"]
    for kind, way, what, share in (
        ("plain", "mpi-isend-alloc", "shm, MPI_Alloc_mem", ALLOC[size]),
        ("heap", "mpi-isend-malloc", "shm, malloc, --share-heap", SHARED[size]),
    ):
        for column, reading in ((0, ""), (1, ", with the reading")):
            peer = _best(bare, "mpi-", column)
            row(
                library.case(f"exchange of {size}{reading}: {what}"),
                _times(found[kind][way], column),
                _times(bare[peer], column),
                f"{library.name}: {peer[4:]}",
                library.aim(share) if column == 0 else None,
            )
        peer = _best(bare, "mpi-isend", 0, small=True)
        row(
            library.case(f"exchange of {size}: {what}; the peer in small pages"),
            _times(found[kind][way], 0),
            _times(bare[peer], 0),
            f"{library.name}: {peer[4:]}",
            library.aim(share),
        )
    for way, what in LIMITS.items():
        row(
            library.case(f"exchange of {size}: shm, MPI_Alloc_mem, against {what}"),
            _times(found["plain"]["mpi-isend-alloc"], 0),
            _times(bare[way], 0),
            "the limit",
            REACHED if library.targeted and size == "2 MiB" else None,
        )
    row(
        library.case(f"exchange of {size}: shm, malloc"),
        _times(found["plain"]["mpi-isend-malloc"], 0),
        _times(bare["mpi-isend-malloc"], 0),
        f"{library.name}: the same",
        library.aim(UNCHANGED),
    )
    for small, pages in ((False, ""), (True, "; the peer in small pages")):
        peer = _best(bare, "one-way", 0, small)
        row(
            library.case(f"one way, {size}: shm, MPI_Alloc_mem{pages}"),
            _times(found["plain"]["one-way-alloc"], 0),
            _times(bare[peer], 0),
            f"{library.name}: {peer}",
            library.aim(ONE_WAY),
        )


def _best(ways: Launches, begin: str, column: int, small: bool = False) -> str:
    names = [n for n in ways if n.startswith(begin) and not (small and n.endswith("large-pages"))]
    return min(names, key=lambda name: float(np.median(_times(ways[name], column))))


def _times(launches: Sequence[tuple[float, float]], column: int) -> Floats:
    return np.array([both[column] for both in launches])


def steal(
    library: Library, third: str, count: int, sizes: Sequence[int], protocol: str, chunk: int = 0
) -> dict[int, float]:
    """Return the receiver's median times by size of one launch; the third rank is idle or busy."""
    crowded = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
    program = str(library.program("stealing"))
    words = [
        *with_shm(protocol=protocol, chunk=chunk),
        *library.launch(3),
        program,
        third,
        str(count),
        *map(str, sizes),
    ]
    samples: dict[int, list[float]] = defaultdict(list)
    for line in output(words, {**MPI_ENVIRONMENT, **crowded}).splitlines():
        size, time = line.split()
        samples[int(size)].append(float(time))
    return {size: float(np.median(times)) for size, times in samples.items()}


def measure_stealing(library: Library, rounds: int) -> None:
    """Print times if a waiting third rank copies for a sleeping sender; the peer is the receiver alone."""
    medians: dict[tuple[str, int], list[float]] = defaultdict(list)
    counts = [SIZES[size] for size in STEALING]
    for _ in range(rounds):
        for protocol in ("get", "dynamic"):
            for count, time in steal(library, "idle", 20, counts, protocol).items():
                medians[protocol, count].append(time)
    for size, target in STEALING.items():
        row(
            f"one way, {size}: sender asleep, a third rank idle",
            np.array(medians["dynamic", SIZES[size]]),
            np.array(medians["get", SIZES[size]]),
            "the receiver alone",
            target,
        )


def measure_first(library: Library, rounds: int) -> None:
    """Print times of the first message and of the next ones, if the first has the slides' chunks of 1 KiB."""
    times: dict[tuple[int, int], list[list[float]]] = defaultdict(list)
    words = [*library.launch(2), str(library.program("first")), "100", *map(str, SIZES.values())]
    for number in range(rounds):
        for chunk in (1 << 10, 64 << 10)[:: 1 if number % 2 else -1]:
            for line in output([*undisturbed(), *with_shm(chunk=chunk), *words]).splitlines():
                count, *seconds = line.split()
                times[int(count), chunk].append([float(time) for time in seconds])
    for size, bytes_ in SIZES.items():
        small, large = (np.array(times[bytes_, chunk]).T for chunk in (1 << 10, 64 << 10))
        for which, what in enumerate(("first message", "next messages")):
            case = library.case(f"{what} of {size}: chunks of 1 KiB in the first")
            row(case, small[which], large[which], "chunks of 64 KiB")


def measure_small(library: Library, rounds: int) -> None:
    """Print the time that the shm library adds to a message that it does not handle: a send and a receive."""
    source = CHECKOUT / "benchmarks" / "predict" / "pingpong.c"
    with tempfile.TemporaryDirectory() as directory:
        program = str(Path(directory) / "pingpong")
        compiler = str(library.tools.compiler.with_name("mpicc"))
        output([compiler, "-O3", str(source), "-o", program])
        for size in (8, 1024):
            words = [*library.launch(2), program, "latency", str(size), "100000", "10000"]
            added = [float(output([*with_shm(), *words])) - float(output(words)) for _ in range(rounds)]
            cost = estimate(added)
            bounds = [max(value, 1e-3) for value in (cost.median, cost.high, cost.low)]
            emit(
                "halo",
                f"message of {size} B: added by the shm library",
                ours=cost.median,
                peer=BUDGET,
                peer_name="budget",
                unit="ns",
                ratio=type(cost)(*(BUDGET / value for value in bounds)),
                target=1.0,
            )
