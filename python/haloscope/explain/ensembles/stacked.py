"""Many profiles as one: a forest of their trees of regions, with consecutive ranks.

Tables of a thousand small profiles then take a thousand reads of files, but only a few dozen joins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from haloscope.profile.store import (
    LAYOUT,
    NEEDED,
    REGION_COLUMNS,
    Hosts,
    ProfileData,
    ProfileFile,
    RegionTree,
    Scope,
    keys,
    reductions,
    replace_empty_text,
    type_columns,
)
from haloscope.profile.tables import region_rows

# Offset between the ranks of consecutive profiles. Negative values, which are not ranks, stay negative.
_APART = 1 << 33
_RANKS = ("rank", "partner")


class Forest(RegionTree):
    """The trees of several profiles, with consecutive path numbers; `number` is the profile of each path."""

    def __init__(self, trees: Sequence[RegionTree]) -> None:
        lengths = np.array([len(tree) for tree in trees], dtype=np.int64)
        self.first = np.cumsum(lengths) - lengths
        self.number = np.repeat(np.arange(len(trees)), lengths)
        self.names = [name for tree in trees for name in tree.names]
        self.full_names = [name for tree in trees for name in tree.full_names]
        self.distinct_names = [name for tree in trees for name in tree.distinct_names]
        self.depths = np.concatenate([tree.depths for tree in trees])
        moved = list(zip(trees, self.first, strict=True))
        self.order = np.concatenate([tree.order + first for tree, first in moved])
        self.parents = np.concatenate(
            [np.where(tree.parents < 0, -1, tree.parents + first) for tree, first in moved]
        )


class Stacked(ProfileData):
    """Profiles of the recorder that behave as one, whose tables of regions are computed at once.

    A stack has no information about a single run.
    """

    def __init__(self, profiles: Sequence[ProfileData]) -> None:
        """Take open profiles, which the caller closes. Raises `ProfileError` for damage."""
        super().__init__(profiles[0].source)
        self._profiles = profiles
        self.forest = Forest([profile.regions for profile in profiles])
        self.regions = self.forest
        self.hosts = self._hosts()

    def _hosts(self) -> Hosts:
        """Return the hosts of ranks: one host for all, if no run had several."""
        known = [profile.hosts for profile in self._profiles]
        ranks = np.concatenate([hosts.ranks + number * _APART for number, hosts in enumerate(known)])
        if all(len(hosts.names) == 1 for hosts in known):
            return Hosts(ranks, ["one"] * len(ranks))
        return Hosts(
            ranks, [name for hosts in known for name in hosts.find_names(pl.Series(hosts.ranks)).to_list()]
        )

    def _frame(self, table: str, columns: Sequence[str] | None) -> pl.DataFrame:
        names = NEEDED[table] if columns is None else list(columns)
        whole, lengths = self._read(table, names)
        by = dict.fromkeys(_RANKS, np.arange(len(lengths)) * _APART) | {"path": self.forest.first}
        moved = [name for name in by if name in whole.columns]
        return whole.with_columns(pl.col(name) + np.repeat(by[name], lengths) for name in moved)

    def _read(self, table: str, names: Sequence[str]) -> tuple[pl.DataFrame, list[int]]:
        """Return columns of all profiles as they are in the files, and the number of rows of each."""
        files = [profile.source for profile in self._profiles if isinstance(profile.source, ProfileFile)]
        known = {tuple(name for name in names if name in file.tables.get(table, ())) for file in files}
        texts = [name for name in names if LAYOUT[table][name] == "string"]
        if texts or len(known) != 1 or len(files) < len(self._profiles):
            frames = [profile.frame(table, names) for profile in self._profiles]
            return pl.concat(frames), [len(frame) for frame in frames]
        parts = [file.columns(table, next(iter(known))) for file in files]
        for profile, part in zip(self._profiles, parts, strict=True):
            profile.guard(lambda profile=profile, part=part: profile.check_paths(part["path"], table))  # type: ignore[misc]
        series = {
            name: _finite(pl.Series(name, np.concatenate([part[name] for part in parts])))
            for name in parts[0]
        }
        return type_columns(table, names, series), [file.rows(table) for file in files]

    def region_table(self, exclusive: bool) -> pl.DataFrame:
        """Return `number` of the profile and the columns of `regions`, depth first. Raises `DamageError`."""
        rows = region_rows(self, Scope(self.forest, exclusive))
        placed = self._add_names(rows, {"region": self.forest.names, "path": self.forest.full_names}, [])
        return placed.select("number", *REGION_COLUMNS)

    def size_table(self, exclusive: bool) -> pl.DataFrame:
        """Return `number` of the profile and the columns of `sizes`; `region` is a last name.

        The name in `sizes` is `distinct_name`. `path` and `bytes_upper` are always present.
        """
        scope = Scope(self.forest, exclusive)
        rows = scope.reduce(self.frame("sizes", list(LAYOUT["sizes"])), keys("sizes"), reductions("sizes"))
        names = {
            "region": self.forest.names,
            "path": self.forest.full_names,
            "distinct_name": self.forest.distinct_names,
        }
        placed = self._add_names(rows.with_columns(replace_empty_text("memory")), names, keys("sizes"))
        return placed.select(pl.exclude("bytes_upper"), "bytes_upper")

    def _add_names(
        self, rows: pl.DataFrame, named: Mapping[str, Sequence[str]], by: Sequence[str]
    ) -> pl.DataFrame:
        """Return rows with `number` and names in place of `path`, profile by profile, depth first."""
        texts = {name: pl.Series(texts, dtype=pl.String) for name, texts in named.items()}
        orders = {"number": pl.Series(self.forest.number), "_order": pl.Series(self.forest.order)}
        columns = [series.gather(rows["path"]).alias(name) for name, series in (orders | texts).items()]
        values = rows.drop("path")
        whole = pl.DataFrame([*columns, *values.get_columns()])
        return whole.sort("_order", *by, maintain_order=True).drop("_order")


def _finite(series: pl.Series) -> pl.Series:
    """Return a column with null for what is unknown."""
    if series.dtype == pl.Float64 and not series.is_finite().all():
        return series.set(~series.is_finite(), None)
    return series
