"""Many profiles, opened together: their stacked tables, and the information of each run."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from glob import glob
from pathlib import Path
from typing import Any

import polars as pl

from haloscope.base.errors import ProfileError, UsageError
from haloscope.explain.ensembles.stacked import Stacked
from haloscope.profile import RUN_COLUMNS, Profile, label_table, run_row
from haloscope.profile.store import PROGRAM, ProfileFile, check_info, make_region_error, parts
from haloscope.profile.tables import read_texts

# Number of profiles that are open and in memory at the same time.
_AT_A_TIME = 64
# Tables that are computed for many profiles at once.
_STACKED: dict[str, Callable[[Stacked, bool], pl.DataFrame]] = {
    "regions": Stacked.region_table,
    "sizes": Stacked.size_table,
}


class Ensemble:
    """The profiles at `paths`. Only a few of them are open at the same time.

    A profile that cannot be read is left out of all tables, earlier ones included; `skipped` lists it.
    """

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self.paths = [Path(path) for path in dict.fromkeys(os.fspath(path) for path in paths)]
        self._unreadable: dict[Path, str] = {}
        self._runs: dict[Path, dict[str, Any]] = {}
        self._names: set[str] = set()
        self._tables: dict[tuple[str, bool], pl.DataFrame] = {}

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def skipped(self) -> list[str]:
        """One line per profile that could not be read so far."""
        return list(self._unreadable.values())

    @property
    def runs(self) -> pl.DataFrame:
        """One row per profile: profile, program, run_ranks, run_hosts (number), run_start, …, and its texts.

        The texts come from the program, the job and the environment, named as in `info`; missing ones are
        null. `missing_ranks` is the number of ranks without a record.
        """
        unknown = [path for path in self.paths if path not in self._runs]
        list(self.each(unknown, lambda profiles: [self._describe(profile) for profile in profiles]))
        rows = [self._runs[path] for path in self._readable()]
        texts = dict.fromkeys(key for row in rows for key in row if key not in _RUN_TYPES)
        return pl.DataFrame(rows, schema={**_RUN_TYPES, **dict.fromkeys(texts, pl.String)})

    def table(self, name: str, *, exclusive: bool = False, region: str | None = None) -> pl.DataFrame:
        """Return the stacked tables of all profiles, with columns that identify the run.

        A profile without `region` adds no rows.

        Args:
            name: Name of the table.
            exclusive: Whether to exclude nested regions.
            region: Region to select, by last name or path.

        Raises:
            UsageError: No profile has the region.
            ProfileError: No profile can be read.
        """
        if name not in _STACKED:
            return self._one_by_one(name, exclusive, region)
        rows = self.with_paths(name, exclusive)
        rows = rows if region is None else self.of_region(rows, region)
        if name == "regions":
            return rows
        rows = rows.with_columns(region="distinct_name").drop("path", "distinct_name")
        ranges = (rows["bytes"] != rows["bytes_upper"]).any()
        return rows if ranges else rows.drop("bytes_upper")

    def with_paths(self, name: str, exclusive: bool = False) -> pl.DataFrame:
        """Return the table `regions` or `sizes` of all profiles, with `region`, a last name, and `path`."""
        if (name, exclusive) not in self._tables:
            made = list(self.each(self.paths, lambda profiles: self._stack(profiles, name, exclusive)))
            self._readable()
            self._tables[name, exclusive] = pl.concat(made)
        readable = [str(path) for path in self._readable()]
        return self._tables[name, exclusive].filter(pl.col("profile").is_in(readable))

    def of_region(self, rows: pl.DataFrame, region: str) -> pl.DataFrame:
        """Return the rows of `with_paths` whose region has this last name or path.

        Raises `UsageError` if no run has such a region.
        """
        steps = parts(region)
        is_step = pl.col("region") == steps[0] if len(steps) == 1 else pl.lit(False)
        named = (pl.col("path") == region) | (is_step & (pl.col("path") != PROGRAM))
        # If there is none, the last name may be given exactly as in the program.
        loosely = (pl.col("region") == region) & ~named.any().over("profile")
        found = rows.filter(named | loosely)
        if not len(found) and not self._names.intersection((region, *(steps if len(steps) == 1 else ()))):
            raise make_region_error(region, self._names)
        return found

    def _stack(self, profiles: Sequence[Profile], name: str, exclusive: bool) -> Iterator[pl.DataFrame]:
        for alike in _group_alike(profiles):
            stack = Stacked([profile.data for profile in alike])
            self._names.update(stack.forest.names, stack.forest.full_names)
            rows = stack.guard(lambda stack=stack: _STACKED[name](stack, exclusive))  # type: ignore[misc]
            described = [self._describe(profile) for profile in alike]
            runs = pl.DataFrame(described, schema=RUN_COLUMNS)
            yield pl.concat([runs[rows["number"]], rows.drop("number")], how="horizontal")

    def _one_by_one(self, name: str, exclusive: bool, region: str | None) -> pl.DataFrame:
        lacking: list[UsageError] = []

        def frames_of(profiles: Sequence[Profile]) -> Iterator[pl.DataFrame]:
            for profile in profiles:
                try:
                    yield profile.data.guard(lambda: label_table(profile, name, exclusive, region))  # noqa: B023
                except UsageError as error:
                    if region is None:
                        raise
                    lacking.append(error)

        frames: list[pl.DataFrame] = list(self.each(self.paths, frames_of))
        if not frames:
            raise lacking[-1]
        # Diagonal: profiles may have recorded different values.
        return pl.concat(frames, how="diagonal")

    def each(
        self, paths: Sequence[Path], make: Callable[[Sequence[Profile]], Iterable[Any]]
    ) -> Iterator[Any]:
        """Yield the results of `make` for open profiles, some at a time, without unreadable ones.

        Raises `ProfileError` if no profile of the ensemble can be read.
        """
        for first in range(0, len(paths), _AT_A_TIME):
            yield from self._read_batch(paths[first : first + _AT_A_TIME], make)

    def _readable(self) -> list[Path]:
        """Return the profiles that could be read so far. Raises `ProfileError` if there are none."""
        if len(self._unreadable) == len(self.paths):
            raise ProfileError(next(iter(self._unreadable.values())))
        return [path for path in self.paths if path not in self._unreadable]

    def _read_batch(
        self, paths: Sequence[Path], make: Callable[[Sequence[Profile]], Iterable[Any]]
    ) -> list[Any]:
        wanted = [path for path in paths if path not in self._unreadable]
        try:
            with ExitStack() as open_ones, _pause_garbage_collection():
                return list(make([open_ones.enter_context(Profile(path)) for path in wanted]))
        except ProfileError as error:
            if len(wanted) == 1:
                self._unreadable[wanted[0]] = str(error)
                return []
        # Bisection finds the unreadable profile.
        middle = len(wanted) // 2
        return self._read_batch(wanted[:middle], make) + self._read_batch(wanted[middle:], make)

    def _describe(self, profile: Profile) -> dict[str, Any]:
        """Return the row of a run in `runs`."""
        if profile.path not in self._runs:
            info = profile.data.guard(lambda: check_info(profile.info))
            missing = {"missing_ranks": len(info.get("missing_ranks") or [])}
            row = profile.data.guard(lambda: run_row(profile))
            self._runs[profile.path] = read_texts(info) | row | missing
        return self._runs[profile.path]


_RUN_TYPES = {**RUN_COLUMNS, "missing_ranks": pl.Int64}


@contextmanager
def _pause_garbage_collection() -> Iterator[None]:
    """Disable garbage collection: thousands of small objects are created, and all stay alive."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _group_alike(profiles: Sequence[Profile]) -> Iterator[list[Profile]]:
    """Yield, in order, groups of profiles that can be read as one: those of the recorder with host names."""
    group: list[Profile] = []
    for profile in profiles:
        if isinstance(profile.data.source, ProfileFile) and profile.hosts.names:
            group.append(profile)
            continue
        if group:
            yield group
        group = []
        yield [profile]
    if group:
        yield group


def open_all(profiles: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Ensemble:
    """Open several profiles as an ensemble.

    Args:
        profiles: A glob pattern such as `runs/*.halo`, whose matches are sorted, or several paths.

    Raises:
        ProfileError: Nothing matches.
    """
    if isinstance(profiles, str | os.PathLike):
        pattern = os.fspath(profiles)
        paths = [pattern] if Path(pattern).exists() else sorted(glob(pattern, recursive=True))
    else:
        pattern, paths = "the list of profiles", [os.fspath(path) for path in profiles]
    if not paths:
        raise ProfileError(f"{pattern}: no profile matches; name files that `haloscope run` wrote")
    return Ensemble(paths)
