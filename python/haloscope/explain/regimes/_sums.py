"""Sorted cumulative sums: Figures 11 and 13 of Heldman, Rudi and Bessac (2025)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from haloscope.explain.regimes._samples import Sample

__all__ = ["CumulativeSum", "cumulative_sums"]


@dataclass(frozen=True)
class CumulativeSum:
    """S_K of one run or method: the sum of its K shortest times, K = 1, 2, …

    `sums` are seconds, one for each instance; `difference` is (S_K − S_K of the baseline) / |S_K
    of the baseline| in percent, negative where this one is faster, for the K that both have.
    """

    name: str
    sums: NDArray[np.float64]
    difference: NDArray[np.float64]


def cumulative_sums(
    samples: Sequence[Sample], regime: int | None = None, baseline: int = 0
) -> list[CumulativeSum]:
    """Return S_K (section 4.3) of each sample's times in state `regime`; None takes them all.

    The paper's are sums of T^max, so pass reduced series. Its formula for the dashed lines of
    Figure 11 reads (S_K^1/2 − S_K^1/2) / |S_K^1/2|, which is nought, and for the other method
    (S_K^test − S_K^α) / |S_K^1/2|; meant is (S_K^method − S_K^baseline) / |S_K^baseline|.
    """
    sums = [np.cumsum(np.sort(sample.values(regime))) for sample in samples]
    return [
        CumulativeSum(sample.name, own, _difference(own, sums[baseline]))
        for sample, own in zip(samples, sums, strict=True)
    ]


def _difference(sums: NDArray[np.float64], baseline: NDArray[np.float64]) -> NDArray[np.float64]:
    common = min(sums.size, baseline.size)
    return 100 * (sums[:common] - baseline[:common]) / np.abs(baseline[:common])
