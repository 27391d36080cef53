"""Cost of the shm library per rank on a large node: memory at 2 to 128 ranks, start-up at up to 256.

Ranks exchange with two neighbours in a ring. The peer is the cost per rank of 2 ranks. There are more ranks
than cores: memory and processor time are valid, wall-clock time is not. Start-up is simulated by processes
without MPI that map each other's memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from common import MPI_ENVIRONMENT, emit, estimate
from numpy.typing import NDArray
from programs import CHECKOUT, Library, output, with_shm

from haloscope.base.building import build_executable

RANKS = (2, 4, 8, 27, 64, 128)
SIMULATED = (*RANKS, 256)
BYTES, ROUNDS = 65536, 20
INIT, TABLES, ARENA, TOUCHED = 0, 2, 3, 4  # columns of scale.cpp
CROWDED = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
Floats = NDArray[np.float64]


def measure(library: Library, rounds: int) -> None:
    """Print rows of all numbers of ranks, each with a third of the launches."""
    few = max(3, rounds // 3)
    program = library.program("scale")
    found: dict[str, dict[int, Floats]] = {"shm": {}, "bare": {}}
    for ranks in RANKS:
        for kind, before in (("shm", with_shm()), ("bare", [])):
            found[kind][ranks] = _launches([*before, *library.launch(ranks), str(program)], few)
    carried, bare = found["shm"], found["bare"]
    _rows("its own shared memory", {ranks: carried[ranks][:, ARENA] for ranks in RANKS}, "KiB")
    _rows("page tables", {ranks: (carried[ranks] - bare[ranks])[:, TABLES] for ranks in RANKS}, "KiB")
    for ranks in RANKS[2:]:
        touched = carried[ranks][:, TOUCHED]
        _row(
            f"{ranks} ranks, a rank: others whose memory it touched", touched, 3 + 0 * touched, "at most", ""
        )
        init, alone = 1e3 * carried[ranks][:, INIT], 1e3 * bare[ranks][:, INIT]
        _row(f"{ranks} ranks: MPI_Init by the clock", init, alone, "without the shm library", "ms")
    _rows("processor time to find the others' memory", _startup(few), "us")


def _launches(words: Sequence[str], rounds: int) -> Floats:
    """Return a row per launch: medians over its ranks."""
    command, environment = [*words, str(BYTES), str(ROUNDS)], MPI_ENVIRONMENT | CROWDED
    tables = [
        np.array([line.split() for line in output(command, environment).splitlines()], dtype=np.float64)
        for _ in range(rounds)
    ]
    return np.array([np.median(table, axis=0) for table in tables])


def _startup(rounds: int) -> dict[int, Floats]:
    heap, halo = CHECKOUT / "src/hide/shm/heap", CHECKOUT / "src/hide/halo"
    parts = ("shared_arena.cpp", "forking.cpp", "extents.cpp")
    sources = [*(heap / name for name in parts), halo / "shared_file.cpp"]
    own = CHECKOUT / "benchmarks" / "halo" / "startup.cpp"
    program = build_executable("startup", [own, *sources], [heap, halo, own.parent], quiet=True)
    found = {}
    for ranks in SIMULATED:
        runs = [output([str(program), str(ranks)]).splitlines() for _ in range(rounds)]
        found[ranks] = np.array([np.median([float(line.split()[0]) for line in run]) for run in runs])
    return found


def _rows(what: str, found: Mapping[int, Floats], unit: str) -> None:
    for ranks, values in found.items():
        _row(
            f"{ranks} ranks, a rank: {what}",
            values,
            np.median(found[RANKS[0]], keepdims=True),
            "2 ranks",
            unit,
        )


def _row(case: str, ours: Floats, peer: Floats, peer_name: str, unit: str) -> None:
    emit(
        "halo",
        f"scale, {case}",
        ours=float(np.median(ours)),
        peer=float(np.median(peer)),
        peer_name=peer_name,
        unit=unit,
        ratio=estimate(peer / np.maximum(ours, 1e-9)),
    )
