"""The bundled application amr from begin to end, below the layer and without it by turns."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np
from programs import Floats, Library, layered, output, row

from haloscope.watch._applications import build_application

__all__ = ["measure"]

# Flat blocks with many variables: docs/reference/amr.md.
FLAGS = (
    "--npz 2 --nx 32 --ny 32 --nz 2 --num_vars 64 --num_refine 0 --num_tsteps 3 "
    "--stages_per_ts 100 --checksum_freq 0"
)
# Moving objects: messages whose sizes change.
MOVING = (
    "--npx 2 --nx 32 --ny 32 --nz 32 --num_vars 10 --num_refine 1 --refine_freq 1 --num_tsteps 8 "
    "--stages_per_ts 10 --object 2 0 0.2 0.2 0.5 0.08 0.08 0 0.2 0.2 0.2 0 0 0"
)
TIME = re.compile(r"^time +([\d.]+) s, communication ([\d.]+) s", re.MULTILINE)
SHARE = 0.81


def measure(library: Library, rounds: int) -> None:
    """Whole steps, and the exchanges in them; the peer has its better kind of memory."""
    kinds = {
        "MPI_Alloc_mem": ((), ("--memory", "mpi")),
        "malloc": ((), ("--memory", "malloc")),
        "layer, MPI_Alloc_mem": (layered(), ("--memory", "mpi")),
        "layer, NULL buffers": (layered(), ("--memory", "mpi", "--null-buffers")),
        "layer, malloc, --share-heap": (layered("--share-heap"), ("--memory", "malloc")),
    }
    program = str(build_application("amr", quiet=True))
    for what, flags, launches in (
        ("communication-bound", FLAGS, rounds), ("a moving sphere", MOVING, rounds // 2),
    ):  # fmt: skip
        times: dict[str, list[tuple[float, ...]]] = defaultdict(list)
        for _ in range(launches):
            for kind, (prefix, options) in kinds.items():
                words = [*prefix, *library.launch(2), program, *flags.split(), *options]
                found = TIME.search(output(words))
                assert found is not None
                times[kind].append(tuple(map(float, found.groups())))
        for column, part in ((0, "whole"), (1, "exchanges")):
            _rows(library, what, part, {k: np.array(v)[:, column] for k, v in times.items()})


def _rows(library: Library, what: str, part: str, times: dict[str, Floats]) -> None:
    peer = min(("MPI_Alloc_mem", "malloc"), key=lambda kind: float(np.median(times[kind])))
    for kind, own in times.items():
        if kind.startswith("layer"):
            bound = part == "whole" and what == "communication-bound"
            row(
                f"amr, {what}, {part}: {kind}", own, times[peer], f"{library.name}: {peer}",
                library.aim(SHARE) if bound and "NULL" not in kind else None,
            )  # fmt: skip
