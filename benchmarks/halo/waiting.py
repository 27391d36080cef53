"""Patterns with a posted receive, LAMMPS, and cost of the shared heap, alternately with and without shm."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from common import MPI_ENVIRONMENT, emit, estimate
from programs import HERE, Library, output, row, with_shm

from haloscope.hide import build_heap

SIZES = {"64 KiB": 64 << 10, "1 MiB": 1 << 20}
# Common sizes (the smallest are below the eager limit), patterns and kinds of memory.
COMMON_SIZES = {"2 KiB": 2 << 10, **{f"{kib} KiB": kib << 10 for kib in (8, 16, 32, 64, 256)}}
COMMON = ("irecv-send-wait", "sendrecv", "unequal-waitall", "vector-halves", "vector-doubles")
MEMORIES = ("malloc", "static")
PATTERNS = (
    "irecv-send-wait",
    "irecv-ssend-wait",
    "wait-for-the-send",
    "test-for-the-send",
    "sendrecv",
    "sendrecv-replace",
    "send-recv",
    "ssend-recv",
    "barrier-between",
    "sent-before-a-barrier",
    "note-awaited",
    "note-received",
    "note-probed",
    "medium-send",
    "replace-between",
)
NO_SLOWER = 1 / 1.05
# LAMMPS' own example, larger, so that messages of borders are above the threshold.
MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {0} 0 {0} 0 {0}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
run {1}
"""
LOOP = re.compile(r"^Loop time of ([\d.]+)", re.MULTILINE)


def _built(library: Library, name: str, directory: str) -> str:
    program = str(Path(directory) / name)
    compiler = str(library.tools.compiler.with_name(library.tools.compiler.name.replace("cxx", "cc")))
    output([compiler, "-O2", str(HERE / f"{name}.c"), "-o", program])
    return program


def measure(library: Library, rounds: int) -> None:
    """Print rows of all patterns, with shared memory."""
    with tempfile.TemporaryDirectory() as directory:
        program = _built(library, "patterns", directory)
        for size, count in SIZES.items():
            words = [*library.launch(2), program, "300", str(count), *PATTERNS]
            found = _in_turn(with_shm(), words, rounds)
            for pattern in PATTERNS:
                row(
                    library.case(f"{pattern} of {size}: shm, MPI_Alloc_mem"),
                    np.array(found["shm", pattern]),
                    np.array(found["bare", pattern]),
                    f"{library.name}: the same",
                    NO_SLOWER if library.targeted else None,
                )


def _in_turn(shm: Sequence[str], words: Sequence[str], rounds: int) -> dict[tuple[str, str], list[float]]:
    """Return times by kind (bare, shm) and pattern, of alternating launches without and with shm."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in range(rounds):
        for kind, prefix in (("bare", ()), ("shm", shm)):
            for line in output([*prefix, *words]).splitlines():
                pattern, time = line.split()
                found[kind, pattern].append(float(time))
    return found


def measure_memories(library: Library, rounds: int) -> None:
    """Print rows of common patterns and kinds of memory; the shm library measures which way is faster."""
    with tempfile.TemporaryDirectory() as directory:
        program = _built(library, "patterns", directory)
        for memory in MEMORIES:
            for size, count in COMMON_SIZES.items():
                words = [*library.launch(2), program, "500", str(count), memory, *COMMON]
                found = _in_turn(with_shm("--share-heap", measures=True), words, rounds)
                for pattern in COMMON:
                    row(
                        library.case(f"{pattern} of {size}: shm, {memory}, --share-heap"),
                        np.array(found["shm", pattern]),
                        np.array(found["bare", pattern]),
                        f"{library.name}: the same",
                        NO_SLOWER,
                    )


def measure_lammps(library: Library, rounds: int) -> None:
    """Print the time of the main loop of Debian's LAMMPS, if installed, on two ranks."""
    if not shutil.which("lmp"):
        return
    for cells, steps in ((10, 400), (20, 100)):
        with tempfile.TemporaryDirectory() as directory:
            text = Path(directory) / "in.melt"
            text.write_text(MELT.format(cells, steps))
            words = [*library.launch(2), "lmp", "-in", str(text), "-log", "none"]
            times: dict[str, list[float]] = defaultdict(list)
            for _ in range(rounds):
                for kind, prefix in (("bare", []), ("heap", with_shm("--share-heap"))):
                    times[kind].append(_loop([*prefix, *words]))
        row(
            f"LAMMPS, melt of {4 * cells**3} atoms: shm, --share-heap",
            np.array(times["heap"]),
            np.array(times["bare"]),
            f"{library.name}: the same",
            NO_SLOWER,
        )


def _loop(words: Sequence[str]) -> float:
    found = LOOP.search(output(words))
    if found is None:
        raise ValueError(f"{' '.join(words)}: no loop time")
    return float(found[1])


def measure_heap(library: Library, rounds: int) -> None:
    """Print page faults and times of blocks that are hardly used, and of blocks that are used completely."""
    heap = {**MPI_ENVIRONMENT, "LD_PRELOAD": str(build_heap(quiet=True))}
    with tempfile.TemporaryDirectory() as directory:
        program = _built(library, "untouched", directory)
        for words, touched in (([program], "4 KiB of 1 GiB"), ([program, "all"], "64 MiB")):
            bare, ours = (
                np.array([[float(word) for word in output(words, env).split()] for _ in range(rounds)])
                for env in (dict(os.environ), heap)
            )
            case = f"malloc, {touched} touched, ten times: --share-heap"
            row(case, ours[:, 1], bare[:, 1], "the C library")
            emit(
                "halo",
                f"{case}, page faults",
                ours=float(np.median(ours[:, 0])),
                peer=float(np.median(bare[:, 0])),
                peer_name="the C library",
                unit="faults",
                ratio=estimate(bare[:, 0] / ours[:, 0]),
            )
