"""The data of one profile: columns of its stored tables, read and checked when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from haloscope.base.arrays import AnyArray
from haloscope.base.errors import ProfileError, UsageError, printable
from haloscope.profile.store.columns import NEEDED
from haloscope.profile.store.format import ProfileFile
from haloscope.profile.store.framing import DamageError
from haloscope.profile.store.hosts import Hosts
from haloscope.profile.store.phases import PHASE_COLUMNS, find_whole_phases, name_phases
from haloscope.profile.store.source import Source
from haloscope.profile.store.tree import RegionTree, region_tree

_T = TypeVar("_T")


class ProfileData:
    """The data for all tables. `haloscope.Profile` holds one."""

    def __init__(self, source: Source) -> None:
        """Read from `source`, which is open."""
        self.source = source
        self._made: dict[Callable[[ProfileData], Any], Any] = {}
        self._is_trace_left_out = False

    @property
    def path(self) -> Path:
        """The path of the profile."""
        return self.source.path

    @property
    def file(self) -> ProfileFile:
        """The recorder's file. Raises `UsageError` for a profile of another tool."""
        if not isinstance(self.source, ProfileFile):
            raise UsageError(f"{self.path}: only profiles from `haloscope run` have that")
        return self.source

    @property
    def info(self) -> Mapping[str, Any]:
        """The run information as the recorder wrote it."""
        return self.source.info

    @property
    def has_trace(self) -> bool:
        """Whether there is a trace, of the recorder or of a different tool, that is not left out."""
        if self._is_trace_left_out:
            return False
        return self.source.own_trace is not None or self.source.rows("trace_clocks") > 0

    def once(self, make: Callable[[ProfileData], _T]) -> _T:
        """Return `make(self)`, which is called once."""
        if make not in self._made:
            self._made[make] = make(self)
        made: _T = self._made[make]
        return made

    def guard(self, action: Callable[[], _T]) -> _T:
        """Return the result of `action`; damage becomes a `ProfileError` with the file's name."""
        try:
            return action()
        except DamageError as damage:
            raise damage.make_error(self.path) from None

    def guard_trace(self, action: Callable[[], _T]) -> tuple[_T, list[str]]:
        """Return the result of `action`, and remarks.

        If the trace is refused, because it is damaged or too large, it is left out from now on. The remark is
        the reason.
        """
        try:
            return self.guard(action), []
        except ProfileError as error:
            if not self.has_trace:
                raise
            self._is_trace_left_out = True
            reason = str(error).removeprefix(f"{printable(str(self.path))}: ")
            return self.guard(action), [f"{self.path.name}: the trace is left out: {reason}"]

    def frame(self, table: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return a table of the file with its own column names; empty if the file does not have it.

        `columns` are those to read, default all of format version 1. NaN and infinities are null.
        Raises `ProfileError` for damage.
        """
        return self.guard(lambda: self._frame(table, columns))

    def _frame(self, table: str, columns: Sequence[str] | None) -> pl.DataFrame:
        frame = self.source.frame(table, NEEDED[table] if columns is None else list(columns))
        if table != "paths" and "path" in frame.columns:
            self.check_paths(frame["path"].to_numpy(), table)
        return frame

    def exchanges(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return the traffic between ranks, by p2p messages and by neighbourhood collectives."""
        return pl.concat([self.frame("partners", columns), self.frame("neighbors", columns)])

    @cached_property
    def regions(self) -> RegionTree:
        """The tree of regions."""
        (path, parent, communication), names = self._read_small(
            "paths", ("path", "parent", "communication"), "name"
        )
        if not np.array_equal(path, np.arange(len(path))):
            raise DamageError("its table paths is not numbered by row").make_error(self.path)
        names = [self.phase_names.get(name, name) for name in names]
        return self.guard(lambda: region_tree(names, parent, communication))

    @cached_property
    def whole_phases(self) -> list[int]:
        """The phases of whole iterations on which all recorded ranks agree."""
        ranks = self.frame("processes", ["rank"])["rank"].n_unique()
        recorded = ranks - len(self.info.get("unwatched_ranks") or ())
        return find_whole_phases(self.frame("phases", PHASE_COLUMNS), recorded)

    @cached_property
    def phase_names(self) -> dict[str, str]:
        """The names of the phases' regions by the recorder's names: `phase 1 (candidate)` if uncertain."""
        if not self.source.rows("phases"):
            return {}
        numbers = self.frame("phases", ["phase"])["phase"].unique().to_list()
        return name_phases(numbers, self.whole_phases)

    @cached_property
    def hosts(self) -> Hosts:
        """The host of each rank."""
        (ranks,), hosts = self._read_small("processes", ("rank",), "host")
        return self.guard(lambda: Hosts(ranks, hosts))

    def _read_small(self, table: str, numbers: Sequence[str], text: str) -> tuple[list[AnyArray], list[str]]:
        """Return columns of numbers, and one of texts, without rows that are partly unknown."""
        if isinstance(
            self.source, ProfileFile
        ):  # without data frames, which costs time with a thousand profiles
            found = self.source.columns(table, [*numbers, text])
            strings = self.source.strings
            return [found[name] for name in numbers], [strings[index] for index in found[text].tolist()]
        frame = self.frame(table, [*numbers, text]).drop_nulls()
        return [frame[name].to_numpy() for name in numbers], frame[text].to_list()

    def check_paths(self, paths: AnyArray, table: str) -> None:
        """Raise `DamageError` if a table has rows of a region that does not exist."""
        if len(paths) and not (paths.min() >= 0 and paths.max() < len(self.regions)):
            raise DamageError(f"its table {table} names a region that does not exist")
