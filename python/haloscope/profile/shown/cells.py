"""Forms of columns for people: the text of a cell, from one or several values of its row."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from haloscope.base.errors import printable, shorten_text
from haloscope.base.units import UNKNOWN, bytes_text, count_text, moment_text, percent_text, time_text
from haloscope.profile.shown.readable import strip_arguments

Row = Mapping[str, Any]
PROGRAM = "<program>"
# Values of `info` that are text, even if they look like numbers.
TEXT_KEYS = frozenset(
    {
        "program",
        "command",
        "mpi_library",
        "mpi_standard",
        "mpi_abi",
        "binding",
        "only",
        "series",
        "run",
        "ended_in",
        "source",
        "version",
    }
)
# Characters of a region's name or path, in tables and sentences.
_MOST_SHOWN = 160
_MOST_LISTED = 16


@dataclass(frozen=True)
class Form:
    """The form of a column: `text` of its value and of the values of the columns `more`."""

    text: Callable[..., str]
    title: str | None = None  # default: the name of the column
    more: tuple[str, ...] = ()
    left: bool = False
    is_whole: bool = False  # is never folded


def region_text(name: str) -> str:
    """Return a name or path for people: on one line, without the middle of a long one."""
    return printable(shorten_text(name, _MOST_SHOWN))


def site_text(site: str, function: str | None) -> str:
    """Return a source location for people: file, line and function."""
    is_said = function is None or site.startswith(f"{function} (")
    return region_text(site if is_said else f"{site} {strip_arguments(function or '')}")


def _text(value: str | None) -> str:
    return UNKNOWN if value is None else region_text(value)


def _span(low: int | None, high: int | None) -> str:
    return count_text(low) if low == high else f"{count_text(low)}–{count_text(high)}"


def _interval(low: float | None, mean: float | None, high: float | None) -> str:
    if not mean or low is None or high is None:
        return UNKNOWN
    return f"{50 * (high - low) / mean:.2g} %"


def _gain(gain: float | None, low: float | None, high: float | None) -> str:
    if gain is None or low is None or high is None:
        return UNKNOWN
    return f"{gain:.2f} ({low:.2f}–{high:.2f})"


def _slower(by: float | None, low: float | None, high: float | None) -> str:
    if by is None or low is None or high is None:
        return UNKNOWN
    return f"{100 * by:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def text(title: str | None = None) -> Form:
    return Form(_text, title, left=True)


def word(title: str | None = None) -> Form:
    return Form(printable, title, left=True, is_whole=True)


def site(title: str | None = None, *, function: str) -> Form:
    return Form(site_text, title, (function,), left=True)


def yes_no(title: str | None = None) -> Form:
    return Form(lambda value: UNKNOWN if value is None else "yes" if value else "no", title)


def count(title: str | None = None) -> Form:
    return Form(count_text, title)


def exact(title: str | None = None) -> Form:
    return Form(lambda value: UNKNOWN if value is None else str(value), title)


def number(title: str | None = None, digits: int = 6) -> Form:
    return Form(lambda value: UNKNOWN if value is None else f"{value:.{digits}g}", title)


def size(title: str | None = None) -> Form:
    """Bytes."""
    return Form(bytes_text, title)


def time(title: str | None = None) -> Form:
    """Seconds."""
    return Form(time_text, title)


def call_time(title: str | None = None) -> Form:
    """Seconds in calls, which are 0 for functions that are only counted."""
    return Form(lambda value: time_text(value) if value != 0 else "not timed", title)


def moment(title: str | None = None) -> Form:
    """Seconds since 1970."""
    return Form(moment_text, title)


def bandwidth(title: str | None = None) -> Form:
    """Seconds per byte."""
    return Form(lambda value: UNKNOWN if not value else f"{bytes_text(1 / value)}/s", title)


def share(title: str | None = None, *, of: str) -> Form:
    return Form(percent_text, title, (of,))


def part(title: str | None = None, digits: int = 1) -> Form:
    """A number of which 1 is the whole."""
    return Form(lambda value: UNKNOWN if value is None else f"{100 * value:.{digits}f} %", title)


def span(title: str | None = None, *, to: str) -> Form:
    return Form(_span, title, (to,))


def interval(title: str | None = None, *, of: str, high: str) -> Form:
    """The lower end of an interval: half of the interval, as a share of the value that it is of."""
    return Form(_interval, title, (of, high))


def gain(title: str | None = None, *, low: str, high: str) -> Form:
    return Form(_gain, title, (low, high))


def slower(title: str | None = None, *, low: str, high: str) -> Form:
    return Form(_slower, title, (low, high))


def info_value(title: str | None = None, *, key: str) -> Form:
    return Form(_info_value, title, (key,), left=True)


def _info_value(value: str | None, key: str) -> str:
    if value is None:
        return "unknown"
    if key in TEXT_KEYS:
        return printable(value)
    content = json.loads(value)
    if key == "start":
        return moment_text(content)
    if key == "duration":
        return time_text(content)
    return printable(_list_items(content))


def _list_items(content: object) -> str:
    if isinstance(content, bool):
        return "yes" if content else "no"
    if isinstance(content, dict):
        return ", ".join(f"{name} × {calls}" for name, calls in content.items()) or "none"
    if isinstance(content, list):
        shown = ", ".join(str(item) for item in content[:_MOST_LISTED])
        return f"{shown}, … ({len(content)})" if len(content) > _MOST_LISTED else shown or "none"
    return str(content)
