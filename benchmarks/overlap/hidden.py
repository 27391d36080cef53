"""Policies compared with the fixed half, with injected latency, for a small program on two ranks.

A chain of cells has some milliseconds of independent work. In the paper's scenario contributions to
neighbours are late, and the input has no latency; two policies alternate by step. With two regimes input and
output are late alternately, each for seven steps on average, and policies alternate by run. The hideable time
is the minimum of a step's work and its messages' latency. The hidden share is the part of the hideable time
by which the step is shorter than without overlap.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars
import programs
from common import MPI_ENVIRONMENT, emit, estimate
from numpy.typing import NDArray
from virtual import POLICIES, STAY, regimes_in_turn

BENCHMARK = "overlap"
CELLS, WORK, STEPS, LEFT_OUT, ROUNDS = 20000, 60, 240, 40, 7
LATE = {  # as shares of the work
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


@dataclass(frozen=True)
class Steps:
    """Seconds of each step of both ranks: total, work, and latency of the messages that the rank received."""

    seconds: Floats
    work: Floats
    late: Floats

    def every_second(self, first: int) -> Steps:
        """Return the steps of one of two alternating policies."""
        seconds, work, late = (of[:, first::2] for of in (self.seconds, self.work, self.late))
        return Steps(seconds, work, late)

    def hidden(self) -> float:
        """Return the median of the hidden share, which disturbed steps affect little."""
        hideable = np.minimum(self.work, self.late)
        return float(np.median((self.work + self.late - self.seconds) / hideable))

    def hidden_on_average(self) -> float:
        """Return the hidden share of all steps together."""
        hideable = np.minimum(self.work, self.late)
        return float((self.work + self.late - self.seconds).sum() / hideable.sum())


def chain() -> list[str]:
    """Return the command of the program."""
    return [str(programs.toy()), f"cells={CELLS}", f"work={WORK}", f"steps={STEPS}"]


def measure() -> None:
    words = chain()
    work = float(np.median([np.median(run([*words, "policy=0"]).work) for _ in range(3)]))
    for case, (latency, share) in LATE.items():
        _measure_late(words, work, case, latency, share)
    _measure_regimes(words, work)
    _measure_polls(words)


def _measure_late(words: Sequence[str], work: float, case: str, latency: str, share: float) -> None:
    late = latency.format(share * work * 1e6)
    for name in ("dynamic", "test", "adaptive"):
        shares: dict[str, list[float]] = {name: [], "fixed": []}
        steps: dict[str, list[float]] = {name: [], "fixed": []}
        for seed in range(ROUNDS):
            arguments = [*words, *policy_words(name, work), "against=0", "quick_input=1"]
            both = run(arguments, late, seed)
            for first, which in enumerate((name, "fixed")):
                mine = both.every_second(first)
                shares[which].append(mine.hidden())
                steps[which].append(float(np.median(mine.seconds)))
        _emit_shares(f"hidden, {case}: {name}", shares, name, "fixed half", 0.9)
        # The fixed half also hides a latency of half of the work.
        _emit_times(f"step, {case}: {name}", steps, name, 1.1 if share > 0.5 else None)


def _measure_regimes(words: Sequence[str], work: float) -> None:
    """Print α of the regimes compared with dynamic α, and polls, which do not depend on α."""
    shares: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "regimes.json"
        path.write_text(json.dumps(regimes_in_turn(0.7 * work)))
        for seed in range(ROUNDS):
            for name in ("dynamic", "regimes", "test"):
                arguments = [*policy_words(name, work), f"late={0.7 * work}", f"stay={STAY}"]
                steps = run([*words, *arguments], f"model:{path}", seed)
                shares.setdefault(name, []).append(steps.hidden_on_average())
    for name in ("regimes", "test"):
        _emit_shares(f"hidden, two regimes: {name}", shares, name, "dynamic alpha", None)


def _measure_polls(words: Sequence[str]) -> None:
    """Print the cost of polls if nothing is late."""
    for name in ("test", "adaptive"):
        steps: dict[str, list[float]] = {name: [], "fixed": []}
        for _ in range(ROUNDS):
            both = run([*words, *policy_words(name, 1), "against=0"])
            for first, which in enumerate((name, "fixed")):
                steps[which].append(float(np.median(both.every_second(first).seconds)))
        _emit_times(f"polling when nothing is late: {name}", steps, name, 0.99)


def _emit_shares(
    case: str, shares: Mapping[str, list[float]], name: str, peer_name: str, target: float | None
) -> None:
    share, peer = estimate(shares[name]), next(one for who, one in shares.items() if who != name)
    emit(
        BENCHMARK,
        case,
        ours=100 * share.median,
        peer=100 * float(np.median(peer)),
        peer_name=peer_name,
        unit="%",
        ratio=share,
        target=target,
    )


def _emit_times(case: str, steps: Mapping[str, list[float]], name: str, target: float | None) -> None:
    ours, peer = np.array(steps[name]), np.array(steps["fixed"])
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


def policy_words(name: str, work: float) -> list[str]:
    """Return the program's arguments for a policy; `work` is the work's duration in seconds."""
    return [f"policy={POLICIES[name]}", f"epsilon={work / 100:.3g}", "theta=0.5"]


def run(program: Sequence[str], latency: str | None = None, seed: int = 0, *options: str) -> Steps:
    """Return all steps except the first ones. Both ranks start each step together."""
    launch = programs.launch(*program)
    with tempfile.TemporaryDirectory() as directory:
        record = Path(directory) / "injected.csv"
        if latency is not None:
            inject = ["--latency", latency, "--seed", str(seed), "--no-collectives", "--quiet"]
            inject += [*options, "-o", str(record)]
            launch = [str(programs.HALOSCOPE), "inject", *inject, "--", *launch]
        done = subprocess.run(launch, env=MPI_ENVIRONMENT, capture_output=True, text=True, check=True)
        rows = [line.split() for line in done.stdout.splitlines() if " step " in line]
        table = np.array([[float(word) for word in row[2:]] for row in rows]).reshape(2, STEPS, -1)
        late = np.zeros((2, STEPS))
        if latency is not None:
            drawn = polars.read_csv(record)
            for rank in (0, 1):
                got = drawn.filter(partner=rank)["latency"].to_numpy()
                late[rank] = got[: len(got) // STEPS * STEPS].reshape(STEPS, -1).sum(axis=1)
    kept = table[:, LEFT_OUT:]
    return Steps(kept[:, :, 0], kept[:, :, 5], late[:, LEFT_OUT:])
