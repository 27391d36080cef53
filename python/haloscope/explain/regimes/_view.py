"""One run as the figures see it: its times, its regimes, and those of its slowest ranks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from haloscope.explain.regimes._boxes import rank_medians
from haloscope.explain.regimes._samples import Sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from haloscope.explain.regimes._timings import Timings

__all__ = ["Decoded", "View"]


@dataclass(frozen=True)
class Decoded:
    """Times and what was decoded of them: `states` in the shape of `timings.durations`."""

    timings: Timings
    states: NDArray[np.uint8]
    regimes: int

    @cached_property
    def sample(self) -> Sample:
        """Times and states as the statistics take them."""
        return Sample(self.timings.name, self.timings.durations, self.states)


@dataclass(frozen=True)
class View:
    """A run: every rank's times in `whole`, T_k^max in `slowest`; `training` are rows of `whole`.

    `slowest` is `whole` itself if that is one series already.
    """

    whole: Decoded
    slowest: Decoded
    training: NDArray[np.int64]

    @property
    def name(self) -> str:
        """The run's or method's name."""
        return self.whole.timings.name

    @property
    def regimes(self) -> int:
        """How many regimes the ranks' times have."""
        return self.whole.regimes

    @property
    def reduced(self) -> bool:
        """True if there is one series only."""
        return len(self.whole.timings.ranks) == 1

    @cached_property
    def medians(self) -> NDArray[np.float64]:
        """Each rank's median time."""
        return rank_medians(self.whole.timings.durations)

    @cached_property
    def median_row(self) -> int:
        """Which of the training ranks has the median time among them (Figure 6)."""
        order = self.training[np.argsort(self.medians[self.training], kind="stable")]
        return int(order[(len(order) - 1) // 2])
