"""Time to solution on 129³ unknowns: our multigrid beside PETSc's assembled matrix with GAMG.

Conjugate gradients to 1e-8 for −Δu = f, Q1. A solution's time is that of the preconditioner's setup
and of the steps; meshes and, for PETSc, the matrix are there already.
"""

from __future__ import annotations

import numpy as np
import programs
from common import emit, estimate

__all__ = ["CASES", "measure"]

BENCHMARK = "overlap"
ROUNDS, LEVEL = 3, 7
CASES = ("time to solution, GMG-CG against AIJ and GAMG",)


def measure() -> None:
    ours: list[float] = []
    peers: list[float] = []
    words = ["--level", str(LEVEL), "--jump", "1", "--solver", "gmg", "--tolerance", "1e-8"]
    with programs.Program(programs.aij(), str(2**LEVEL)) as peer:
        for _ in range(ROUNDS):
            said = programs.poisson(words)
            ours.append(said["setup"] + said["time"])
            peers.append(peer.once("gamg"))
    emit(
        BENCHMARK, CASES[0], ours=float(np.median(ours)), peer=float(np.median(peers)),
        peer_name="PETSc AIJ, GAMG", unit="s", target=5,
        ratio=estimate(np.array(peers) / np.array(ours)),
    )  # fmt: skip
