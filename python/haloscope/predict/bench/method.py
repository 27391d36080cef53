"""How collectives are measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scipy.stats import norm


@dataclass(frozen=True)
class CollectiveMethod:
    """How a point is measured.

    `synchronisation` is what keeps the ranks together between calls: a `barrier`, as in the OSU
    benchmarks, or each call in a `window` of a common clock. `warmup` calls before the `iterations`
    that count are not measured. `type` is `char`, `int` or `float`. If `validate` is a number, data
    are checked, with so many calls before each timed one. With `precision` a point ends as soon as
    half the interval of its median, at `confidence`, is at most this share of it. `order` is
    `random`, by `seed`, or `given`. A point that takes over `time_limit` seconds has failed. With several
    `launches` its points are there as often: what differs from launch to launch, such as where ranks and
    memory come to lie, is not the algorithm's. Algorithms share launches, in random order, where a running
    program can be asked for them.
    """

    synchronisation: str = "barrier"
    warmup: int = 100
    iterations: int = 1000
    type: str = "char"
    validate: int | None = None  # calls before each timed one, where data are checked
    confidence: float = 0.95
    precision: float | None = None
    order: str = "random"
    seed: int = 0
    time_limit: float = 60.0
    launches: int = 1

    def words(self) -> dict[str, Any]:
        """Return the method as a sweep's first line has it."""
        return asdict(self)

    def options(self) -> list[str]:
        """Return the method as the options of the measuring program."""
        given = {
            "synchronisation": self.synchronisation,
            "type": self.type,
            "validate": -1 if self.validate is None else self.validate,
            "precision": self.precision or 0,
            "deviations": float(norm.ppf(0.5 + self.confidence / 2)),
        }
        return [
            *self.calls([self.iterations]),
            *(w for name, value in given.items() for w in (f"--{name}", str(value))),
        ]

    def calls(self, iterations: Sequence[int]) -> list[str]:
        """Return the options for so many calls of each size, with as many before them in proportion."""
        warmup = [-(-self.warmup * number // self.iterations) for number in iterations]
        return ["--warmup", ",".join(map(str, warmup)), "--iterations", ",".join(map(str, iterations))]
