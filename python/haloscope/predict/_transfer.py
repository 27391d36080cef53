"""A collective that was never measured: Hockney's model, put right by other collectives.

On a machine that is described, Hockney's model says what any known algorithm takes. How far that is off
depends on what the model leaves out, which other collectives of about as many ranks and bytes meet as well:
the median of their ratios of measured to modelled time is the correction, and the spread of these ratios the
interval.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.errors import UsageError
from haloscope.predict._law import Estimate
from haloscope.predict._model import hockney
from haloscope.predict.schedule import Plan, algorithms

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from haloscope.predict._machine import Machine

__all__ = ["Transfer"]

_NEAREST = 40
_MOST_MESSAGES = (
    1 << 18
)  # of an algorithm in which each rank sends to all; larger ones take seconds to execute
_HELD = (0.025, 0.975)


class Transfer:
    """What the measured points of a sweep say of collectives that are not among them."""

    def __init__(self, points: pl.DataFrame, machine: Machine) -> None:
        known = [
            row
            for row in points.select("collective", "algorithm", "ranks", "bytes", "time").iter_rows()
            if row[1] in algorithms(row[0]) and row[2] ** 2 <= _MOST_MESSAGES
        ]
        if not known:
            raise UsageError("the sweep has no algorithm whose messages are known")
        self._machine, self._known = machine, known
        self._collectives = np.array([row[0] for row in known])
        self._places = np.log2([(ranks, max(size, 1)) for _, _, ranks, size, _ in known])

    @cached_property
    def _ratios(self) -> NDArray[np.float64]:
        """Logarithms of measured over modelled times."""
        modelled = [self._modelled(*row[:4]) for row in self._known]
        return np.asarray(np.log([row[4] for row in self._known]) - np.log(modelled))

    def estimate(self, collective: str, algorithm: str, ranks: int, size: int) -> Estimate:
        """Return what an algorithm should take, by the points of all collectives but its own."""
        others = np.flatnonzero(self._collectives != collective)
        time = self._modelled(collective, algorithm, ranks, size)
        if not len(others):
            return Estimate(time, 0.0, float("inf"))
        away = np.abs(self._places[others] - np.log2([ranks, max(size, 1)])).sum(axis=1)
        nearest = others[np.argsort(away, kind="stable")[:_NEAREST]]
        low, middle, high = np.quantile(self._ratios[nearest], (_HELD[0], 0.5, _HELD[1]))
        return Estimate(*(float(time * np.exp(value)) for value in (middle, low, high)))

    def _modelled(self, collective: str, algorithm: str, ranks: int, size: int) -> float:
        return hockney(self._machine, collective, algorithm, Plan(ranks, size))
