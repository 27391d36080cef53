"""Policies against the fixed half, with latency by the injector, on two ranks; a toy.

A chain of cells with some milliseconds of independent work. In the paper's scenario contributions
to neighbours are late while the input comes at once; with two regimes input and output are late in
turn, each for seven steps on average. What there is to hide is the step without any overlap, less
the longer of work and latencies; the hidden share is the part of it that a policy saves. Sides
alternate.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path

import numpy as np
import polars
import programs
from common import MPI_ENVIRONMENT, emit, estimate
from numpy.typing import NDArray

from haloscope.watch._applications import toolchain

__all__ = ["CASES", "measure"]

BENCHMARK = "overlap"
HALOSCOPE = Path(sys.executable).with_name("haloscope")
CELLS, WORK, STEPS, LEFT_OUT, ROUNDS, STAY = 20000, 60, 120, 20, 1, 0.85
POLICIES = {"fixed": 0, "dynamic": 1, "test": 2, "adaptive": 3, "regimes": 4}
LATE = {  # the share of the work that the output takes, and what one may expect
    "half the work, lognormal": ("lognormal:{:.1f}us,0.4", 0.5),
    "three quarters of the work": ("constant:{:.1f}us", 0.75),
}
CASES = (
    *(
        f"{what}, {case}: {name}"
        for case in LATE
        for name in ("dynamic", "test", "adaptive")
        for what in ("hidden", "step")
    ),
    *(f"hidden, two regimes: {name}" for name in ("regimes", "test")),
    *(f"polling when nothing is late: {name}" for name in ("test", "adaptive")),
)
Floats = NDArray[np.float64]


def measure() -> None:
    words = [str(programs.toy()), f"cells={CELLS}", f"work={WORK}", f"steps={STEPS}"]
    work = float(np.median([_work(words) for _ in range(3)]))
    for case, (latency, share) in LATE.items():
        _measure_late(words, work, case, latency.format(share * work * 1e6))
    _measure_regimes(words, work)
    _measure_polls(words)


def _measure_late(words: Sequence[str], work: float, case: str, latency: str) -> None:
    shares: dict[str, list[float]] = {}
    steps: dict[str, list[float]] = {}
    for seed in range(ROUNDS):
        own = _work(words)
        for name in ("fixed", "dynamic", "test", "adaptive"):
            arguments = [*_policy(name, work), "quick_input=1"]
            times, late = _run([*words, *arguments], latency, seed)
            hidden = (own + late[:, 0] - times) / np.minimum(own, late[:, 0])
            shares.setdefault(name, []).append(float(np.median(hidden)))
            steps.setdefault(name, []).append(float(np.median(times)))
    for name in ("dynamic", "test", "adaptive"):
        _emit_shares(f"hidden, {case}: {name}", shares, name, "fixed")
        emit(
            BENCHMARK, f"step, {case}: {name}", ours=1e3 * estimate(steps[name]).median,
            peer=1e3 * estimate(steps["fixed"]).median, peer_name="fixed half", unit="ms",
            ratio=estimate(np.array(steps["fixed"]) / np.array(steps[name])), target=1.1,
        )  # fmt: skip


def _measure_regimes(words: Sequence[str], work: float) -> None:
    """α of the regimes against dynamic α; polls know at once and are no question of α."""
    shares: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "regimes.json"
        path.write_text(json.dumps(_regimes(0.7 * work)))
        for seed in range(ROUNDS):
            own = _work(words)
            for name in ("dynamic", "regimes", "test"):
                arguments = [*_policy(name, work), f"late={0.7 * work}", f"stay={STAY}"]
                times, late = _run([*words, *arguments], f"model:{path}", seed, "--every", "1")
                hideable = np.minimum(own, late.sum(axis=1))
                hidden = own + late.sum(axis=1) - times
                shares.setdefault(name, []).append(float(hidden.sum() / hideable.sum()))
    for name in ("regimes", "test"):
        _emit_shares(f"hidden, two regimes: {name}", shares, name, "dynamic", target=None)


def _work(words: Sequence[str]) -> float:
    """Of a step, when nothing is late."""
    return float(np.median(_run([*words, "policy=0"])[0]))


def _measure_polls(words: Sequence[str]) -> None:
    """Nothing is late: all that polls can do is cost."""
    for name in ("test", "adaptive"):
        pairs = [
            [float(np.median(_run([*words, *_policy(policy, 1)])[0])) for policy in (name, "fixed")]
            for _ in range(ROUNDS)
        ]
        ours, peers = np.array(pairs).T
        emit(
            BENCHMARK, f"polling when nothing is late: {name}", unit="ms",
            ours=1e3 * estimate(ours).median, peer=1e3 * estimate(peers).median,
            peer_name="fixed half", ratio=estimate(peers / ours), target=0.99,
        )  # fmt: skip


def _emit_shares(
    case: str, shares: Mapping[str, list[float]], name: str, peer: str, target: float | None = 0.9
) -> None:
    share = estimate(shares[name])
    emit(
        BENCHMARK, case, ours=100 * share.median, peer=100 * estimate(shares[peer]).median,
        peer_name=f"{peer} alpha", unit="%", ratio=share, target=target,
    )  # fmt: skip


def _policy(name: str, work: float) -> list[str]:
    return [f"policy={POLICIES[name]}", f"epsilon={work / 100:.3g}", "theta=0.5"]


def _regimes(late: float) -> dict[str, object]:
    """Each message is an instance: input and output in turn, and all ranks in the same regime."""
    quick, stay = late / 20, STAY
    states = 4  # late input, its quick output, quick input, its late output
    chain = np.zeros((states, states))
    chain[0, 1] = chain[2, 3] = 1
    chain[1, [0, 2]] = chain[3, [2, 0]] = stay, 1 - stay
    is_late = [True, False, False, True]
    to = [[[0.0, 1.0]] * 2 if one else [[1.0, 0.0]] * 2 for one in is_late]
    return {
        "format": "haloscope-regimes", "version": 1, "unit": "s", "family": "lognormal",
        "regimes": [
            {"mean": mean, "std": mean * std, "share": 0.5, "log_mean": log(mean), "log_std": std}
            for mean, std in ((quick, 0.3), (late, 0.05))
        ],
        "start": [0.5, 0.5], "transition": [[0.5, 0.5]] * 2,
        "machine": {
            "start": [0.5, 0, 0.5, 0], "transition": chain.tolist(), "transitions": to,
        },
    }  # fmt: skip


def _run(
    program: Sequence[str], latency: str | None = None, seed: int = 0, *options: str
) -> tuple[Floats, Floats]:
    """Seconds of each step, and what the messages of each step took that its rank got.

    Ranks start a step together. Those of the two ranks stand one after the other.
    """
    launch = [str(toolchain().launcher), "-n", "2", "--bind-to", "core", *program]
    with tempfile.TemporaryDirectory() as directory:
        record = Path(directory) / "injected.csv"
        if latency is not None:
            inject = ["--latency", latency, "--seed", str(seed), "--no-collectives", "--quiet"]
            launch = [str(HALOSCOPE), "inject", *inject, *options, "-o", str(record), "--", *launch]
        done = subprocess.run(
            launch, env=MPI_ENVIRONMENT, capture_output=True, text=True, check=True
        )
        rows = [line.split() for line in done.stdout.splitlines() if " step " in line]
        times = np.array([[float(row[2]) for row in rows if row[0] == str(r)] for r in (0, 1)])
        late = np.zeros((2, STEPS, 1))
        if latency is not None:
            table = polars.read_csv(record)
            drawn = [table.filter(partner=rank)["latency"].to_numpy() for rank in (0, 1)]
            late = np.array([one[: len(one) // STEPS * STEPS].reshape(STEPS, -1) for one in drawn])
    return times[:, LEFT_OUT:].ravel(), late[:, LEFT_OUT:].reshape(times[:, LEFT_OUT:].size, -1)
