"""Timings from profiles: the series of a region, with the values that were recorded in its instances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from haloscope.base.arrays import Floats, Integers
from haloscope.base.errors import UsageError
from haloscope.base.units import ranks_text
from haloscope.markov.merging import MergedInstances, MergedValues
from haloscope.markov.timings import Timings, check_timings
from haloscope.profile import Profile
from haloscope.profile.tables import QUANTITIES, InstanceSeries


def series_of(profile: Profile) -> list[str]:
    """Return the full names of the regions whose instances the profile keeps."""
    paths = np.unique(profile.data.guard(lambda: InstanceSeries.from_profile(profile.data)).paths)
    return [profile.regions.full_names[path] for path in paths.tolist()]


def only_series(names: list[str], path: object) -> str:
    """Return the only name, or the last name that all have. Raises `UsageError` for none, or several."""
    if not names:
        raise UsageError(f"{path}: has no series; run the program with haloscope run --series REGION")
    if len(names) == 1:
        return names[0]
    last = {name.rpartition("/")[2] for name in names}
    if len(last) > 1:
        raise UsageError(f"{path}: has several series; name one with --region: {', '.join(names)}")
    return last.pop()


def timings_of(profile: Profile, region: str | None = None) -> Timings:
    """Return the timings of a region of an open profile; None: of the only one with a series.

    The instances of all regions with this name are one series, in the order of time.

    Raises `UsageError` if the region has no series, or has to be named.
    """
    kept = series_of(profile)
    region = region or only_series(kept, profile.path)
    chosen = np.flatnonzero(profile.regions.matching(region)).tolist()
    names = [profile.regions.full_names[path] for path in chosen]
    paths = [name for name in names if name in kept]
    parts = [profile.instances(path) for path in paths] if len(paths) > 1 else [profile.instances(region)]
    durations = [part.duration for part in parts]
    values = [_Recorded(profile, part.path, part.ranks, part.duration.shape) for part in parts]
    if len(parts) == 1:
        return _check(profile, parts[0].path, parts[0].ranks, durations[0], values[0])
    merged = MergedInstances(parts)
    others = MergedValues(merged.merge, list(zip(values, durations, strict=True)))
    timings = _check(profile, region, merged.ranks, merged.merge(durations), others)
    note = f"{region} is in {len(parts)} regions, and its instances are one series in the order of time"
    return replace(timings, notes=(note, *timings.notes))


def _check(
    profile: Profile, path: str, ranks: Integers, durations: Floats, others: Mapping[str, Floats]
) -> Timings:
    codes = profile.hosts.codes(ranks)
    hosts = [profile.hosts.names[code] if code >= 0 else None for code in codes.tolist()]
    timings = check_timings(profile.path.stem, path, durations, ranks, hosts, others)
    silent = np.setdiff1d(np.arange(int(profile.info.get("ranks") or 0)), ranks)
    if not len(silent):
        return timings
    note = f"nothing was recorded: {ranks_text(silent.tolist())}"
    return replace(timings, notes=(note, *timings.notes))


class _Recorded(Mapping[str, "Floats"]):
    """The values that a profile has of each instance besides its duration, read on demand."""

    def __init__(self, profile: Profile, path: str, ranks: Integers, shape: tuple[int, ...]) -> None:
        self._profile, self._path, self._ranks, self._shape = profile, path, ranks, shape
        self._names: list[str] | None = None

    def __getitem__(self, name: str) -> Floats:
        if name in QUANTITIES and name != "duration":
            matrix: Floats = getattr(self._profile.instances(self._path), name)
            return matrix
        values = self._values()
        if name not in self._list_names():
            raise KeyError(name)
        values = values.filter(values["name"] == name)
        matrix = np.full(self._shape, np.nan)
        rows = np.searchsorted(self._ranks, values["rank"].to_numpy())
        matrix[rows, values["instance"].to_numpy()] = values["value"].to_numpy()
        return matrix

    def __iter__(self) -> Iterator[str]:
        return iter(("start", "wait", *self._list_names()))

    def __len__(self) -> int:
        return 2 + len(self._list_names())

    def _list_names(self) -> list[str]:
        if self._names is None:
            self._names = self._values()["name"].unique(maintain_order=True).to_list()
        return [name for name in self._names if name not in QUANTITIES]

    def _values(self) -> pl.DataFrame:
        """Return the values that were recorded in instances of the matrix."""
        frame = self._profile.data.guard(lambda: self._profile.frame("values"))
        path = self._profile.regions.full_names.index(self._path)
        inside = frame["instance"].is_between(0, self._shape[1] - 1)
        known = frame["rank"].is_in(self._ranks.tolist())
        return frame.filter((frame["path"] == path) & inside & known)
