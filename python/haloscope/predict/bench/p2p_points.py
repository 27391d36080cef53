"""What one test of messages between two cores gave."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from haloscope.base.arrays import Floats
from haloscope.predict.bench.system import Pair


@dataclass(frozen=True)
class P2pPoint:
    """One test of one size: seconds a message (latency: one way), a sample a batch."""

    test: str
    pair: Pair
    bytes: int
    samples: Floats
    batch: int = 1
    receive: Floats = field(default_factory=lambda: np.empty(0))
    """Of `overhead`: the receiver's times; `samples` are the sender's."""
    valid: bool | None = None
    clock: float = 0.0
    """Seconds of one reading of the clock, which is once a sample."""
    pairs: int = 1

    @property
    def mean(self) -> float:
        """OSU's figure."""
        return float(self.samples.mean())

    @property
    def median(self) -> float:
        return float(np.median(self.samples))


@dataclass(frozen=True)
class Failure:
    """A launch that ended before it was done; the points that came are kept."""

    test: str
    pair: Pair
    reason: str
