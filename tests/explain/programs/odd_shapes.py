"""Calls every native kernel with odd shapes: odd_shapes.py LIBRARY all|some."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from haloscope.markov import MachineModel
from haloscope.profile import kernels
from haloscope.profile.kernels import Chain, SequenceBounds
from haloscope.profile.tables.instances import STRETCH, unpack
from haloscope.profile.waiting import WaitAnalysis

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from support.kernels import use_kernels
from support.random_runs import Step, run_of

use_kernels(sys.argv[1])

LENGTHS = [[0], [1], [2, 0, 1], [17, 16, 15, 1, 8, 33, 7], [300] * 11, [16385, 3]]


def chains(states: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(states)
    counts = np.array(lengths, dtype=np.int64)
    places = SequenceBounds(np.cumsum(counts) - counts, counts)
    chain = Chain(np.full(states, 1 / states), rng.dirichlet(np.ones(states), states))
    means = np.arange(1.0, states + 1)
    values = rng.normal(size=counts.sum())
    density = np.ascontiguousarray(-((values[:, None] - means) ** 2))
    density[::5] = -np.inf
    for threads in (1, 2):
        gaussian = (values, places, chain, means, np.full(states, 0.5), threads)
        kernels.gaussian_expectation(*gaussian)
        kernels.gaussian_posterior(*gaussian)
        kernels.gaussian_viterbi(*gaussian)
        kernels.expectation(density, places, chain, threads)
        kernels.viterbi(density, places, chain, threads)
        kernels.medians(values, SequenceBounds(places.begins[counts > 0], counts[counts > 0]), threads)


def curves(shape: tuple[int, int]) -> None:
    some = np.random.default_rng(0).normal(size=shape).round(1)
    kernels.band_depth(some, 2)
    low, high = kernels.envelope(some, np.arange(len(some)))
    kernels.outside(some, low, high)


def instances(rows: int) -> None:
    for planes in (3, 6, 8):
        packed = np.random.default_rng(rows).integers(0, 256, (planes, rows), dtype=np.uint8)
        stretches = np.array([(0, rows // 2, 1e-9), (rows // 2, rows - rows // 2, 1e-9)])
        stretches = np.array([tuple(row) for row in stretches], dtype=STRETCH)
        unpack(packed, stretches, 5, np.empty(rows))


def waiting(seed: int) -> None:
    """A random run, of which messages are lost and clocks jump."""
    rng = np.random.default_rng(seed)
    kinds = "compute eager synchronous posted Allreduce Reduce Bcast Scan Ibarrier".split()
    steps = [Step(str(rng.choice(kinds)), *(int(x) for x in rng.integers(0, 900, 3))) for _ in range(seed)]
    trace = run_of(steps, 1 + seed % 5)
    jumps = rng.choice([0, 0, 0, -400], len(trace.calls))
    for one in (
        trace,
        replace(trace, calls=trace.calls.with_columns(pl.col("begin", "end") + pl.Series(jumps))),
    ):
        analysis = WaitAnalysis(one)
        paths = [np.arange(len(trace.paths)) == path for path in range(len(trace.paths))]
        analysis.tolerance(paths, unit="byte")
        analysis.compute_without_waiting(paths)
        assert analysis.run_time_with(1e-6).is_whole
        assert abs(float(analysis.critical_path["time"].sum()) - analysis.run_time) < 1e-9
        assert analysis.delays["cost"].min() is None or analysis.waits["time"].min() >= 0  # type: ignore[operator]


WHOLE = sys.argv[2] == "all"
for number in range(len(kernels.instruction_sets())):
    kernels._instruction_set = number
    for regimes in (1, 2, 3, 4, 5, 9, 32) if WHOLE else (1, 3, 9):
        for sizes in LENGTHS if WHOLE else LENGTHS[:4]:
            chains(regimes, sizes)
for count in (0, 1, 5, 60) if WHOLE else (0, 5, 20):
    waiting(count)
for rows, columns in ((2, 1), (3, 2), (7, 33), (65, 9)):
    curves((rows, columns))
for rows in (0, 1, 7, 64, 1001):
    instances(rows)
MachineModel(2, n_init=10 if WHOLE else 1).fit(np.random.default_rng(0).lognormal(size=(3, 50)))
