"""The tree of regions, and the scope of a table: its regions, with or without nested ones."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import polars as pl

from haloscope.base.arrays import Flags, Integers
from haloscope.base.errors import UsageError
from haloscope.profile.shown.cells import PROGRAM
from haloscope.profile.store.framing import DamageError

# A chain of n regions has full names of n² characters, which may exceed memory even for a small file. Then
# the middle of long names is replaced by the number of the path.
_LONGEST_NAME = 1000
_MOST_NAME_CHARACTERS = 1 << 27
_MOST_KEPT = 1 << 10  # paths of a tree that is cached for the next profile


def escape_name(name: str) -> str:
    """Return a region's name as it is written in paths."""
    return rf"\{name}" if name == PROGRAM else re.sub(r"([/\\])", r"\\\1", name)


def parts(path: str) -> list[str]:
    """Return the names in a path."""
    if path == PROGRAM:
        return []
    found = re.findall(r"(?:^|/)((?:[^/\\]|\\.)*)", path, re.DOTALL)
    return [re.sub(r"\\(.)", r"\1", name, flags=re.DOTALL) for name in found]


class RegionTree:
    """Paths 0…n−1 of a profile; path 0 is `<program>`, parents come before children."""

    def __init__(self, names: Sequence[str], parents: Integers, communication: Integers) -> None:
        """Take one row per path. Raises `DamageError` if the parents are not one tree with its root at 0."""
        count = len(names)
        if not count or parents[0] != -1:
            raise DamageError("its table paths does not begin with the root")
        if not bool(np.all((parents[1:] >= 0) & (parents[1:] < np.arange(1, count)))):
            raise DamageError("its table paths has a region before the one that holds it")
        self.names = list(names)
        # As they are written in paths.
        self._steps = [names[0], *map(escape_name, names[1:])]
        self.parents = parents
        self.communication = communication.astype(bool)
        self.full_names = self._full_names()
        self.distinct_names = self._distinct_names()
        self.depths = self._depths()
        self.order = self._depth_first()

    def __len__(self) -> int:
        return len(self.names)

    def matching(self, region: str) -> Flags:
        """Return for each path whether its last name or its full name is `region`, shape (n,).

        If none matches, `region` is compared with the unescaped last names. Raises `UsageError` if none
        matches.
        """
        pairs = zip(self._steps, self.full_names, strict=True)
        chosen = np.array([region in pair for pair in pairs], dtype=np.bool_)
        if not chosen.any():
            chosen = np.array([name == region for name in self.names], dtype=np.bool_)
        if not chosen.any():
            raise make_region_error(region, {*self._steps, *self.full_names})
        return chosen

    def is_recorded(self, wanted: str) -> bool:
        """Return whether the recorder has met a region called `wanted`: a name, a path, or its end."""
        ends = (f"/{name}" for name in self.full_names)
        return wanted in self.names or any(end.endswith(f"/{wanted}") for end in ends)

    def with_descendants(self, chosen: Flags) -> Flags:
        """Return which paths are chosen or below a chosen one, shape (n,)."""
        below: Flags = chosen.copy()
        for path in range(1, len(self)):
            below[path] |= below[self.parents[path]]
        return below

    def find_disjoint_tops(self, chosen: Flags) -> Integers | None:
        """Return for each path the chosen one at or above it, shape (n,); None if one is within another."""
        tops = np.where(chosen, np.arange(len(self)), -1)
        for path in range(1, len(self)):
            above = tops[self.parents[path]]
            if above >= 0:
                if chosen[path]:
                    return None
                tops[path] = above
        return tops

    def _full_names(self) -> list[str]:
        full = [self.names[0]]
        total = 0
        whole = self._characters() <= _MOST_NAME_CHARACTERS
        for path in range(1, len(self)):
            name, parent = self._steps[path], self.parents[path]
            text = f"{full[parent]}/{name}" if parent else name
            if len(text) > _LONGEST_NAME and not whole:
                text = f"{text[: _LONGEST_NAME // 2]} ... #{path}/{name[-_LONGEST_NAME // 4 :]}"
            total += len(text)
            if total > _MOST_NAME_CHARACTERS:
                raise DamageError("its regions are too many to name them")
            full.append(text)
        return full

    def _characters(self) -> int:
        """Return the number of characters of all paths together."""
        lengths = [0] * len(self)
        for path in range(1, len(self)):
            parent = int(self.parents[path])
            lengths[path] = len(self._steps[path]) + (lengths[parent] + 1 if parent else 0)
        return sum(lengths)

    def _distinct_names(self) -> list[str]:
        """Return the last name of each region, or its path if several regions have that last name."""
        regions = Counter(self.names)
        taken = {*self._steps, *self.full_names}
        return [
            name if regions[name] == 1 and (name == step or name not in taken) else full
            for name, step, full in zip(self.names, self._steps, self.full_names, strict=True)
        ]

    def _depths(self) -> Integers:
        depths = np.zeros(len(self), dtype=np.int64)
        for path in range(1, len(self)):
            depths[path] = depths[self.parents[path]] + 1
        return depths

    def _depth_first(self) -> Integers:
        """Return each path's index in a depth-first walk, children in the order of their ids."""
        children: list[list[int]] = [[] for _ in self.names]
        for path in range(1, len(self)):
            children[self.parents[path]].append(path)
        index = np.zeros(len(self), dtype=np.int64)
        waiting = [0]
        for step in range(len(self)):
            path = waiting.pop()
            index[path] = step
            waiting.extend(reversed(children[path]))
        return index


