"""Regimes: fits and decoding compared with hmmlearn, and Algorithm 1 compared with reading the same numbers.

Timings are three Gaussian regimes of microseconds. hmmlearn takes the same number of steps from the same
parameters, without priors, on one core, because it uses only one. The profile is that of `bench-explain`,
7168 ranks × 8192 instances. Its peer, `numpy.fromfile`, reads the same numbers from a plain file. Both are in
the page cache. A part without a peer measures how often statements are correct: `truths.py`.
"""

from __future__ import annotations

import argparse
import logging
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hmmlearn.hmm import GaussianHMM
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import Estimate, emit, estimate
from depth import measure_depth
from synthetic import REGION, packed, profile
from truths import measure_truths

import haloscope
from haloscope.explain import RegimeModel
from haloscope.markov import Timings, find_regimes

BENCHMARK = "regimes"
RANKS, INSTANCES = 20, 8192
STEPS = 20
MEANS = np.array([20e-6, 36e-6, 120e-6])
STAYING = 0.95

Floats = NDArray[np.float64]


def seconds(action: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def pairs(ours: Callable[[], Any], peer: Callable[[], Any], rounds: int) -> tuple[Floats, Floats]:
    """Return the seconds of both sides, which alternate; the first round does not count."""
    times = np.array([(seconds(ours), seconds(peer)) for _ in range(rounds + 1)])[1:]
    return times[:, 0], times[:, 1]


def report(
    case: str, times: tuple[Floats, Floats], peer_name: str, target: float | None, unit: str = "ms"
) -> None:
    ours, peer = times
    scale = {"ms": 1e3, "s": 1.0}[unit]
    emit(
        BENCHMARK,
        case,
        ours=scale * estimate(ours).median,
        peer=scale * estimate(peer).median,
        peer_name=peer_name,
        unit=unit,
        ratio=estimate(peer / ours),
        target=target,
    )


def drawn(ranks: int, instances: int) -> Floats:
    """Return durations in three regimes that last for about twenty instances."""
    random = np.random.default_rng(0)
    stays = random.random((ranks, instances)) < STAYING
    states = random.integers(0, 3, (ranks, instances))
    last = np.maximum.accumulate(np.where(stays, 0, np.arange(instances)), axis=1)
    means = MEANS[np.take_along_axis(states, last, axis=1)]
    return random.normal(means, 0.15 * means)


def peer_model(means: Floats, stds: Floats, transition: Floats, steps: int) -> Any:
    """Return hmmlearn's model without its default prior, which suits data near 1, not seconds."""
    model = GaussianHMM(
        3,
        "diag",
        covars_prior=0,
        covars_weight=0,
        means_weight=0,
        min_covar=1e-300,
        n_iter=steps,
        tol=-np.inf,
        init_params="",
    )
    model.startprob_, model.transmat_ = np.full(3, 1 / 3), transition
    model.means_, model.covars_ = means[:, None], stds[:, None] ** 2
    return model


def measure_against_hmmlearn(rounds: int) -> None:
    timings = drawn(RANKS, INSTANCES)
    column, lengths = timings.reshape(-1, 1), [INSTANCES] * RANKS
    transition = np.full((3, 3), 0.05)
    np.fill_diagonal(transition, 0.9)
    first = (MEANS, 0.3 * MEANS, transition)
    ours = RegimeModel(3, n_init=1, max_iter=STEPS, tol=-1).fit(timings)
    peer = peer_model(*first, STEPS).fit(column, lengths)
    np.testing.assert_allclose(ours.means_, np.sort(peer.means_[:, 0]), rtol=1e-6)
    for threads, name in ((1, "one core"), (None, "all cores")):
        model = RegimeModel(3, n_init=1, max_iter=STEPS, tol=-1, threads=threads)
        times = pairs(
            lambda model=model: model.fit(timings),  # type: ignore[misc]
            lambda: peer_model(*first, STEPS).fit(column, lengths),
            rounds,
        )
        target = None if threads == 1 else 60
        report(f"fit, {STEPS} steps, 3 states, {RANKS} x {INSTANCES}, {name}", times, "hmmlearn", target)
    ours.threads = 1
    np.testing.assert_array_equal(ours.predict(timings).ravel(), _ordered(peer, column, lengths))  # type: ignore[union-attr]
    times = pairs(lambda: ours.predict(timings), lambda: peer.predict(column, lengths), 3 * rounds)
    report(f"Viterbi, 3 states, {RANKS} x {INSTANCES}, one core", times, "hmmlearn", 20)


def _ordered(peer: Any, column: Floats, lengths: list[int]) -> NDArray[np.int64]:
    """Return the peer's states, numbered by their means."""
    place: NDArray[np.int64] = np.argsort(np.argsort(peer.means_[:, 0]))
    states: NDArray[np.int64] = place[peer.predict(column, lengths)]
    return states


def read(path: Path) -> Timings:
    with haloscope.open(path) as opened:
        return Timings.from_matrix(opened.instances(REGION).duration, path.stem, REGION)


def peak() -> float:
    """Return the maximum memory of this process, GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def algorithm(path: Path) -> Any:
    return find_regimes(read(path), RegimeModel(3))


def measure_machine(path: Path, plain: Path, rounds: int) -> None:
    shape = read(path).durations.shape
    size = f"{shape[0]} x {shape[1]}"
    times = pairs(lambda: algorithm(path), lambda: np.fromfile(plain), rounds)
    case = f"Algorithm 1: read, fit 20 ranks, decode {size}, at most {peak():.2f} GiB"
    report(case, times, "numpy.fromfile", 1 / 5)
    timings = read(path)
    for case, action in (
        (f"of it, reading {size}", lambda: read(path)),
        (f"of it, choosing, fitting and decoding {size}", lambda: find_regimes(timings, RegimeModel(3))),
    ):
        report(case, pairs(action, lambda: np.fromfile(plain), rounds), "numpy.fromfile", None)
    model = RegimeModel(3)
    took = seconds(lambda: model.fit(timings.durations))
    ratio = 60 / took
    emit(
        BENCHMARK,
        f"fit on all of {size}, {model.n_iter_} steps",
        ours=took,
        peer=60.0,
        peer_name="a minute",
        unit="s",
        ratio=Estimate(ratio, ratio, ratio),
        target=1.0,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=7168)
    parser.add_argument("--instances", type=int, default=8192, help="on each rank")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--repetitions", type=int, default=100, help="of the measurement of error rates; 0: none"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable()  # hmmlearn's warnings about steps without gain
    measure_against_hmmlearn(options.rounds)
    with tempfile.TemporaryDirectory() as name:
        path, plain = Path(name) / "series.halo", Path(name) / "plain"
        profile(options.ranks, packed(options.ranks, options.instances)).write(path)
        read(path).durations.tofile(plain)
        measure_machine(path, plain, options.rounds)
    measure_depth(options.rounds)
    if options.repetitions:
        measure_truths(options.repetitions)


if __name__ == "__main__":
    main()
