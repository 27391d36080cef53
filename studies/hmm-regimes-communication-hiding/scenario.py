"""Latencies that the study injects: the paper's Table 1, and its Figure 12 with and without event.

Table 1 has the times T of MatVecs with half of the work before the mirror elements. T does not include
hidden latency, so the latency of the output exchange is

    latency = WORK / 2 + (T − WORK) − SKEW

WORK / 2 is the hidden part. SKEW is the delay of the neighbours' sends by noise. T − WORK has the printed
mean of its regime less WORK, and the printed variance less that of the work. Regimes 1 and 2 are log-normal.
Regime 3's deviation is twice its mean. It is a log-normal that is shifted by WORK / 2. A model file has no
shifts, so regime 3 consists of seven pieces, which preserve mean and deviation.

These values are not in the table and were chosen. A rank stays in regime 1 or 2 for 25 instances on average.
The whole machine is slow (regime 3 on all ranks) for 20 instances on average, with a new piece per instance.
The input exchange takes 20 µs: in Figure 5 nearly all of it is below ε.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]

ELEMENTS = (24, 26, 30)  # 18720 a rank, as in section 3.2
INDEPENDENT = 22 * 24 * 28  # of them, for a rank with neighbours on all sides
WORK = 1.70e-3  # seconds for these: slightly below Table 1's lowest mean
NOISE = 0.02  # relative standard deviation of the work between instances
MEANS, STDS = (1.79e-3, 1.89e-3, 2.89e-3), (5.89e-5, 5.49e-5, 6.19e-3)  # fixed alpha, CG
SHARES = (0.33, 0.32, 0.35)
STAYS, SLOW_STAYS = 25.0, 20.0  # instances
EDGES = (0.0, 0.25, 0.5, 0.75, 0.9, 0.97, 0.995, 1.0)  # quantiles that bound regime 3's pieces
EPSILON = 1e-4  # seconds, as in Figure 5
THETA = 0.05  # not in the paper
SKEW = 6e-5  # seconds by which the last of seven neighbours sends later than the rank itself


@dataclass(frozen=True)
class Latencies:
    """A regime model of latencies in seconds.

    `regime` is the paper's regime of each state. `machine` has the transitions of the machine's states,
    `transitions` those of the ranks' states in each of them.
    """

    name: str
    means: Floats
    stds: Floats
    regime: tuple[int, ...]
    transitions: Floats  # (machine states, states, states)
    machine: Floats  # (machine states, machine states)

    @property
    def logs(self) -> tuple[Floats, Floats]:
        """Means and standard deviations of the logarithms."""
        variance = np.log1p((self.stds / self.means) ** 2)
        return np.log(self.means) - variance / 2, np.sqrt(variance)

    def scaled(self, factor: float) -> Latencies:
        """Return the model with all latencies multiplied by a factor."""
        return Latencies(
            self.name, self.means * factor, self.stds * factor, self.regime, self.transitions, self.machine
        )

    def lines(self) -> str:
        """Return the text that ranks.c and matvecs.c read."""
        logs = self.logs
        rows = [[len(self.means), len(self.machine)], stationary(self.machine), *self.machine]
        for matrix in self.transitions:
            rows += [stationary(matrix), *matrix]
        rows += [list(row) for row in zip(*logs, self.regime, strict=True)]
        rows += self._merged()
        return "\n".join(" ".join(f"{value:.17g}" for value in row) for row in rows) + "\n"

    def _merged(self) -> list[Floats]:
        """Return the model of a single rank with one state per regime, for the policy `regimes`."""
        whole = np.tensordot(stationary(self.machine), self.transitions, 1)
        shares, regimes = stationary(whole), np.array(self.regime)
        member = np.equal.outer(np.arange(regimes.max() + 1), regimes).astype(float)
        start = member @ shares
        means = member @ (shares * self.means) / start
        stds = np.sqrt(member @ (shares * (self.stds**2 + self.means**2)) / start - means**2)
        transition = (member * shares) @ whole @ member.T / start[:, None]
        logs = Latencies(self.name, means, stds, (), transition, self.machine).logs
        return [np.array([len(start)]), start, *transition, *np.transpose(logs)]

    def record(self) -> dict[str, object]:
        """Return the contents of a regime model's file: docs/reference/regimes-model.md."""
        weights = stationary(self.machine)
        transition = np.tensordot(weights, self.transitions, 1)
        shares = stationary(transition)
        regimes = [
            {"mean": m, "std": s, "share": p, "log_mean": a, "log_std": b}
            for m, s, p, a, b in zip(
                *(array.tolist() for array in (self.means, self.stds, shares, *self.logs)), strict=True
            )
        ]
        return {
            "format": "haloscope-regimes",
            "version": 1,
            "unit": "s",
            "family": "lognormal",
            "memory": True,
            "regimes": regimes,
            "start": shares.tolist(),
            "transition": transition.tolist(),
            "fit": {},
            "source": {"name": self.name, "regimes of the paper": [r + 1 for r in self.regime]},
            "machine": {
                "start": weights.tolist(),
                "transition": self.machine.tolist(),
                "transitions": self.transitions.tolist(),
            },
        }

    def save(self, path: Path) -> None:
        """Write the file of the model."""
        path.write_text(json.dumps(self.record(), indent=1) + "\n", "utf-8")


