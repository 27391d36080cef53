"""The keys of the run information in a profile's file, and the tables that only a trace has."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from haloscope.base.texts import is_number
from haloscope.profile.shown.cells import TEXT_KEYS
from haloscope.profile.store.framing import DamageError

# Keys about the calls of a trace.
TRACE_TABLES = ("waits", "wait_pairs", "delays", "critical_path", "tolerance")
# Texts by key: from the program, and from its environment.
SAID, SURROUNDINGS = "metadata", ("job", "environment")
# Sums of the tables, for readers of many profiles.
ROLL_UP = "rollup"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_said(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_ranks(value: object) -> bool:
    return isinstance(value, list) and all(_is_count(rank) for rank in value)


_KNOWN: Mapping[str, Callable[[object], bool]] = {
    **dict.fromkeys(sorted(TEXT_KEYS), _is_text),
    "ended_in": _is_text,
    "open_calls": _is_count,
    "ranks": _is_count,
    "start": is_number,
    "duration": is_number,
    "partial": _is_flag,
    "missing_ranks": _is_ranks,
    "unwatched_ranks": _is_ranks,
    **dict.fromkeys((SAID, *SURROUNDINGS), _is_said),
}


def check_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the run information of the file, without its tables.

    Raises `DamageError` if a documented key has a value of another type.
    """
    information = dict(info)
    for key, fits in _KNOWN.items():
        if information.get(key) is not None and not fits(information[key]):
            raise DamageError(f"its info {key} is {json.dumps(information[key])[:40]}")
    return information
