"""The table `info`: what run this was, and how far its numbers can be trusted."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import polars as pl

from haloscope.explain._directory import DamageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from haloscope.explain._profile import Profile

__all__ = ["TEXT_KEYS", "as_text", "info", "run_information"]

# Their values are text, also where they look like a number.
TEXT_KEYS = frozenset({"program", "command", "mpi_library", "mpi_abi", "only", "version"})


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_ranks(value: object) -> bool:
    return isinstance(value, list) and all(_is_count(rank) for rank in value)


_KNOWN: Mapping[str, Callable[[object], bool]] = {
    **dict.fromkeys(sorted(TEXT_KEYS), _is_text),
    "ranks": _is_count,
    "start": _is_number,
    "duration": _is_number,
    "partial": _is_flag,
    "missing_ranks": _is_ranks,
    "unwatched_ranks": _is_ranks,
}

_ORDER = [
    "program",
    "command",
    "ranks",
    "hosts",
    "mpi_library",
    "mpi_abi",
    "start",
    "duration",
    "partial",
    "missing_ranks",
    "unfinished_ranks",
    "unwatched_ranks",
    "unmatched_begins",
    "unmatched_ends",
    "unaccounted",
    "dropped",
    "version",
]


def run_information(profile: Profile) -> dict[str, Any]:
    """Return the run's information by key, typed; what the file does not say is None.

    `hosts` lists names, the host of rank 0 first. `unfinished_ranks` left records but did not come
    to MPI_Finalize. `unaccounted` maps an MPI function to its calls.
    Raises `DamageError` if a documented key has a value of another type.
    """
    told = dict(profile.info)
    for key, fits in _KNOWN.items():
        if told.get(key) is not None and not fits(told[key]):
            raise DamageError(f"its info {key} is {json.dumps(told[key])[:40]}")
    sums = ["unmatched_begins", "unmatched_ends", "dropped"]
    processes = profile.frame("processes", ["rank", "finalized", *sums])
    unfinished = processes.filter(pl.col("finalized") == 0)["rank"].unique().sort()
    totals = processes.select(sums).sum().row(0, named=True)
    unaccounted = profile.frame("unaccounted").group_by("call", maintain_order=True).sum()
    known = {
        **told,
        **{key: totals[key] or 0 for key in sums},
        "unfinished_ranks": unfinished.to_list(),
        "hosts": profile.hosts.names,
        "unaccounted": dict(unaccounted.select("call", "calls").iter_rows()),
    }
    return {key: known.get(key) for key in [*_ORDER, *sorted(known.keys() - set(_ORDER))]}


def info(profile: Profile) -> pl.DataFrame:
    """Return key and value; values other than text are JSON, null is unknown."""
    told = run_information(profile)
    return pl.DataFrame(
        {"key": list(told), "value": [as_text(key, value) for key, value in told.items()]},
        schema={"key": pl.String, "value": pl.String},
    )


def as_text(key: str, value: object) -> str | None:
    """Return a value as the table holds it."""
    if value is None or (key in TEXT_KEYS and isinstance(value, str)):
        return value
    return json.dumps(value, ensure_ascii=False)