def stationary(transition: Floats) -> Floats:
    """Return the share of each state in a long run."""
    count = len(transition)
    system = np.vstack([transition.T - np.eye(count), np.ones(count)])
    shares = np.linalg.lstsq(system, np.append(np.zeros(count), 1), rcond=None)[0]
    found: Floats = np.maximum(shares, 0) / np.maximum(shares, 0).sum()
    return found


def pieces(mean: float, std: float) -> tuple[Floats, Floats, Floats]:
    """Cut a log-normal distribution at `EDGES`; return means, deviations and weights of the pieces."""
    sigma = math.sqrt(math.log1p((std / mean) ** 2))
    mu = math.log(mean) - sigma**2 / 2
    weights = np.diff(EDGES)
    with np.errstate(divide="ignore"):
        places = ndtri(np.array(EDGES))
    first, second = (
        math.exp(r * mu + (r * sigma) ** 2 / 2) * np.diff(ndtr(places - r * sigma)) / weights for r in (1, 2)
    )
    return first, np.sqrt(second - first**2), weights


def _excess(regime: int) -> tuple[float, float]:
    return MEANS[regime] - WORK, math.sqrt(STDS[regime] ** 2 - (NOISE * WORK) ** 2)


def table1(
    together: bool = True, shares: tuple[float, float, float] = SHARES, stays: float = SLOW_STAYS
) -> Latencies:
    """Return three regimes. If `together`, the whole machine is slow, else each rank independently."""
    fast = [_excess(0), _excess(1)]
    piece_means, piece_stds, weights = pieces(*_excess(2))
    means = WORK / 2 - SKEW + np.array([fast[0][0], fast[1][0], *piece_means])
    stds = np.array([fast[0][1], fast[1][1], *piece_stds])
    calm_shares = np.array(shares[:2]) / sum(shares[:2])
    states = len(means)
    calm = np.zeros((states, states))
    leaves = 2 * calm_shares[::-1] / STAYS  # the mean stay in both is STAYS
    calm[0, :2], calm[1, :2] = (1 - leaves[0], leaves[0]), (leaves[1], 1 - leaves[1])
    calm[2:, :2] = calm_shares
    into = np.eye(states)[2:][:, None, :].repeat(states, axis=1)  # piece by piece
    transitions = np.concatenate([calm[None], into])
    slower = shares[2] / stays / (1 - shares[2])
    machine = np.vstack(
        [
            np.append(1 - slower, slower * weights),
            np.column_stack(
                [np.full(len(weights), 1 / stays), np.tile((1 - 1 / stays) * weights, (len(weights), 1))]
            ),
        ]
    )
    order = np.argsort(means, kind="stable")
    regime = np.array([0, 1] + [2] * len(weights))[order]
    transitions = transitions[:, order][:, :, order]
    if not together:
        transitions, machine = _alone(means[order], regime, weights), np.ones((1, 1))
    name = "table1" if together else "independent"
    return Latencies(name, means[order], stds[order], tuple(regime.tolist()), transitions, machine)


def _alone(means: Floats, regime: NDArray[np.int64], weights: Floats) -> Floats:
    """Return transitions of independent ranks: each regime lasts 25 instances; slow ones use any piece."""
    within = np.ones(len(means))
    within[regime == 2] = weights
    a, b, c = SHARES
    flow = np.array([[0, a + b - c, a + c - b], [a + b - c, 0, b + c - a], [a + c - b, b + c - a, 0]])
    after = flow / flow.sum(axis=1, keepdims=True) / STAYS + np.eye(3) * (1 - 1 / STAYS)
    found: Floats = (after[regime][:, regime] * within)[None]
    return found


def frontera() -> Latencies:
    """Return regimes 1 and 2, and regime 3 for 5 % of the MatVecs, three at a time."""
    return table1(True, (0.48, 0.47, 0.05), 3.0)


def calm() -> Latencies:
    """Return regimes 1 and 2 only."""
    whole = table1()
    keep = np.flatnonzero(np.array(whole.regime) < 2)
    calm_state = whole.transitions[0][np.ix_(keep, keep)]
    return Latencies("quiet", whole.means[keep], whole.stds[keep], (0, 1), calm_state[None], np.ones((1, 1)))


SCENARIOS: dict[str, Callable[[], Latencies]] = {
    "table1": table1,
    "event": frontera,
    "quiet": calm,
    "independent": lambda: table1(False),
}
EVENT = (0.45, 0.62, 6.0)  # begin and end as shares of the run; factor of latencies


if __name__ == "__main__":
    import sys

    table1().save(Path(sys.argv[1]))
