"""Which core each rank runs on, as launchers place ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from haloscope.predict._machine import Level

__all__ = ["placed"]

_BEYOND_A_NODE = ("network", "switch", "leaf switch", "spine")


def placed(levels: Sequence[Level], mapping: str, ranks: int) -> list[int]:
    """The core of each rank. Raises `UsageError` for what does not exist or has no room."""
    cores, node = levels[-1].cores, _node(levels)
    if not 0 < ranks <= cores:
        raise UsageError(f"the machine has {cores} cores: none for {ranks} ranks")
    if mapping in ("core", "slot"):
        return list(range(ranks))
    unit = node if mapping == "node" else _unit(levels, mapping)
    within = cores if unit >= node else node
    return [_dealt(rank, unit, within) for rank in range(ranks)]


def _dealt(rank: int, unit: int, within: int) -> int:
    """In turn to each unit of the first `within` cores, then of the next ones."""
    whole, rest = divmod(rank, within)
    turn, which = divmod(rest, within // unit)
    return whole * within + which * unit + turn


def _node(levels: Sequence[Level]) -> int:
    """Cores of a node: of the level that is called so, else of the last that is no network."""
    named = [level.cores for level in levels if level.name.lower() == "node"]
    inside = [level.cores for level in levels if level.name.lower() not in _BEYOND_A_NODE]
    return (named or inside or [level.cores for level in levels])[-1]


def _unit(levels: Sequence[Level], mapping: str) -> int:
    wanted = mapping.lower()
    for level in levels:
        name = level.name.lower()
        if wanted in (name, name.split()[0]):
            return level.cores
    known = ", ".join(["core", "node", *(level.name for level in levels)])
    raise UsageError(f"ranks cannot be mapped by {mapping!r}; there is {known}")
