"""Phases that the recorder found: those on which all ranks agree, and candidates."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

_MOST_APART = 2  # largest difference of ranks that agree, in iterations


def find_agreed_phases(phases: pl.DataFrame, ranks: int) -> list[int]:
    """Return the phases that all `ranks` have with the same number of iterations, within two.

    `phases` has a row per rank and phase, with `phase` and `iterations`.
    """
    iterations = pl.col("iterations")
    counts = phases.group_by("phase").agg(pl.len(), (iterations.max() - iterations.min()).alias("apart"))
    agreed = counts.filter(pl.col("len") == ranks, pl.col("apart") <= _MOST_APART)
    return [int(number) for number in agreed["phase"].sort()]


def name_phases(numbers: Collection[int], agreed: Collection[int]) -> dict[str, str]:
    """Return the names of the phases' regions by the recorder's names."""
    return {f"phase {n}": f"phase {n}" + ("" if n in agreed else " (candidate)") for n in numbers}
