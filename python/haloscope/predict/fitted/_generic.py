"""The form for algorithms whose messages nobody here knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from haloscope.predict.schedule import Plan

__all__ = ["generic_rows"]


def generic_rows(plans: Sequence[Plan]) -> NDArray[np.float64]:
    """1, log2 P, P, m, m log2 P, m P: what trees, rings and linear algorithms cost."""
    ranks = np.array([plan.ranks for plan in plans], np.float64)
    size = np.array([plan.bytes for plan in plans], np.float64)
    rounds = np.log2(ranks)
    return np.column_stack([ranks**0, rounds, ranks, size, size * rounds, size * ranks])
