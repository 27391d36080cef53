"""Policies compared with the fixed half in the matrix-free operator, Q4 on 129³ points.

In conjugate gradients all messages of the second of two ranks are late by three quarters of the first
rank's work between messages. Messages of the first rank have no latency. The second rank owns none of the
shared nodes. It receives the input and sends contributions, which arrive in time only if it computes its
mirrors early. Polls do so. Dynamic α does so because the first rank sends its waiting time.
A MatVec's time is that of work on inner elements and of waiting, as in the paper.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars
import programs
from common import emit, estimate

BENCHMARK = "overlap"
ROUNDS, APPLICATIONS, LEFT_OUT = 3, 150, 30
PROBLEM = ["--level", "5", "--degree", "4", "--iterations", str(APPLICATIONS)]
POLICIES = ("fixed", "dynamic", "test", "adaptive")
POLLS = POLICIES[2:]
CASES = (
    *(f"operator, polling when nothing is late: {name}" for name in POLLS),
    *(f"operator, MatVec, contributions late: {name}" for name in POLICIES[1:]),
)


def measure() -> None:
    quiet: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name in ("fixed", *POLLS):
            quiet.setdefault(name, []).append(_run(name, "matvec", 1e-4))
    for name in POLLS:
        _emit(f"operator, polling when nothing is late: {name}", quiet, name, 0.99)
    work = float(np.median(quiet["fixed"]))
    late: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name in POLICIES:
            late.setdefault(name, []).append(_run(name, "cg", work / 50, 0.75 * work))
    for name in POLICIES[1:]:
        target = 1.1 if name in POLLS else None
        _emit(f"operator, MatVec, contributions late: {name}", late, name, target)


def _emit(case: str, times: dict[str, list[float]], name: str, target: float | None) -> None:
    ours, peer = np.array(times[name]), np.array(times["fixed"])
    emit(
        BENCHMARK,
        case,
        ours=1e3 * float(np.median(ours)),
        peer=1e3 * float(np.median(peer)),
        peer_name="fixed half",
        unit="ms",
        ratio=estimate(peer / ours),
        target=target,
    )


def _run(policy: str, solver: str, epsilon: float, late: float = 0) -> float:
    """Return the median of the first rank's times of a MatVec."""
    with tempfile.TemporaryDirectory() as directory:
        record, injected = Path(directory) / "record.csv", Path(directory) / "injected.csv"
        words = [*PROBLEM, "--policy", policy, "--epsilon", f"{epsilon:.3g}", "--solver", solver]
        inject = []
        if late > 0:
            once = f"1:0:{late * 1e6:.1f}us:1000000"
            inject = ["--once", once, "--no-collectives", "--quiet"]
            inject += ["-o", str(injected)]
        programs.poisson([*words, "--csv", str(record)], inject)
        rows = polars.read_csv(record).filter(rank=0)[LEFT_OUT:]
    return float(np.median((rows["input_block"] + rows["output_block"]).to_numpy()))
