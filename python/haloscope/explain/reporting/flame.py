"""Call sites on a page: a flame graph of the time in MPI by stack, and rows of a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from typing import Any

import polars as pl

from haloscope.base.errors import printable, shorten_text, without_folders
from haloscope.profile import Profile
from haloscope.profile.shown import site_text, strip_arguments
from haloscope.profile.sites import SourceLocation, site_of, site_rows
from haloscope.profile.store import Scope

# Smallest share of the run's time of a box; narrower ones are invisible.
_LEAST = 1e-3
_LONGEST = 160
_LONGEST_TIME = 1e6  # largest seconds of a row, so that sums are exact in a browser
_MOST_BOXES = 4000
_MOST_ROWS = 2000
# Number of stacks with all boxes, by time; the others count only in the box of their region.
_MOST_STACKS = 5000


@dataclass
class _Flame:
    name: str
    hover: str
    time: int = 0
    calls: int = 0
    bytes: int = 0
    is_site: bool = False
    above: dict[tuple[str, str], _Flame] = field(default_factory=dict)

    def child(self, name: str, hover: str) -> _Flame:
        return self.above.get((name, hover)) or self.above.setdefault((name, hover), _Flame(name, hover))

    def add(self, row: dict[str, Any]) -> None:
        self.time += round(1e9 * min(max(row["time_total"] or 0.0, 0.0), _LONGEST_TIME))
        self.calls += row["calls"]
        self.bytes += row["bytes"] or 0  # other tools do not record the bytes of sites


def make_site_data(profile: Profile) -> dict[str, Any]:
    """Return the call sites for a page: flame graph, rows, seconds of all sites, and remarks.

    A row is region (index in depth-first order), site, file, MPI function, calls, bytes, seconds, spread.
    """
    rows = site_rows(profile.data, Scope(profile.regions, exclusive=True)).sort("time_total", descending=True)
    # A sum may overflow, and JSON has no infinity.
    floats = pl.col(pl.Float64)
    rows = rows.with_columns(pl.when(floats.is_finite()).then(floats).name.keep())
    regions = profile.regions.order.tolist()
    whole = float(rows["time_total"].sum())
    return {
        "flames": make_flame_boxes(profile),
        "rows": [
            [
                regions[row["path"]],
                site_text(row["site"], row["function"]),
                _short_text(without_folders(row["file"] or "")),
                _short_text(row["call"]),
                *(row[name] for name in ("calls", "bytes", "time_total", "time_cv")),
            ]
            for row in rows.head(_MOST_ROWS).to_dicts()
        ],
        "time": whole if isfinite(whole) else None,
        "remarks": [without_folders(remark) for remark in profile.site_book.remarks],
    }


def make_flame_boxes(profile: Profile) -> dict[str, list[Any]]:
    """Return the boxes of all regions' flame graphs by column, each box after its parent.

    `region` is the region's index in depth-first order; `parent` is the number of the box below, −1 for the
    box of a region. Times are nanoseconds of all ranks and include the boxes above: whole numbers add up
    without rounding.
    """
    roots = _build_flames(profile)
    least = _LEAST * sum(flame.time for flame in roots.values())
    boxes = _list_boxes(roots, least)
    while len(boxes) > _MOST_BOXES:
        least *= 2
        boxes = _list_boxes(roots, least)
    return {name: [box[index] for box in boxes] for index, name in enumerate(_COLUMNS)}


def _build_flames(profile: Profile) -> dict[int, _Flame]:
    """Return the flame graph of each region, by the region's index in depth-first order."""
    book, tree = profile.site_book, profile.regions
    roots: dict[int, _Flame] = {}
    rows = book.rows.sort("time_total", descending=True, maintain_order=True)
    for number, row in enumerate(rows.iter_rows(named=True)):
        path = row["path"]
        flame = roots.setdefault(int(tree.order[path]), _Flame(tree.full_names[path], ""))
        flame.add(row)
        if number >= _MOST_STACKS:
            continue
        stack = book.places[row["stack"]]
        site = site_of(stack)
        for depth in range(len(stack) - 1, -1, -1):
            flame = flame.child(*_make_labels(stack[depth]))
            flame.is_site |= depth == site
            flame.add(row)
        flame.child(row["call"], "").add(row)
    return roots


_COLUMNS = ("region", "parent", "name", "where", "time", "calls", "bytes", "site")


def _list_boxes(roots: dict[int, _Flame], least: float) -> list[tuple[Any, ...]]:
    """Return one row of `_COLUMNS` per box that is at least `least` wide."""
    boxes: list[tuple[Any, ...]] = []
    waiting = [(index, roots[index], -1) for index in sorted(roots, reverse=True)]
    while waiting:
        index, flame, below = waiting.pop()
        names = (_short_text(flame.name), _short_text(without_folders(flame.hover)))
        boxes.append((index, below, *names, flame.time, flame.calls, flame.bytes, flame.is_site))
        seen = [above for above in flame.above.values() if above.time >= least]
        number = len(boxes) - 1
        waiting += [(index, above, number) for above in sorted(seen, key=lambda above: above.time)]
    return boxes


@lru_cache(maxsize=1 << 16)
def _make_labels(location: SourceLocation) -> tuple[str, str]:
    """Return the name of a source location, and its file and line."""
    if location.function is None:
        return location.code, ""
    where = f"{location.file}:{location.line}" if location.file is not None else location.code
    return strip_arguments(location.function), where


def _short_text(text: str) -> str:
    return printable(shorten_text(text, _LONGEST))
