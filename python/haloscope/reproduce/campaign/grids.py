"""Numbers of ranks and process grids, as lists or from the first to the last."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import BeforeValidator

Grid = tuple[int, int, int]
_GRID = re.compile(r"(\d{1,7})(?:\s*[x×,]\s*(\d{1,7}))?(?:\s*[x×,]\s*(\d{1,7}))?")
_MOST_RANKS = 1 << 24


def _ends(value: dict[Any, Any], extra: str = "") -> tuple[Any, Any]:
    if not {"from", "to"} <= value.keys() <= {"from", "to", extra}:
        raise ValueError("needs from and to, and nothing else")
    return value["from"], value["to"]


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_RANKS:
        raise ValueError(f"{value!r} is no number of ranks")
    return value


def _ranks(value: Any) -> list[int]:
    if not isinstance(value, dict):
        found = [_count(each) for each in (value if isinstance(value, list) else [value])]
        return _some(found)
    first, last = map(_count, _ends(value, "factor"))
    factor = _count(value.get("factor", 2))
    if factor < 2 or first > last:
        raise ValueError("leads nowhere: from is at most to, and factor 2 or more")
    found = []
    while first <= last:
        found.append(first)
        first *= factor
    return found


def _some(values: list[Any]) -> list[Any]:
    if not values:
        raise ValueError("is empty; give at least one")
    return values


def _grid(value: Any) -> Grid:
    found = _GRID.fullmatch(str(value).strip())
    sides = tuple(int(side or 1) for side in found.groups()) if found else (0, 0, 0)
    if not 1 <= math.prod(sides) <= _MOST_RANKS:
        raise ValueError(f"{value!r} is no process grid; one is like 4x2x2")
    return sides[0], sides[1], sides[2]


def grids_between(first: Grid, last: Grid) -> list[Grid]:
    """Return grids from the first to the last, one side doubled at a time, the one that has grown least.

    Of sides that have grown alike, the first: 4x4x4, 8x4x4, 8x8x4, 8x8x8. Raises `ValueError` if that
    does not lead to the last.
    """
    grid, found = list(first), [first]
    while tuple(grid) != last:
        sides = [side for side in range(3) if 2 * grid[side] <= last[side]]
        if not sides:
            raise ValueError("the last grid does not come of the first by doubling its sides")
        least = min(sides, key=lambda side: grid[side] / first[side])
        grid[least] *= 2
        found.append((grid[0], grid[1], grid[2]))
    return found


def _grids(value: Any) -> list[Grid]:
    if isinstance(value, dict):
        first, last = map(_grid, _ends(value))
        return grids_between(first, last)
    return _some([_grid(each) for each in (value if isinstance(value, list) else [value])])


Ranks = Annotated[list[int], BeforeValidator(_ranks)]
Grids = Annotated[list[Grid], BeforeValidator(_grids)]
