"""Phases that the recorder found: those of whole iterations, the same on all ranks, and candidates."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

_MOST_APART = 2  # largest difference of ranks that agree, in iterations
# The columns of the stored table by which phases are judged.
PHASE_COLUMNS = ("phase", "iterations", "length", "calls")


def find_whole_phases(phases: pl.DataFrame, ranks: int) -> list[int]:
    """Return the phases that all `ranks` have, with the same number of whole iterations, within two.

    Per iteration there are as many calls as in one typical iteration, rounded. If there are as many as in
    two, the calls that repeat are only a part of an iteration: a time step has several solver iterations.

    `phases` has a row per rank and phase, with `PHASE_COLUMNS`.
    """
    iterations = pl.col("iterations")
    counts = phases.group_by("phase").agg(
        pl.len().alias("ranks"),
        (iterations.max() - iterations.min()).alias("apart"),
        (pl.col("calls") / (iterations * pl.col("length"))).max().alias("lengths"),
    )
    whole = counts.filter(pl.col("ranks") == ranks, pl.col("apart") <= _MOST_APART, pl.col("lengths") < 1.5)
    return [int(number) for number in whole["phase"].sort()]


def name_phases(numbers: Collection[int], whole: Collection[int]) -> dict[str, str]:
    """Return the names of the phases' regions by the recorder's names."""
    return {f"phase {n}": f"phase {n}" + ("" if n in whole else " (candidate)") for n in numbers}
