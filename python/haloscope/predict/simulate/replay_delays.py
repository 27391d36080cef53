"""Delays in a replay: latencies of messages, factors of the ranks' computing, and memory that ranks share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from haloscope.base.errors import UsageError
from haloscope.markov import InjectionPlan, read_latencies
from haloscope.predict.simulate.platform import SPEED, MachinePlatform, Platform

_VARIABLES = ("HALOSCOPE_INJECT", "HALOSCOPE_COMPUTE_FACTORS", "HALOSCOPE_CORE_SPEED")


@dataclass(frozen=True)
class Delays:
    """Delays of the messages and the computing of a replay.

    Attributes:
        latency: Latency models, as in `haloscope inject --latency`.
        seed: Seed of the random numbers.
        factors: Factors of the ranks' computing. Rank r has the one at r modulo their number.
    """

    latency: tuple[str, ...] = ()
    seed: int = 0
    factors: tuple[float, ...] = ()

    @classmethod
    def read(cls, latency: str | Sequence[str], seed: int, factors: Sequence[float]) -> Delays:
        """Return the delays.

        Raises:
            UsageError: A text is not a latency model, or a factor is negative.
        """
        if not all(0 <= factor < float("inf") for factor in factors):
            raise UsageError("factors of computing times must not be negative")
        delays = cls((latency,) if isinstance(latency, str) else tuple(latency), seed, tuple(factors))
        delays._plan_text()  # reports errors before anything is compiled
        return delays

    def is_needed_on(self, platform: Platform) -> bool:
        """Return whether a simulation on a platform has any delay."""
        return bool(self.latency or self.factors) or shares_memory(platform)

    def change_environment(self, environment: dict[str, str], platform: Platform) -> None:
        """Set the variables that src/predict/simulate/delays.cpp reads, and no others."""
        for name in _VARIABLES:
            environment.pop(name, None)
        if plan := self._plan_text():
            environment["HALOSCOPE_INJECT"] = plan
        if self.factors:
            environment["HALOSCOPE_COMPUTE_FACTORS"] = " ".join(f"{factor:.17g}" for factor in self.factors)
        if shares_memory(platform):
            environment["HALOSCOPE_CORE_SPEED"] = str(SPEED)

    def describe(self) -> dict[str, str | float]:
        """Return entries for the profile's `info`."""
        return {"latency": " ".join(self.latency), "seed": self.seed} if self.latency else {}

    def _plan_text(self) -> str:
        intra, inter = read_latencies(self.latency)
        return InjectionPlan(intra, inter, seed=self.seed).text() if intra or inter else ""


def shares_memory(platform: Platform) -> bool:
    """Return whether ranks of a host slow each other down."""
    return not isinstance(platform, MachinePlatform) and platform.cores_at_once is not None
