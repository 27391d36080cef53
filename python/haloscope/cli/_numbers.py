"""Lists and ranges of numbers, as options take them."""

from __future__ import annotations

import re

import click

__all__ = ["counts", "doublings", "sizes"]

_MOST_VALUES = 1 << 16
_RANGE = re.compile(r"([0-9]{1,13})(?::([0-9]{1,13}))?")


def counts(_context: click.Context, _option: click.Parameter, text: str | None) -> list[int] | None:
    """`8,16` or `2:256`, which is all from 2 to 256."""
    if text is None:
        return None
    numbers: list[int] = []
    for first, last in _ends(text):
        if last - first > _MOST_VALUES:
            raise click.BadParameter(f"{text!r} is more than {_MOST_VALUES} numbers")
        numbers += range(first, last + 1)
    return list(dict.fromkeys(numbers))


def doublings(_context: click.Context, _option: click.Parameter, text: str) -> list[int]:
    """`2,64` or `2:16`, which is 2, 4, 8, 16."""
    return _doubled(_ends(text))


def sizes(_context: click.Context, _option: click.Parameter, text: str) -> list[int]:
    """As OSU's -m: `16` is 1 to 16, `2:` is 2 to 1 MiB; a list of sizes is taken as it is."""
    if "," in text:
        return _doubled(_ends(text))
    first, colon, last = text.partition(":")
    return _doubled(_ends(f"{first or 1}:{last or 1 << 20}" if colon else f"1:{first}"))


def _doubled(ends: list[tuple[int, int]]) -> list[int]:
    numbers: list[int] = []
    for first, last in ends:
        if first == 0:
            raise click.BadParameter("a message has 1 byte or more")
        numbers += (first << step for step in range((last // first).bit_length()))
    return list(dict.fromkeys(numbers))


def _ends(text: str) -> list[tuple[int, int]]:
    """The first and last number of each range; they are the same for a number alone."""
    parts = [_RANGE.fullmatch(part.strip()) for part in text.split(",")]
    ends = [(int(part[1]), int(part[2] or part[1])) for part in parts if part]
    if len(ends) < len(parts) or any(first > last for first, last in ends):
        raise click.BadParameter(f"{text!r} is not like 8,16 or 2:256")
    return ends
