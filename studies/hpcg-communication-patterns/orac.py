"""Orac as simulated: constants that were measured or published elsewhere, and delays that follow from them.

No constant was fitted to a figure of the paper.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl

from haloscope.base.arrays import Floats
from haloscope.predict.simulate import load_platform

PLATFORM = Path(__file__).with_name("orac.yaml")
CORES_OF_A_PROCESSOR = 14
# Processors of one type differ by up to 20 %: Marathe, Zhang, Blanks, Kumbhare, Abdulla and Rountree, "An
# empirical survey of performance and energy efficiency variation on Intel processors", E2SC 2017.
VARIATION = 0.20
# Mean (s), standard deviation (s) and share of the MatVecs of a rank on 56 nodes of Anvil: Heldman, Rudi and
# Bessac, "Statistical treatment of variable MPI latencies", ICS 2025, Table 1, fixed alpha.
REGIMES = ((1.79e-3, 5.89e-5, 0.33), (1.89e-3, 5.49e-5, 0.32), (2.89e-3, 6.19e-3, 0.35))
_QUANTILES = 1001


def specifications() -> pl.DataFrame:
    """Return Table 1, with a column for what is simulated of it."""
    platform = load_platform(PLATFORM)
    assert platform.topology == "fat_tree"
    link, memory, core = (
        float(one or 0) for one in (platform.bandwidth, platform.memory_bandwidth, platform.core_bandwidth)
    )
    rows = [
        (
            "node architecture",
            "2x 14-core Intel Xeon E5-2680 v4 (Broadwell) 2.4 GHz",
            f"{platform.cores} cores; computing is limited by memory: {core * 1e-9:.0f} GB/s per core",
        ),
        ("memory per node", "128 GB", f"{memory * 1e-9:.0f} GB/s; its size has no effect"),
        ("interconnect", "Intel Omni-Path X16 100 Gb/s", f"fat tree of {link * 8e-9:.0f} Gbit/s"),
        ("OS", "CentOS 7", "none: delays are those of other machines"),
        ("compilers and flags", "Intel Compiler icc version 17.0.2 -O3 -qopenmp", "one thread per process"),
    ]
    return pl.DataFrame(rows, schema=["attribute", "Orac", "simulated"], orient="row")


def computing_alone(edge: int) -> float:
    """Return the seconds of computing of one iteration of HPCG by a rank that is alone on its node.

    HPCG's reference version is limited by memory. It reads its matrix, 27 values of 8 bytes and 27 indices of
    4 bytes per row, in the product, and in the multigrid cycle five times per level (two sweeps before and
    after, and the residual), twice on the coarsest. Vectors: three of 8 bytes per pass, 15 in updates and
    products.
    """
    passes = [1 + 5, 5, 5, 2]
    rows = [(edge >> level) ** 3 for level in range(4)]
    moved = sum(count * size * (27 * 12 + 3 * 8) for count, size in zip(passes, rows, strict=True))
    platform = load_platform(PLATFORM)
    assert platform.topology == "fat_tree"
    assert platform.core_bandwidth is not None
    return (moved + rows[0] * 15 * 8) / float(platform.core_bandwidth)


def compute_factors(ranks: int, seed: int) -> Floats:
    """Return the factor of each rank's computing: one per processor, between 1 and 1 + `VARIATION`."""
    processors = -(-ranks // CORES_OF_A_PROCESSOR)
    drawn = 1 + VARIATION * np.random.default_rng(seed).random(processors)
    return np.repeat(drawn, CORES_OF_A_PROCESSOR)[:ranks]


def latencies(messages: float) -> Floats:
    """Return quantiles of the latency of a message (s), by equal steps of probability.

    `REGIMES` are of a whole exchange: the longest of its `messages` has their distribution, each regime
    log-normal with its published mean and deviation, less the mean of the fastest.
    """
    values = np.concatenate([[0.0], np.geomspace(1e-9, 10, 20001)])
    parts = [share * _lognormal_cdf(values + REGIMES[0][0], mean, std) for mean, std, share in REGIMES]
    exchange = np.sum(parts, axis=0)
    one = exchange ** (1 / messages)
    steps = np.linspace(0, 1, _QUANTILES)
    found: Floats = np.interp(steps, one, values)
    # The injector interpolates: the last step gets the mean of its true tail.
    tail = 1 - np.geomspace(1e-9, 1, 4001) / (_QUANTILES - 1)
    beyond = np.interp(tail, one, values)
    middles, widths = (beyond[1:] + beyond[:-1]) / 2, -np.diff(tail)
    mean = float(middles @ widths / widths.sum())
    found[-1] = max(2 * mean - found[-2], found[-2])
    return found


def _lognormal_cdf(values: Floats, mean: float, std: float) -> Floats:
    variance = math.log1p((std / mean) ** 2)
    middle = math.log(mean) - variance / 2
    places = (np.log(values) - middle) / math.sqrt(2 * variance)
    cdf: Floats = np.array([0.5 * math.erfc(-place) for place in places])
    return cdf
