"""Many profiles read together."""

from __future__ import annotations

import os
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from haloscope.base.errors import ProfileError, UsageError
from haloscope.explain._info import run_information
from haloscope.explain._profile import Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Ensemble", "open_all"]

_RUN_KEYS = ("ranks", "hosts", "mpi_library", "start", "duration", "partial", "version")


class Ensemble:
    """The profiles at `paths`, opened one after the other for each table."""

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self.paths = [Path(path) for path in paths]

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def runs(self) -> pl.DataFrame:
        """One row a profile: profile, program, run_ranks, run_hosts (how many), run_start, …"""
        return pl.concat([self._each(path, _metadata) for path in self.paths])

    def table(self, name: str, *, exclusive: bool = False, region: str | None = None) -> pl.DataFrame:
        """Return the profiles' tables one below the other, the columns of `runs` before each.

        A profile without `region` adds no rows. Raises `UsageError` if no profile has it, and
        `ProfileError` for the first profile that cannot be read.
        """
        with_region = self.paths if region is None else self._having(region)
        parts = [
            self._each(path, lambda profile: _labelled(profile, name, exclusive, region))
            for path in with_region
        ]
        # Diagonal: profiles may have recorded different values, or no range of sizes.
        return pl.concat(parts, how="diagonal")

    def _having(self, region: str) -> list[Path]:
        """Return the profiles that know `region`; the last one's `UsageError` if none does."""
        paths, missing = [], None
        for path in self.paths:
            missing = self._lacks(path, region)
            paths += [] if missing else [path]
        if missing and not paths:
            raise missing
        return paths

    @staticmethod
    def _lacks(path: Path, region: str) -> UsageError | None:
        with Profile(path) as profile:
            try:
                profile.guarded(lambda: profile.regions.matching(region))
            except UsageError as error:
                return error
        return None

    @staticmethod
    def _each(path: Path, action: Callable[[Profile], pl.DataFrame]) -> pl.DataFrame:
        with Profile(path) as profile:
            return profile.guarded(lambda: action(profile))


def open_all(profiles: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Ensemble:
    """Return the ensemble of a glob pattern such as `runs/*.halo`, or of several paths.

    Paths of a pattern come sorted. Raises `ProfileError` if nothing matches.
    """
    if isinstance(profiles, str | os.PathLike):
        pattern = os.fspath(profiles)
        paths = [pattern] if Path(pattern).exists() else sorted(glob(pattern, recursive=True))
    else:
        pattern, paths = "the list of profiles", [os.fspath(path) for path in profiles]
    if not paths:
        raise ProfileError(f"{pattern}: no profile matches; name files that `haloscope run` wrote")
    return Ensemble(paths)


def _metadata(profile: Profile) -> pl.DataFrame:
    told = run_information(profile)
    told["hosts"] = len(told["hosts"])
    types = {
        "ranks": pl.Int64,
        "hosts": pl.Int64,
        "start": pl.Float64,
        "duration": pl.Float64,
        "partial": pl.Boolean,
    }
    columns = [
        pl.Series("profile", [str(profile.path)], dtype=pl.String),
        pl.Series("program", [told["program"]], dtype=pl.String),
        *(pl.Series(f"run_{key}", [told[key]], types.get(key, pl.String)) for key in _RUN_KEYS),
    ]
    return pl.DataFrame(columns)


def _labelled(profile: Profile, name: str, exclusive: bool, region: str | None) -> pl.DataFrame:
    table = profile.table(name, exclusive=exclusive, region=region)
    return _metadata(profile).join(table, how="cross")
