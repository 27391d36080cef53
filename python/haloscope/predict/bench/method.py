"""The method of measurements of collectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scipy.stats import norm


@dataclass(frozen=True)
class CollectiveMethod:
    """The method by which a point is measured.

    Algorithms that a running program can select share launches, in random order.

    Attributes:
        synchronisation: Synchronisation of ranks between calls: a `barrier`, as in the OSU benchmarks, or
            each call in a `window` of a common clock.
        warmup: Number of calls before the measured ones.
        iterations: Number of measured calls.
        type: `char`, `int` or `float`.
        validate: Number of untimed calls before each timed one, with a check of the data; None: no check.
        confidence: Confidence of intervals.
        precision: Relative half width of the interval of the median at which a point ends; None: all
            iterations are measured.
        order: Order of launches: `random` (by `seed`) or `given`.
        seed: Seed of the random order.
        time_limit: Time (s) after which a point counts as failed.
        launches: Number of launches of each point. Differences between launches, such as the placement of
            ranks and memory, are not caused by the algorithm.
    """

    synchronisation: str = "barrier"
    warmup: int = 100
    iterations: int = 1000
    type: str = "char"
    validate: int | None = None
    confidence: float = 0.95
    precision: float | None = None
    order: str = "random"
    seed: int = 0
    time_limit: float = 60.0
    launches: int = 1

    def words(self) -> dict[str, Any]:
        """Return the method as in the first line of a sweep."""
        return asdict(self)

    def options(self) -> list[str]:
        """Return the method as the options of the measuring program."""
        options = {
            "synchronisation": self.synchronisation,
            "type": self.type,
            "validate": -1 if self.validate is None else self.validate,
            "precision": self.precision or 0,
            "deviations": float(norm.ppf(0.5 + self.confidence / 2)),
        }
        return [
            *self.calls([self.iterations]),
            *(w for name, value in options.items() for w in (f"--{name}", str(value))),
        ]

    def calls(self, iterations: Sequence[int]) -> list[str]:
        """Return the options for these numbers of calls per size, with warm-up calls in proportion."""
        warmup = [-(-self.warmup * number // self.iterations) for number in iterations]
        return ["--warmup", ",".join(map(str, warmup)), "--iterations", ",".join(map(str, iterations))]
