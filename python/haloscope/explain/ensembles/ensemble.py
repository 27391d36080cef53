"""Many profiles, opened together: their tables one below the other, and what each run says of itself."""

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

# Profiles that are open, and in memory, at a time.
_AT_A_TIME = 64
# Tables that are made of many profiles at once.
_STACKED: dict[str, Callable[[Stacked, bool], pl.DataFrame]] = {
    "regions": Stacked.region_table,
    "sizes": Stacked.size_table,
}


class Ensemble:
    """The profiles at `paths`, few of which are open at a time.

    One that cannot be read is left out, from what was read before, too: `skipped` says which, and why.
    """

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self.paths = [Path(path) for path in dict.fromkeys(os.fspath(path) for path in paths)]
        self._unreadable: dict[Path, str] = {}
        self._runs: dict[Path, dict[str, Any]] = {}
        self._names: set[str] = set()
        self._made: dict[tuple[str, bool], pl.DataFrame] = {}

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def skipped(self) -> list[str]:
        """A line for each profile that could not be read so far."""
        return list(self._unreadable.values())

    @property
    def runs(self) -> pl.DataFrame:
        """One row a profile: profile, program, run_ranks, run_hosts (how many), run_start, …, and its texts.

        These are what the program, the job and the environment said of the run, named as in `info`; null
        where a run says nothing. `missing_ranks` is how many ranks of the run left no record.
        """
        unknown = [path for path in self.paths if path not in self._runs]
        list(self.each(unknown, lambda profiles: [self._describe(profile) for profile in profiles]))
        rows = [self._runs[path] for path in self._readable()]
        texts = dict.fromkeys(key for row in rows for key in row if key not in _RUN_TYPES)
        return pl.DataFrame(rows, schema={**_RUN_TYPES, **dict.fromkeys(texts, pl.String)})

    def table(self, name: str, *, exclusive: bool = False, region: str | None = None) -> pl.DataFrame:
        """Return the profiles' tables one below the other, with what says which run it is before each row.

        A profile without `region` adds no rows. Raises `UsageError` if no profile has it, and `ProfileError`
        if no profile can be read.
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
        if (name, exclusive) not in self._made:
            made = list(self.each(self.paths, lambda profiles: self._stacked(profiles, name, exclusive)))
            self._readable()
            self._made[name, exclusive] = pl.concat(made)
        readable = [str(path) for path in self._readable()]
        return self._made[name, exclusive].filter(pl.col("profile").is_in(readable))

    def of_region(self, rows: pl.DataFrame, region: str) -> pl.DataFrame:
        """Return those rows of `with_paths` whose region has this last name or path.

        Raises `UsageError` if no run has such a region.
        """
        steps = parts(region)
        is_step = pl.col("region") == steps[0] if len(steps) == 1 else pl.lit(False)
        named = (pl.col("path") == region) | (is_step & (pl.col("path") != PROGRAM))
        # Where there is none, a last name may be given as the program has it.
        loosely = (pl.col("region") == region) & ~named.any().over("profile")
        found = rows.filter(named | loosely)
        if not len(found) and not self._names.intersection((region, *(steps if len(steps) == 1 else ()))):
            raise make_region_error(region, self._names)
        return found

    def _stacked(self, profiles: Sequence[Profile], name: str, exclusive: bool) -> Iterator[pl.DataFrame]:
        for alike in _alike(profiles):
            stack = Stacked([profile.data for profile in alike])
            self._names.update(stack.forest.names, stack.forest.full_names)
            rows = stack.guard(lambda stack=stack: _STACKED[name](stack, exclusive))  # type: ignore[misc]
            described = [self._describe(profile) for profile in alike]
            runs = pl.DataFrame(described, schema=RUN_COLUMNS)
            yield pl.concat([runs[rows["number"]], rows.drop("number")], how="horizontal")

    def _one_by_one(self, name: str, exclusive: bool, region: str | None) -> pl.DataFrame:
        lacking: list[UsageError] = []

        def made(profiles: Sequence[Profile]) -> Iterator[pl.DataFrame]:
            for profile in profiles:
                try:
                    yield profile.data.guard(lambda: label_table(profile, name, exclusive, region))  # noqa: B023
                except UsageError as error:
                    if region is None:
                        raise
                    lacking.append(error)

        frames: list[pl.DataFrame] = list(self.each(self.paths, made))
        if not frames:
            raise lacking[-1]
        # Diagonal: profiles may have recorded different values.
        return pl.concat(frames, how="diagonal")

    def each(
        self, paths: Sequence[Path], make: Callable[[Sequence[Profile]], Iterable[Any]]
    ) -> Iterator[Any]:
        """Yield what `make` yields of open profiles, some at a time, without those that cannot be read.

        Raises `ProfileError` if none of the ensemble can be.
        """
        for first in range(0, len(paths), _AT_A_TIME):
            yield from self._some(paths[first : first + _AT_A_TIME], make)

    def _readable(self) -> list[Path]:
        """Return the profiles that could be read so far. Raises `ProfileError` if there are none."""
        if len(self._unreadable) == len(self.paths):
            raise ProfileError(next(iter(self._unreadable.values())))
        return [path for path in self.paths if path not in self._unreadable]

    def _some(self, paths: Sequence[Path], make: Callable[[Sequence[Profile]], Iterable[Any]]) -> list[Any]:
        wanted = [path for path in paths if path not in self._unreadable]
        try:
            with ExitStack() as open_ones, _keeping():
                return list(make([open_ones.enter_context(Profile(path)) for path in wanted]))
        except ProfileError as error:
            if len(wanted) == 1:
                self._unreadable[wanted[0]] = str(error)
                return []
        # Whose fault it is, the halves tell.
        middle = len(wanted) // 2
        return self._some(wanted[:middle], make) + self._some(wanted[middle:], make)

    def _describe(self, profile: Profile) -> dict[str, Any]:
        """Return what is known of a run, by column of `runs`."""
        if profile.path not in self._runs:
            told = profile.data.guard(lambda: check_info(profile.info))
            missing = {"missing_ranks": len(told.get("missing_ranks") or [])}
            row = profile.data.guard(lambda: run_row(profile))
            self._runs[profile.path] = read_texts(told) | row | missing
        return self._runs[profile.path]


_RUN_TYPES = {**RUN_COLUMNS, "missing_ranks": pl.Int64}


@contextmanager
def _keeping() -> Iterator[None]:
    """Do not look for garbage meanwhile: thousands of small things are made, and all are kept."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _alike(profiles: Sequence[Profile]) -> Iterator[list[Profile]]:
    """Yield, in order, profiles that can be read as one: those of the recorder that know their hosts."""
    together: list[Profile] = []
    for profile in profiles:
        if isinstance(profile.data.source, ProfileFile) and profile.hosts.names:
            together.append(profile)
            continue
        if together:
            yield together
        together = []
        yield [profile]
    if together:
        yield together


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