def region_tree(names: Sequence[str], parents: Integers, communication: Integers) -> RegionTree:
    """Return the tree of rows of paths, which runs of one program share. Raises `DamageError`."""
    if len(names) > _MOST_KEPT:
        return RegionTree(names, parents, communication)
    return _build_tree(tuple(names), parents.tobytes(), communication.tobytes())


@lru_cache(maxsize=64)
def _build_tree(names: tuple[str, ...], parents: bytes, communication: bytes) -> RegionTree:
    return RegionTree(
        names, np.frombuffer(parents, dtype=np.int64), np.frombuffer(communication, dtype=np.int64)
    )


def make_region_error(region: str, known: Collection[str]) -> UsageError:
    """Return the error if none of the `known` names and paths is `region`."""
    return UsageError(f"no region is called {region!r}; {list_regions(region, known)}")


def list_regions(region: str, known: Collection[str]) -> str:
    """Return the `known` names and paths that are close to `region`, or some of them, as `there is a, b`."""
    names = sorted(known)
    near = difflib.get_close_matches(region, names, n=3) or names[:8]
    more = " …" if len(near) < len(names) else ""
    return f"there is {', '.join(near)}{more}" if near else "there are no regions"


Reduction = Literal["sum", "max"]


def combine(frame: pl.DataFrame, keys: Sequence[str], reductions: Mapping[str, Reduction]) -> pl.DataFrame:
    """Return one row for each distinct `keys`, the other columns reduced, in order of first occurrence.

    A sum over nulls only is null: values that were not measured are unknown, not zero.
    """

    def reduce_column(name: str, reduction: Reduction) -> pl.Expr:
        column = pl.col(name)
        if reduction == "max":
            return column.max()
        if not frame[name].null_count():
            return column.sum()
        return pl.when(column.count() > 0).then(column.sum()).alias(name)

    expressions = [reduce_column(name, reduction) for name, reduction in reductions.items()]
    return frame.group_by(keys, maintain_order=True).agg(expressions)


def roll_up(
    frame: pl.DataFrame, tree: RegionTree, keys: Sequence[str], reductions: Mapping[str, Reduction]
) -> pl.DataFrame:
    """Return `frame` with inclusive values: those of each path and of all paths below it.

    `frame` has `path`, `keys` and the columns of `reductions`; so has the result, with one row for
    each path and key that occurs at or below it. Each level of the tree is merged into the one
    above, deepest first, so that the work grows with the result and not with the depth.
    """
    columns = ["path", *keys, *reductions]
    parents = pl.Series("path", tree.parents)
    levels = _by_level(frame.select(columns), tree)
    carried = frame.select(columns).clear()
    merged = []
    for level in range(max(levels, default=-1), -1, -1):
        parts = [carried, levels[level]] if level in levels else [carried]
        rows = combine(pl.concat(parts), ["path", *keys], reductions)
        merged.append(rows)
        carried = rows.with_columns(parents.gather(rows["path"]).alias("path"))
    return pl.concat(merged) if merged else carried


def _by_level(frame: pl.DataFrame, tree: RegionTree) -> dict[int, pl.DataFrame]:
    depth = pl.Series("depth", tree.depths).gather(frame["path"]).alias("depth")
    parts = frame.with_columns(depth).partition_by("depth", as_dict=True, include_key=False)
    return {int(key[0]): part for key, part in parts.items()}


@dataclass(frozen=True)
class Scope:
    """The regions of a table: all, or those `chosen` by a mask over the tree's paths."""

    tree: RegionTree
    exclusive: bool = False
    chosen: Flags | None = None

    @classmethod
    def from_region(cls, tree: RegionTree, exclusive: bool, region: str | None) -> Scope:
        """Return the scope of `region`, or of all. Raises `UsageError` if none has that name or path."""
        return cls(tree, exclusive, None if region is None else tree.matching(region))

    def select_needed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows at chosen paths and below them."""
        if self.chosen is None:
            return frame
        return _filter_paths(frame, self.tree.with_descendants(self.chosen))

    def select_chosen(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows at chosen paths."""
        return frame if self.chosen is None else _filter_paths(frame, self.chosen)

    def reduce(
        self, frame: pl.DataFrame, keys: Sequence[str], reductions: Mapping[str, Reduction]
    ) -> pl.DataFrame:
        """Return the chosen regions' values, inclusive unless the scope is exclusive."""
        if self.exclusive:
            return combine(self.select_chosen(frame), ["path", *keys], reductions)
        tops = None if self.chosen is None else self.tree.find_disjoint_tops(self.chosen)
        if tops is None:
            return self.select_chosen(roll_up(self.select_needed(frame), self.tree, keys, reductions))
        top = pl.Series("path", tops)
        rows = self.select_needed(frame)
        return combine(rows.with_columns(top.gather(rows["path"])), ["path", *keys], reductions)

    def name_regions(
        self, frame: pl.DataFrame, by: Sequence[str], descending: Sequence[bool] | None = None
    ) -> pl.DataFrame:
        """Return `frame` with the first column `region`, a unique name, instead of `path`.

        Rows are in depth-first order of regions, and within a region sorted by the columns `by`.
        """
        backwards = [False, *(descending or [False] * len(by))]
        return (
            frame.with_columns(
                pl.Series(self.tree.order, dtype=pl.Int64).gather(frame["path"]).alias("_order"),
                pl.Series(self.tree.distinct_names, dtype=pl.String).gather(frame["path"]).alias("region"),
            )
            .sort(["_order", *by], descending=backwards, maintain_order=True, nulls_last=True)
            .select("region", pl.exclude("region", "path", "_order"))
        )


def _filter_paths(frame: pl.DataFrame, mask: Flags) -> pl.DataFrame:
    return frame.filter(mask[frame["path"].to_numpy()])
