"""Results of tests of messages between two cores."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from haloscope.base.arrays import Floats
from haloscope.predict.bench.system import Pair


@dataclass(frozen=True)
class P2pPoint:
    """One test at one size.

    Each sample is the mean time per message of a batch (s); latencies are one-way.
    """

    test: str
    pair: Pair
    bytes: int
    samples: Floats
    batch: int = 1
    receive: Floats = field(default_factory=lambda: np.empty(0))
    """For `overhead`: times of the receiver (s); `samples` are those of the sender."""
    valid: bool | None = None
    clock: float = 0.0
    """Time of one reading of the clock (s); there is one per sample."""
    pairs: int = 1

    @property
    def mean(self) -> float:
        """The mean (s), as OSU prints it."""
        return float(self.samples.mean())

    @property
    def median(self) -> float:
        return float(np.median(self.samples))


@dataclass(frozen=True)
class Failure:
    """A launch that ended too early; its finished points count."""

    test: str
    pair: Pair
    reason: str
