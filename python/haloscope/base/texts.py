"""JSON, TOML and numbers from untrusted files: all that is wrong with them is a `ValueError`, or None."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


_MOST = sys.float_info.max


def is_number(value: object) -> bool:
    """Return whether a value of JSON is a finite number: whole ones may be larger than any other."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -_MOST <= value <= _MOST


def parse_figure_pattern(text: str) -> re.Pattern[str]:
    """Return a regular expression with one group, the figure in a program's output."""
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    if pattern.groups != 1:
        raise ValueError(f"{text!r}: put the number in one pair of parentheses: 'Loop time of ([0-9.]+)'")
    return pattern


def parse_json(text: str | bytes, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """Return what `json.loads` returns. Raises `ValueError` for other text, or for too deep nesting."""
    try:
        return json.loads(text, parse_constant=parse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Return the values of TOML. Raises `ValueError` for other text, or for too deep nesting."""
    try:
        values: dict[str, Any] = tomllib.loads(text)
        return values
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_whole(text: str) -> int | None:
    """Return a whole number of up to 18 ASCII digits, which all integers of tables hold; else None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None
