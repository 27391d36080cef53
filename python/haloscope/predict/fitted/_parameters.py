"""What was fitted to the measurements of one algorithm: a part of the machine's YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from haloscope.predict.schedule import Plan

__all__ = ["FittedAlgorithm", "Range", "generic_rows"]

_RULES = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
_Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Bytes = Annotated[int, Field(ge=0)]
Interval = tuple[float, float, float]
"""A value with the bounds of its 95 % interval."""
_Estimate = tuple[_Number, _Number, _Number]


def generic_rows(plans: Sequence[Plan]) -> NDArray[np.float64]:
    """1, log2 P, P, m, m log2 P, m P: what trees, rings and linear algorithms cost."""
    ranks = np.array([plan.ranks for plan in plans], np.float64)
    size = np.array([plan.bytes for plan in plans], np.float64)
    rounds = np.log2(ranks)
    return np.column_stack([ranks**0, rounds, ranks, size, size * rounds, size * ranks])


class Range(BaseModel):
    """Parameters of messages from so many bytes on, each as [value, low, high].

    A message of m bytes on a level with latency L and byte time W occupies both its ports for
    `overhead` + `beta` W, and is there `alpha` L later. `overhead` is seconds, the others are
    factors of what the machine says.
    """

    model_config = _RULES

    first: Annotated[_Bytes, Field(alias="from")] = 0
    overhead: _Estimate
    alpha: _Estimate
    beta: _Estimate


class FittedAlgorithm(BaseModel):
    """The model of one algorithm: of `ranges` where its messages are known, else a generic one.

    The time is OSU's, the mean over ranks. The generic form is the sum of `generic` times 1,
    log2 P, P, m, m log2 P and m P, for P ranks and m bytes.
    """

    model_config = _RULES

    collective: str
    algorithm: str
    number: int | None = None
    library: str = ""
    call: _Estimate = (0.0, 0.0, 0.0)
    """Seconds that every call takes."""
    gamma: _Estimate = (0.0, 0.0, 0.0)
    """Seconds to add a byte."""
    eager: _Bytes = 0
    """Messages of fewer bytes do not wait for their receiver."""
    ranges: tuple[Range, ...] = ()
    generic: tuple[_Number, ...] = ()
    segments: tuple[_Bytes, ...] = (0,)
    fanouts: tuple[_Bytes, ...] = (0,)
    """The segments and fan-outs that were measured."""
    ranks: tuple[int, int] = (2, 2)
    sizes: tuple[_Bytes, _Bytes] = (0, 0)
    """Fewest and most that were measured."""
    points: int = 0
    error: _Number = 0.0
    """Median relative error of these points."""
