"""What a page shows of sites: the time in MPI by the stacks that lead there, and rows of a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from typing import Any

import polars as pl

from haloscope.base.errors import printable, shorten_text
from haloscope.profile import Profile
from haloscope.profile.shown import site_text, strip_arguments
from haloscope.profile.sites import SourceLocation, site_of, site_rows
from haloscope.profile.store import Scope

# Of a run's time; what is narrower can't be seen.
_LEAST = 1e-3
_LONGEST = 160
_LONGEST_TIME = 1e6  # seconds of a row, whose sums are exact in a browser then
_MOST_BOXES = 4000
_MOST_ROWS = 2000
# The costliest have all boxes; the others are in those of their regions alone.
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
        self.bytes += row["bytes"] or 0  # that is not known, of other tools' sites


def site_data(profile: Profile) -> dict[str, Any]:
    """Return what a page shows of the sites: flames, rows, seconds of all, and what is not known.

    A row is region (its place in the tree), place, file, function of MPI, calls, bytes, seconds, spread.
    """
    rows = site_rows(profile.data, Scope(profile.regions, exclusive=True)).sort("time_total", descending=True)
    # A sum may overflow, and JSON has no infinity.
    floats = pl.col(pl.Float64)
    rows = rows.with_columns(pl.when(floats.is_finite()).then(floats).name.keep())
    regions = profile.regions.order.tolist()
    whole = float(rows["time_total"].sum())
    return {
        "flames": flames(profile),
        "rows": [
            [
                regions[row["path"]],
                site_text(row["site"], row["function"]),
                _text(row["file"] or ""),
                _text(row["call"]),
                *(row[name] for name in ("calls", "bytes", "time_total", "time_cv")),
            ]
            for row in rows.head(_MOST_ROWS).to_dicts()
        ],
        "time": whole if isfinite(whole) else None,
        "remarks": [printable(remark) for remark in profile.site_book.remarks],
    }


def flames(profile: Profile) -> dict[str, list[Any]]:
    """Return the boxes of all regions' flames by column, each box after the one that it stands on.

    `region` is the region's place in the tree; `parent` is the number of the box below, −1 for that of a
    region itself. Times are nanoseconds of all ranks, inclusive of the boxes above: as whole numbers they
    add up without rounding.
    """
    roots = _grown(profile)
    least = _LEAST * sum(flame.time for flame in roots.values())
    boxes = _cut(roots, least)
    while len(boxes) > _MOST_BOXES:
        least *= 2
        boxes = _cut(roots, least)
    return {name: [box[index] for box in boxes] for index, name in enumerate(_COLUMNS)}


def _grown(profile: Profile) -> dict[int, _Flame]:
    """Return the flame of each region, by the region's place in the tree."""
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
            flame = flame.child(*_labels(stack[depth]))
            flame.is_site |= depth == site
            flame.add(row)
        flame.child(row["call"], "").add(row)
    return roots


_COLUMNS = ("region", "parent", "name", "where", "time", "calls", "bytes", "site")


def _cut(roots: dict[int, _Flame], least: float) -> list[tuple[Any, ...]]:
    """Return a row of `_COLUMNS` for each box that is not narrower than `least`."""
    boxes: list[tuple[Any, ...]] = []
    waiting = [(place, roots[place], -1) for place in sorted(roots, reverse=True)]
    while waiting:
        place, flame, below = waiting.pop()
        names = (_text(flame.name), _text(flame.hover))
        boxes.append((place, below, *names, flame.time, flame.calls, flame.bytes, flame.is_site))
        seen = [above for above in flame.above.values() if above.time >= least]
        number = len(boxes) - 1
        waiting += [(place, above, number) for above in sorted(seen, key=lambda above: above.time)]
    return boxes


@lru_cache(maxsize=1 << 16)
def _labels(place: SourceLocation) -> tuple[str, str]:
    """Return the name of a place, and where it is."""
    if place.function is None:
        return place.code, ""
    where = f"{place.file}:{place.line}" if place.file is not None else place.code
    return strip_arguments(place.function), where


def _text(text: str) -> str:
    return printable(shorten_text(text, _LONGEST))
