"""A machine model: levels of topology, and what a message costs across each."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from haloscope.predict import _quantities

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Level", "Machine"]

Time = Annotated[Decimal, BeforeValidator(_quantities.time)]
Speed = Annotated[Decimal, BeforeValidator(_quantities.speed)]
Text = Annotated[str, Field(min_length=1)]
_RULES = ConfigDict(extra="forbid", frozen=True)


class Level(BaseModel):
    """Something that so many consecutive cores share, and messages between cores that share it."""

    model_config = _RULES

    name: Text
    cores: Annotated[int, Field(gt=1)]
    latency: Time
    bandwidth: Speed | None = None


class Machine(BaseModel):
    """What is known of a system. Rank r runs on core r: filled by core, one node after the other.

    Levels go from the nearest to the farthest; the last one holds all cores. Times are seconds,
    speeds bytes a second, exact as they were written.
    """

    model_config = _RULES

    name: Text
    description: str = ""
    source: str = ""
    levels: Annotated[tuple[Level, ...], Field(min_length=1)]
    arithmetic: Speed | None = None
    """How many bytes of operands a second a core adds to others of as many bytes."""

    @model_validator(mode="after")
    def _nested(self) -> Machine:
        for inner, outer in pairwise(self.levels):
            if outer.cores % inner.cores or outer.cores == inner.cores:
                raise ValueError(
                    f"levels go from the nearest to the farthest, each a multiple of the last: "
                    f"{outer.name} has {outer.cores} cores after {inner.name} with {inner.cores}"
                )
        return self

    @property
    def cores(self) -> int:
        """All cores of the machine."""
        return self.levels[-1].cores

    def level(self, i: int, j: int) -> Level:
        """The smallest thing that two different cores share."""
        for level in self.levels:
            if i // level.cores == j // level.cores:
                return level
        raise IndexError(f"{self.name} has cores 0 to {self.cores - 1}, not {max(i, j)}")

    def latency(self, i: int, j: int) -> Decimal:
        """L(i, j): seconds that a message of a few bytes takes from core i to core j, exactly."""
        return self.level(i, j).latency if i != j else Decimal()

    def latency_matrix(self, ranks: int) -> NDArray[np.float64]:
        """L(i, j) of the first `ranks` cores, in seconds."""
        cores = np.arange(ranks)
        matrix = np.zeros((ranks, ranks))
        for level in reversed(self.levels):
            unit = cores // level.cores
            matrix[unit[:, None] == unit[None, :]] = float(level.latency)
        np.fill_diagonal(matrix, 0)
        return matrix

    def changes(self, ranks: int) -> list[Level]:
        """The levels that fewer than `ranks` processes fill: beyond each, messages go farther."""
        return [level for level in self.levels if level.cores < ranks]
