"""Numbers of ranks and process grids, as lists or ranges."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import BeforeValidator

Grid = tuple[int, int, int]
_GRID = re.compile(r"(\d{1,7})(?:\s*[x×,]\s*(\d{1,7}))?(?:\s*[x×,]\s*(\d{1,7}))?")
_MOST_RANKS = 1 << 24


def _read_range(value: dict[Any, Any], extra: str = "") -> tuple[Any, Any]:
    if not {"from", "to"} <= value.keys() <= {"from", "to", extra}:
        raise ValueError("must have only from and to")
    return value["from"], value["to"]


def _check_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_RANKS:
        raise ValueError(f"{value!r} is not a number of ranks")
    return value


def _read_ranks(value: Any) -> list[int]:
    if not isinstance(value, dict):
        found = [_check_count(each) for each in (value if isinstance(value, list) else [value])]
        return _check_nonempty(found)
    first, last = map(_check_count, _read_range(value, "factor"))
    factor = _check_count(value.get("factor", 2))
    if factor < 2 or first > last:
        raise ValueError("from must be at most to, and factor at least 2")
    found = []
    while first <= last:
        found.append(first)
        first *= factor
    return found


def _check_nonempty(values: list[Any]) -> list[Any]:
    if not values:
        raise ValueError("is empty; give at least one")
    return values


def _read_grid(value: Any) -> Grid:
    found = _GRID.fullmatch(str(value).strip())
    sides = tuple(int(side or 1) for side in found.groups()) if found else (0, 0, 0)
    if not 1 <= math.prod(sides) <= _MOST_RANKS:
        raise ValueError(f"{value!r} is not a process grid; write it like 4x2x2")
    return sides[0], sides[1], sides[2]


def list_grids(first: Grid, last: Grid) -> list[Grid]:
    """Return the grids from the first to the last. Each step doubles the side that has grown least.

    Of equal sides, the first one is doubled: 4x4x4, 8x4x4, 8x8x4, 8x8x8.

    Raises:
        ValueError: The last grid cannot be reached.
    """
    grid, found = list(first), [first]
    while tuple(grid) != last:
        sides = [side for side in range(3) if 2 * grid[side] <= last[side]]
        if not sides:
            raise ValueError("the last grid cannot be reached from the first by doubling its sides")
        least = min(sides, key=lambda side: grid[side] / first[side])
        grid[least] *= 2
        found.append((grid[0], grid[1], grid[2]))
    return found


def _read_grids(value: Any) -> list[Grid]:
    if isinstance(value, dict):
        first, last = map(_read_grid, _read_range(value))
        return list_grids(first, last)
    return _check_nonempty([_read_grid(each) for each in (value if isinstance(value, list) else [value])])


Ranks = Annotated[list[int], BeforeValidator(_read_ranks)]
Grids = Annotated[list[Grid], BeforeValidator(_read_grids)]
