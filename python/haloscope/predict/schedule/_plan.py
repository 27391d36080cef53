"""What an algorithm is asked to do."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """So many ranks and bytes, as OSU counts them; bytes a segment (0: all in one) and fan-out."""

    ranks: int
    bytes: int
    segment: int = 0
    fanout: int = 4
