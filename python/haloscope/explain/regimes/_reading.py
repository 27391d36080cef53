"""Timings from files: a profile's series, and whatever else can hold a matrix of durations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.errors import HaloscopeError, ProfileError, UsageError
from haloscope.base.units import ranks_text
from haloscope.explain._instances import QUANTITIES, Series
from haloscope.explain._profile import Profile
from haloscope.explain.regimes._checking import checked
from haloscope.explain.regimes._reading_arrays import read_arrays
from haloscope.explain.regimes._reading_tables import read_csv, read_parquet

if TYPE_CHECKING:
    import os

    import polars as pl
    from numpy.typing import NDArray

    from haloscope.explain.regimes._timings import Timings

__all__ = ["only_series", "read_timings", "series_of", "timings_of"]

# What a file begins with says what it is, whatever it is called.
_KINDS: Mapping[bytes, Callable[[Path, str | None], Timings]] = {
    b"\x93NUMPY": read_arrays,
    b"PK\x03\x04": read_arrays,
    b"PAR1": read_parquet,
}
_PROFILE = b"\x89HALO"


def read_timings(path: str | os.PathLike[str], region: str | None = None) -> Timings:
    """Return the timings of `region` that are in a file; None: of the only region it has.

    The file is a profile with a series, a `.npy` or `.npz` array, a Parquet or a CSV file, with
    the contents that docs/reference/regimes.md describes. Raises `UsageError` if the region has no
    series or has to be named, `ProfileError` if the file has no timings.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            begin = stream.read(4096)
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror}; name a file of timings") from None
    if not begin:
        raise ProfileError(f"{path}: is empty; name a profile, or .npy, .npz, CSV or Parquet")
    if begin.startswith(_PROFILE):
        profile = Profile(path)
        profile.verify()  # other tables of it are read when they are asked for
        return timings_of(profile, region)
    kind = next((kind for start, kind in _KINDS.items() if begin.startswith(start)), read_csv)
    if kind is read_csv and b"\0" in begin:
        raise ProfileError(f"{path}: is neither a profile nor .npy, .npz, CSV or Parquet")
    try:
        return kind(path, region)
    except HaloscopeError:
        raise
    except Exception as error:  # what these readers raise for damage is of many kinds
        told = " ".join(str(error).split())[:200]
        raise ProfileError(f"{path}: cannot be read: {told}; write the file anew") from None


def series_of(profile: Profile) -> list[str]:
    """Return the full names of the regions whose instances the profile keeps."""
    paths = np.unique(profile.guarded(lambda: Series.of(profile)).paths)
    return [profile.regions.full_names[path] for path in paths.tolist()]


def only_series(names: list[str], path: object) -> str:
    """Return the one name there is. Raises `UsageError` if there are none, or several."""
    if not names:
        raise UsageError(
            f"{path}: has no series; run the program with haloscope run --series REGION"
        )
    if len(names) > 1:
        raise UsageError(f"{path}: has several series; name one with --region: {', '.join(names)}")
    return names[0]


def timings_of(profile: Profile, region: str | None = None) -> Timings:
    """Return the timings of a region of an open profile; None: of the only one with a series.

    Raises `UsageError` if the region has no series, or has to be named.
    """
    instances = profile.instances(region or only_series(series_of(profile), profile.path))
    ranks = instances.ranks
    codes = profile.hosts.codes(ranks)
    hosts = [profile.hosts.names[code] if code >= 0 else None for code in codes.tolist()]
    name = profile.path.stem
    others = _Recorded(profile, instances.path, ranks, instances.duration.shape)
    timings = checked(name, instances.path, instances.duration, ranks, hosts, others)
    silent = np.setdiff1d(np.arange(int(profile.info.get("ranks") or 0)), ranks)
    if not len(silent):
        return timings
    note = f"nothing was recorded: {ranks_text(silent.tolist())}"
    return replace(timings, notes=(note, *timings.notes))


class _Recorded(Mapping[str, "NDArray[np.float64]"]):
    """What a profile has of each instance besides its duration, read when it is asked for."""

    def __init__(
        self, profile: Profile, path: str, ranks: NDArray[np.int64], shape: tuple[int, ...]
    ) -> None:
        self._profile, self._path, self._ranks, self._shape = profile, path, ranks, shape
        self._names: list[str] | None = None

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name in QUANTITIES and name != "duration":
            matrix: NDArray[np.float64] = getattr(self._profile.instances(self._path), name)
            return matrix
        values = self._values()
        if name not in self._recorded():
            raise KeyError(name)
        values = values.filter(values["name"] == name)
        matrix = np.full(self._shape, np.nan)
        rows = np.searchsorted(self._ranks, values["rank"].to_numpy())
        matrix[rows, values["instance"].to_numpy()] = values["value"].to_numpy()
        return matrix

    def __iter__(self) -> Iterator[str]:
        return iter(("start", "wait", *self._recorded()))

    def __len__(self) -> int:
        return 2 + len(self._recorded())

    def _recorded(self) -> list[str]:
        if self._names is None:
            self._names = self._values()["name"].unique(maintain_order=True).to_list()
        return [name for name in self._names if name not in QUANTITIES]

    def _values(self) -> pl.DataFrame:
        """The values recorded in instances that are there."""
        frame = self._profile.guarded(lambda: self._profile.frame("values"))
        path = self._profile.regions.full_names.index(self._path)
        inside = frame["instance"].is_between(0, self._shape[1] - 1)
        known = frame["rank"].is_in(self._ranks.tolist())
        return frame.filter((frame["path"] == path) & inside & known)
