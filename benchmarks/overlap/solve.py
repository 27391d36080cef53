"""Time to solution on 129³ unknowns: our multigrid, PETSc's assembled matrix with GAMG, and plain CG.

All sides solve the same problem: poisson's own κ, right-hand side (f at the nodes) and known solution. There
is a case with κ per element (a jump of 1000), and a case with a smooth κ at the quadrature points. Errors are
compared first. Conjugate gradients stop at 1e-8; elements are Q1 cubes. The time is that of the
preconditioner's setup and of the steps. *From nothing* it includes the preparation: mesh, numbering,
operators and right-hand side for poisson; grid, matrix and right-hand side for PETSc.
"""

from __future__ import annotations

import numpy as np
import programs
from common import emit, estimate

BENCHMARK = "overlap"
ROUNDS, LEVEL = 3, 7
# Arguments of poisson, and of the peer.
PROBLEMS = {"κ an element": (["--jump", "1000"], "1000"), "κ at points": (["--pointwise"], "0")}
GAMG, NOTHING, JACOBI = (
    "GMG-CG against AIJ and GAMG",
    "from nothing",
    "GMG-CG against Jacobi-CG on our operator",
)
CASES = tuple(
    f"time to solution, {what}: {name}"
    for what in PROBLEMS
    for name in (GAMG, f"{GAMG}, {NOTHING}", JACOBI, f"{JACOBI}, {NOTHING}")
)


def measure() -> None:
    for what, (words, argument) in PROBLEMS.items():
        _measure(what, ["--level", str(LEVEL), "--tolerance", "1e-8", *words], argument)


def _measure(what: str, words: list[str], argument: str) -> None:
    times: list[tuple[float, ...]] = []
    with programs.Program(programs.aij(), str(2**LEVEL), argument) as peer:
        peer.once("error")
        for _ in range(ROUNDS):
            ours = programs.poisson([*words, "--solver", "gmg"])
            jacobi = programs.poisson([*words, "--solver", "cg", "--jacobi"])
            _require_same_problem(what, [ours["error"], jacobi["error"], peer.said["error"]])
            times.append(
                (
                    ours["multigrid"] + ours["time"],
                    ours["setup"] + ours["load"] + ours["time"],
                    peer.once("gamg"),
                    peer.once("whole"),
                    jacobi["time"],
                    jacobi["setup"] + jacobi["load"] + jacobi["time"],
                )
            )
    solution, whole, gamg, gamg_whole, plain, plain_whole = np.array(times).T
    _row(f"{what}: {GAMG}", solution, gamg, "PETSc AIJ, GAMG", 5)
    _row(f"{what}: {GAMG}, {NOTHING}", whole, gamg_whole, "PETSc AIJ, GAMG", 5)
    _row(f"{what}: {JACOBI}", solution, plain, "Jacobi-CG", None)
    _row(f"{what}: {JACOBI}, {NOTHING}", whole, plain_whole, "Jacobi-CG", None)


def _require_same_problem(what: str, errors: list[float]) -> None:
    """Compare errors: our norm is of a function, PETSc's is of its values at the nodes, a third as large."""
    if max(errors) > 5 * min(errors):
        raise RuntimeError(f"{what}: these are different problems, or not solved: errors {errors}")


def _row(case: str, ours: np.ndarray, peers: np.ndarray, peer_name: str, target: float | None) -> None:
    emit(
        BENCHMARK,
        f"time to solution, {case}",
        ours=float(np.median(ours)),
        peer=float(np.median(peers)),
        peer_name=peer_name,
        unit="s",
        target=target,
        ratio=estimate(peers / ours),
    )
