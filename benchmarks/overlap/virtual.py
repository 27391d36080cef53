"""Policies of the overlap library under the injector's distributions, in virtual time (virtual.cpp).

Times are in units of the independent work. A law is a distribution of latencies. Input and contributions are
late by 0.4 of the work on average, or contributions alone by 0.7. A perfect schedule, which knows both
latencies, takes the maximum of the work and the sum of the latencies.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from haloscope.markov import read_latency

POLICIES = {"fixed": 0, "dynamic": 1, "regimes": 4, "test": 2, "adaptive": 3}
POLLS = ("test", "adaptive")
LATE = {"both": 0.4, "output": 0.7}
"""Late messages, and their mean latency as a share of the work."""
SLOW = {"both": 0.76, "output": 0.9}
"""The mean latency in the slow one of two regimes."""
ITEMS, EPSILON = 1000, 0.02
STAY = 0.85
"""The probability that the next step has the same regime."""
WORK = 1e-3  # seconds of the work in virtual.cpp
ROOT = Path(__file__).resolve().parents[2]
SOURCES = (
    Path(__file__).with_suffix(".cpp"),
    *sorted((ROOT / "src/hide/overlap").glob("*.cpp")),
    ROOT / "src/predict/latencies/plan.cpp",
)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Law:
    """A distribution; `word` returns the value of `haloscope inject --latency` for a mean in µs."""

    word: Callable[[float], str]
    spread: float
    """Standard deviation of the logarithm, for the policy `regimes`, which needs a model."""


def _sometimes(late: str, work: float) -> str:
    """Return seconds, one per line: one message in twenty has six times the latency of the others."""
    usual = LATE[late] * work / 1.25
    factors = [*np.linspace(0.9, 1.1, 950), *np.linspace(5.4, 6.6, 50)]
    return "\n".join(f"{usual * factor:.9g}" for factor in factors)


def _chain(stays: float) -> list[list[float]]:
    return [[stays, 1 - stays], [1 - stays, stays]]


def regimes_in_turn(late: float, stay: float = STAY) -> dict[str, object]:
    """Return a model in which input and output are late alternately, with all ranks in the same regime.

    Each message is an instance.
    """
    states = 4  # late input, its quick output, quick input, its late output
    chain = np.zeros((states, states))
    chain[0, 1] = chain[2, 3] = 1
    chain[1, [0, 2]] = chain[3, [2, 0]] = stay, 1 - stay
    is_late = [True, False, False, True]
    to = [[[0.0, 1.0]] * 2 if one else [[1.0, 0.0]] * 2 for one in is_late]
    machine = {"start": [0.5, 0, 0.5, 0], "transition": chain.tolist(), "transitions": to}
    return _model(late, [[0.5] * 2] * 2) | {"machine": machine}


def _model(late: float, transition: Sequence[Sequence[float]]) -> dict[str, object]:
    """Return a model of two regimes: latencies of `late` / 20, and of `late`."""
    return {
        "format": "haloscope-regimes",
        "version": 1,
        "unit": "s",
        "family": "lognormal",
        "regimes": [
            {"mean": mean, "std": mean * std, "share": 0.5, "log_mean": log(mean), "log_std": std}
            for mean, std in ((late / 20, 0.3), (late, 0.05))
        ],
        "start": [0.5, 0.5],
        "transition": [list(row) for row in transition],
    }


def _in_regimes(late: str, work: float) -> str:
    """Return a model with late and fast regimes; if both are late, input and output are so alternately."""
    slow = SLOW[late] * work
    return json.dumps(regimes_in_turn(slow) if late == "both" else _model(slow, _chain(STAY)))


FILES: Mapping[str, Callable[[str, float], str]] = {"empirical": _sometimes, "model": _in_regimes}
LAWS: Mapping[str, Law] = {
    "none": Law(lambda mean: "none", 1.0),
    "constant": Law(lambda mean: f"constant:{mean:.3f}us", 0.05),
    "normal": Law(lambda mean: f"normal:{mean:.3f}us,{mean / 5:.3f}us", 0.2),
    "lognormal": Law(lambda mean: f"lognormal:{mean / exp(0.125):.3f}us,0.5", 0.5),
    "gamma": Law(lambda mean: f"gamma:2,{mean / 2:.3f}us", 0.8),
    "empirical": Law(lambda mean: "empirical:{file}", 0.5),
    "model": Law(lambda mean: "model:{file}", 0.05),
}
"""The injector's distributions, by the first word."""


def word(law: str, late: str, work: float, directory: Path) -> str:
    """Return the value of `haloscope inject --latency`; `work` is the work's duration in seconds."""
    text = LAWS[law].word(LATE[late] * work * 1e6)
    if law in FILES:
        path = directory / f"{law}.txt"
        path.write_text(FILES[law](late, work))
        text = text.format(file=path)
    return text


@dataclass(frozen=True)
class Steps:
    """One row per step; times in units of the work."""

    took: Floats
    alpha: Floats
    polls: Floats
    latencies: Floats

    @property
    def perfect(self) -> Floats:
        """Times of a schedule that knows the latencies."""
        found: Floats = np.maximum(1.0, self.latencies.sum(axis=1))
        return found

    @property
    def excess(self) -> float:
        """Additional time of all steps, as a share of a perfect schedule's time."""
        return float(self.took.sum() / self.perfect.sum() - 1)

    def missed(self, deadline: float) -> float:
        """Return the share of late steps among those that a perfect schedule ends in time."""
        possible = self.perfect <= deadline
        return float((self.took[possible] > deadline).mean())


@dataclass(frozen=True)
class Simulation:
    """Run the program of virtual.cpp."""

    program: Path
    steps: int = 2000
    left_out: int = 100
    """First steps, in which α converges."""

    def __call__(
        self, law: str, late: str, policy: str, poll: float = 2e-4, seed: int = 0, items: int = ITEMS
    ) -> Steps:
        """Return a rank's steps; `poll` is in units of the work."""
        words = [POLICIES[policy], round(poll * WORK * 1e9), self.steps, late, items]
        words.append(round(EPSILON * WORK * 1e9))
        with tempfile.TemporaryDirectory() as directory:
            model = read_latency(word(law, late, WORK, Path(directory)))
        plan = "none" if model is None else f"seed {seed} intra {model.text()}"
        done = subprocess.run(
            [str(self.program), *map(str, words)],
            input=f"{plan}\n{_model_text(law, late)}",
            capture_output=True,
            text=True,
            check=True,
        )
        table = np.array([line.split() for line in done.stdout.splitlines()], dtype=np.float64)
        table = table[self.left_out :]
        nanoseconds = WORK * 1e9
        return Steps(table[:, 0] / nanoseconds, table[:, 1], table[:, 2], table[:, 3:] / nanoseconds)


def _model_text(law: str, late: str) -> str:
    """Return the model for the policy `regimes`: the law's own regimes, or one."""
    average = WORK * (LATE[late] if law != "none" else 1e-6)
    spread, soon = LAWS[law].spread, f"{log(average / 20)} 1 0"
    if law != "model":
        alone = f"{log(average)} {spread} 0"
        first = alone if late == "both" else soon
        return f"family lognormal start 1 transition 1 input {first} output {alone}"
    slow = f"{log(SLOW[late] * WORK)} {spread} 0"
    chain = " ".join(str(value) for row in _chain(STAY) for value in row)
    # Late input, then late contributions; or none late, then late contributions.
    inputs = f"{slow} {soon}" if late == "both" else f"{soon} {soon}"
    return f"family lognormal start 0.5 0.5 transition {chain} input {inputs} output {soon} {slow}"
