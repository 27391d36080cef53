"""Factors of the latencies and bandwidths of a platform."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

UNLIMITED = Decimal("1e15")


@dataclass(frozen=True)
class Change:
    """Factors of all latencies and bandwidths."""

    latency: float = 1
    bandwidth: float = 1

    @classmethod
    def ideal(cls) -> Change:
        """Return the change to zero latency and unlimited bandwidth."""
        return cls(0, float("inf"))

    def seconds(self, latency: Decimal) -> str:
        return f"{float(latency) * self.latency:.12g}s"

    def speed(self, bandwidth: Decimal | None) -> str:
        if bandwidth is None or self.bandwidth == float("inf"):
            return f"{UNLIMITED:f}Bps"
        return f"{float(bandwidth) * self.bandwidth:.12g}Bps"
