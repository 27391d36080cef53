"""The table `slices`: the history of a run, rank × slice of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from haloscope.explain._profile import Profile
    from haloscope.explain._scope import Scope

__all__ = ["slices"]


def slices(profile: Profile, _scope: Scope) -> pl.DataFrame:
    """Return what each rank did, all its threads together, in each slice of its time.

    `start` is seconds after MPI_Init; a slice in which a call went on lasts longer.
    """
    return profile.frame("slices").sort("rank", "slice")
