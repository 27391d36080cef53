"""The density of the ranks' medians: Figure 2 of Heldman, Rudi and Bessac (2025)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import dct, idct
from scipy.optimize import brentq

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Density", "density"]


@dataclass(frozen=True)
class Density:
    """A probability density: `values` in 1/s at `times` in seconds; `bandwidth` in seconds.

    The paper draws the square root of `values`, so that small modes are seen.
    """

    times: NDArray[np.float64]
    values: NDArray[np.float64]
    bandwidth: float


def density(values: NDArray[np.float64], points: int = 512) -> Density | None:
    """Estimate the density of `values` (NaN are left out) at `points` equidistant times.

    A Gaussian kernel whose width is found by the improved Sheather-Jones rule of Botev, Grotowski
    and Kroese (2010, doi 10.1214/10-AOS799), which doesn't take the distribution for a normal one
    and so keeps modes apart that the usual rule of thumb runs into one. None if all values are
    the same, or none is left.
    """
    values = values[np.isfinite(values)]
    if not values.size or values.min() == values.max():
        return None
    low, high = values.min(), values.max()
    margin = 0.1 * (high - low)
    low, high = low - margin, high + margin
    shares = np.histogram(values, bins=points, range=(low, high))[0] / values.size
    step = (high - low) / points
    time = _diffusion_time(shares, np.unique(values).size)
    modes = np.arange(points)
    smooth = dct(shares) * np.exp(-(modes**2) * np.pi**2 * time / 2)
    heights = np.maximum(idct(smooth), 0)
    times = low + step * (modes + 0.5)
    return Density(times, heights / (heights.sum() * step), float(np.sqrt(time) * (high - low)))


def _diffusion_time(shares: NDArray[np.float64], count: int) -> float:
    """Return the squared bandwidth, on an interval of length 1: a root of the rule's equation."""
    squares = np.arange(1, shares.size, dtype=np.float64) ** 2
    power = (dct(shares)[1:] / 2) ** 2
    rule_of_thumb = 0.28 * count ** (-2 / 5)
    end = min(0.1, rule_of_thumb)
    try:
        return float(brentq(_excess, 1e-12, end, args=(count, squares, power)))
    except ValueError:  # no root: few values
        return float((0.9 * _spread(shares) * count**-0.2) ** 2)


def _excess(
    time: float, count: int, squares: NDArray[np.float64], power: NDArray[np.float64]
) -> float:
    """Return `time` less what the rule makes of it, in seven stages."""
    norm = _roughness(7, time, squares, power)
    for stage in range(6, 1, -1):
        if norm <= 0:  # all is smooth at this width: the rule would have it infinitely wide
            return -1.0
        odd = float(np.prod(np.arange(1, 2 * stage, 2))) / np.sqrt(2 * np.pi)
        constant = (1 + 0.5 ** (stage + 0.5)) / 3
        inner = (2 * constant * odd / (count * norm)) ** (2 / (3 + 2 * stage))
        norm = _roughness(stage, inner, squares, power)
    return -1.0 if norm <= 0 else float(time - (2 * count * np.sqrt(np.pi) * norm) ** (-2 / 5))


def _roughness(
    stage: int, time: float, squares: NDArray[np.float64], power: NDArray[np.float64]
) -> float:
    terms = squares**stage * power * np.exp(-squares * np.pi**2 * time)
    return float(2 * np.pi ** (2 * stage) * terms.sum())


def _spread(shares: NDArray[np.float64]) -> float:
    places = (np.arange(shares.size) + 0.5) / shares.size
    return float(np.sqrt((shares * (places - (shares * places).sum()) ** 2).sum()))
