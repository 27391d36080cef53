"""Run times of the bundled application amr, alternately with and without the shm library."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from programs import Floats, Library, output, row, with_shm

from haloscope.base.building import build_application

# Flat blocks with many variables: docs/reference/amr.md.
FLAGS = (
    "--npz {ranks} --nx 32 --ny 32 --nz 2 --num_vars 64 --num_refine 0 --num_tsteps 3 "
    "--stages_per_ts {stages} --checksum_freq 0"
)
# Moving objects: sizes of messages change.
MOVING = (
    "--npx 2 --nx 32 --ny 32 --nz 32 --num_vars 10 --num_refine 1 --refine_freq 1 --num_tsteps 8 "
    "--stages_per_ts 10 --object 2 0 0.2 0.2 0.5 0.08 0.08 0 0.2 0.2 0.2 0 0 0"
)
TIME = re.compile(r"^time +([\d.]+) s, communication ([\d.]+) s", re.MULTILINE)
SHARE = 0.81


# Runs a launch command with a prefix, and returns its output.
Run = Callable[[Sequence[str], Sequence[str]], str]


def measure(library: Library, rounds: int) -> None:
    """Print rows of whole steps, and of their exchanges."""
    run = partial(_on_this_node, library)
    measure_bound("communication-bound", library, run, rounds)
    _measure("a moving sphere", library, run, rounds // 2, MOVING, None)


def measure_bound(
    what: str, library: Library, run: Run, rounds: int, ranks: int = 2, stages: int = 100
) -> None:
    """Print rows of the communication-bound setting."""
    flags = FLAGS.format(ranks=ranks, stages=stages)
    _measure(what, library, run, rounds, flags, SHARE)


def _on_this_node(library: Library, prefix: Sequence[str], words: Sequence[str]) -> str:
    return output([*prefix, *library.launch(2), *words])


def _measure(what: str, library: Library, run: Run, launches: int, flags: str, share: float | None) -> None:
    """Print rows. The peer uses its faster kind of memory. The aim of whole steps is `share` of its time."""
    kinds = {
        "MPI_Alloc_mem": ((), ("--memory", "mpi")),
        "malloc": ((), ("--memory", "malloc")),
        "shm, MPI_Alloc_mem": (with_shm(), ("--memory", "mpi")),
        "shm, NULL buffers": (with_shm(), ("--memory", "mpi", "--null-buffers")),
        "shm, malloc, --share-heap": (with_shm("--share-heap"), ("--memory", "malloc")),
    }
    program = str(build_application("amr", quiet=True))
    times: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for _ in range(launches):
        for kind, (prefix, options) in kinds.items():
            found = TIME.search(run(prefix, [program, *flags.split(), *options]))
            assert found is not None
            times[kind].append(tuple(map(float, found.groups())))
    for column, part, aim in ((0, "whole", share), (1, "exchanges", None)):
        by_kind = {kind: np.array(found)[:, column] for kind, found in times.items()}
        _rows(library, f"amr, {what}, {part}", by_kind, aim)


def _rows(library: Library, what: str, times: dict[str, Floats], share: float | None) -> None:
    peer = min(("MPI_Alloc_mem", "malloc"), key=lambda kind: float(np.median(times[kind])))
    for kind, own in times.items():
        if kind.startswith("shm"):
            row(
                f"{what}: {kind}",
                own,
                times[peer],
                f"{library.name}: {peer}",
                library.aim(share) if share else None,
            )
