"""Operators on 129³ points compared with PETSc's assembled matrix and deal.II's matrix-free ones.

Speeds are millions of unknowns per second and core, of two busy ranks. Forests with hanging nodes are
compared with uniform meshes of about the same number of unknowns. All our operators are compared with the
roofline: the lower limit of multiply-adds in registers and of STREAM's triad from memory, for their counted
operations and bytes. Debian's deal.II is built without vector instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import programs
from common import emit, estimate
from programs import Program

from haloscope import HaloscopeError
from picture import Kernel, draw

BENCHMARK = "overlap"
ROUNDS = 9
LEVEL = 7  # of Q1: 2^21 elements
SCALAR = "deal.II, scalar build"


@dataclass(frozen=True)
class Row:
    """A comparison of one of our kernels with a case of a program."""

    case: str
    ours: str
    program: str
    peer: str
    peer_name: str
    target: float


ROWS = (
    Row("Q1 uniform, bricks, against AIJ", "q1", "aij", "matmult", "PETSc AIJ", 10),
    Row("Q1 uniform, general indices, against AIJ", "q1-general", "aij", "matmult", "PETSc AIJ", 3),
    Row("Q1 uniform, bricks, against deal.II", "q1", "dealii", "q1", SCALAR, 25),
    Row("Q1 uniform, general indices, against deal.II", "q1-general", "dealii", "q1", SCALAR, 8),
    Row("Q2 uniform against deal.II", "q2", "dealii", "q2", SCALAR, 5),
    Row("Q4 uniform against deal.II", "q4", "dealii", "q4", SCALAR, 3),
    Row("Q1 deformed against deal.II", "deformed-q1", "dealii", "deformed-q1", SCALAR, 4),
    Row("Q4 deformed against deal.II", "deformed-q4", "dealii", "deformed-q4", SCALAR, 2.3),
    Row("Q1 refined in a ball", "ball", "ours", "as-ball", "uniform mesh", 0.6),
    Row("Q1 refined in a band", "band", "ours", "as-band", "uniform mesh", 0.6),
    Row("Q1 refined on a sphere", "sphere", "ours", "as-sphere", "uniform mesh", 0.4),
)
KERNELS = {
    "q1": "Q1, bricks",
    "q1-general": "Q1, general indices",
    "q2": "Q2",
    "q4": "Q4",
    "deformed-q1": "Q1 deformed",
    "deformed-q4": "Q4 deformed",
    "ball": "Q1, ball",
    "band": "Q1, band",
    "sphere": "Q1, sphere",
}
CASES = (*(row.case for row in ROWS), *(f"of the roofline: {name}" for name in KERNELS.values()))


def measure() -> None:
    builders: dict[str, tuple[Callable[[], Path], int]] = {
        "ours": (programs.ours, LEVEL),
        "roofline": (programs.roofline, 2**25),
        "aij": (programs.aij, 2**LEVEL),
        "dealii": (programs.dealii, LEVEL),
    }
    with ExitStack() as stack:
        running: dict[str, Program] = {}
        for name, (build, size) in builders.items():
            try:
                running[name] = stack.enter_context(Program(build(), str(size)))
            except HaloscopeError as error:
                programs.missing(f"{name}: {error}")
        _measure(running)


def _measure(running: dict[str, Program]) -> None:
    if "ours" not in running:
        return
    rows = [row for row in ROWS if row.program in running]
    wanted = {(row.program, row.peer) for row in rows} | {("ours", case) for case in KERNELS}
    wanted |= {("roofline", case) for case in running["roofline"].cases}
    # Compared cases run one after the other.
    order = sorted(wanted, key=lambda one: (one[1].removeprefix("as-"), one[0]))
    seconds: dict[tuple[str, str], list[float]] = {one: [] for one in order}
    for turn in range(ROUNDS):
        for program, case in order if turn % 2 == 0 else reversed(order):
            seconds[program, case].append(running[program].seconds(case))
    taken = {one: np.array(values) for one, values in seconds.items()}

    def speeds(program: str, case: str) -> np.ndarray:
        return running[program].cases[case].unknowns / programs.RANKS / taken[program, case] / 1e6

    for row in rows:
        ours, peer = speeds("ours", row.ours), speeds(row.program, row.peer)
        emit(
            BENCHMARK,
            row.case,
            ours=float(np.median(ours)),
            peer=float(np.median(peer)),
            peer_name=row.peer_name,
            unit="MDoF/s a core",
            ratio=estimate(ours / peer),
            target=row.target,
        )
    _measure_roofline(running, taken)


def _measure_roofline(running: dict[str, Program], taken: dict[tuple[str, str], np.ndarray]) -> None:
    limits = running["roofline"].cases
    bandwidth = limits["triad"].bytes / taken["roofline", "triad"] / 1e9
    peak = limits["multiply-add"].flops / taken["roofline", "multiply-add"] / 1e9
    kernels = []
    for case, name in KERNELS.items():
        work = running["ours"].cases[case]
        reached = work.flops / taken["ours", case] / 1e9
        allowed = np.minimum(peak, bandwidth * work.flops / work.bytes)
        emit(
            BENCHMARK,
            f"of the roofline: {name}",
            ours=float(np.median(reached)),
            peer=float(np.median(allowed)),
            peer_name="roofline",
            unit="GFlop/s a core",
            ratio=estimate(reached / allowed),
        )
        kernels.append(Kernel(name, work.flops / work.bytes, float(np.median(reached))))
    draw(float(np.median(bandwidth)), float(np.median(peak)), kernels)
