"""One column for people, and the text of its cells."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from haloscope.base.errors import printable
from haloscope.base.units import UNKNOWN, bytes_text, count_text, moment_text, percent_text, time_text
from haloscope.profile.store.info_keys import TEXT_KEYS
from haloscope.profile.store.tree import region_text

__all__ = [
    "ColumnView",
    "Row",
    "bandwidth",
    "count",
    "exact",
    "gain_text",
    "part",
    "range_text",
    "share",
    "size",
    "slower_text",
    "text",
    "time",
    "told_text",
    "within_text",
    "yes_text",
]

Row = Mapping[str, Any]
_MOST_LISTED = 16


@dataclass(frozen=True)
class ColumnView:
    """One column for people: `text` of the row's `sources`."""

    title: str
    sources: tuple[str, ...]
    text: Callable[..., str]
    left: bool = False
    is_whole: bool = False  # is never folded

    def of(self, row: Row) -> str:
        return self.text(*(row[source] for source in self.sources))


def _name(value: str | None) -> str:
    return UNKNOWN if value is None else region_text(value)


def range_text(low: int | None, high: int | None) -> str:
    return count_text(low) if low == high else f"{count_text(low)}–{count_text(high)}"


def within_text(mean: float | None, low: float | None, high: float | None) -> str:
    if not mean or low is None or high is None:
        return UNKNOWN
    return f"{50 * (high - low) / mean:.2g} %"


def gain_text(gain: float | None, low: float | None, high: float | None) -> str:
    if gain is None or low is None or high is None:
        return UNKNOWN
    return f"{gain:.2f} ({low:.2f}–{high:.2f})"


def slower_text(by: float | None, low: float | None, high: float | None) -> str:
    if by is None or low is None or high is None:
        return UNKNOWN
    return f"{100 * by:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def yes_text(value: bool | None) -> str:
    return UNKNOWN if value is None else "yes" if value else "no"


def text(title: str, source: str) -> ColumnView:
    return ColumnView(title, (source,), _name, left=True)


def count(title: str, source: str) -> ColumnView:
    return ColumnView(title, (source,), count_text)


def size(title: str, source: str) -> ColumnView:
    return ColumnView(title, (source,), bytes_text)


def exact(title: str, source: str) -> ColumnView:
    return ColumnView(title, (source,), lambda value: UNKNOWN if value is None else str(value))


def time(title: str, source: str) -> ColumnView:
    return ColumnView(title, (source,), time_text)


def bandwidth(title: str, source: str) -> ColumnView:
    """A column of seconds per byte, shown as a bandwidth."""
    return ColumnView(title, (source,), lambda value: UNKNOWN if not value else f"{bytes_text(1 / value)}/s")


def share(title: str, part: str, whole: str) -> ColumnView:
    return ColumnView(title, (part, whole), percent_text)


def part(title: str, source: str) -> ColumnView:
    return ColumnView(title, (source,), lambda part: percent_text(part, 1))


def told_text(key: str, value: str | None) -> str:
    if value is None:
        return "unknown"
    if key in TEXT_KEYS:
        return printable(value)
    told = json.loads(value)
    if key == "start":
        return moment_text(told)
    if key == "duration":
        return time_text(told)
    return printable(_listed(told))


def _listed(told: object) -> str:
    if isinstance(told, bool):
        return "yes" if told else "no"
    if isinstance(told, dict):
        return ", ".join(f"{name} × {calls}" for name, calls in told.items()) or "none"
    if isinstance(told, list):
        shown = ", ".join(str(item) for item in told[:_MOST_LISTED])
        return f"{shown}, … ({len(told)})" if len(told) > _MOST_LISTED else shown or "none"
    return str(told)
