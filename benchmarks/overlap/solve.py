"""Time to solution on 129³ unknowns: our multigrid beside PETSc's assembled matrix with GAMG.

Conjugate gradients to 1e-8, Q1, κ with a jump of 1000. A solution's time is that of the
preconditioner's setup and of the steps; in the second row also that of all that comes before:
meshes and operators of all levels here, grid and matrix there.
"""

from __future__ import annotations

import numpy as np
import programs
from common import emit, estimate

__all__ = ["CASES", "measure"]

BENCHMARK = "overlap"
ROUNDS, LEVEL, JUMP = 3, 7, "1000"
CASES = (
    "time to solution, GMG-CG against AIJ and GAMG",
    "time to solution from nothing, GMG-CG against AIJ and GAMG",
)


def measure() -> None:
    solution: list[tuple[float, float]] = []
    whole: list[tuple[float, float]] = []
    words = ["--level", str(LEVEL), "--jump", JUMP, "--solver", "gmg", "--tolerance", "1e-8"]
    with programs.Program(programs.aij(), str(2**LEVEL), JUMP) as peer:
        for _ in range(ROUNDS):
            said = programs.poisson(words)
            solution.append((said["multigrid"] + said["time"], peer.once("gamg")))
            whole.append((said["setup"] + said["time"], peer.once("whole")))
    for case, pairs in zip(CASES, (solution, whole), strict=True):
        ours, peers = np.array(pairs).T
        emit(
            BENCHMARK,
            case,
            ours=float(np.median(ours)),
            peer=float(np.median(peers)),
            peer_name="PETSc AIJ, GAMG",
            unit="s",
            target=5,
            ratio=estimate(peers / ours),
        )
