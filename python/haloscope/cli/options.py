"""Options that verbs share: for a run, for what is printed, and for numbers and sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from haloscope.base.objects import ABIS
from haloscope.base.settings import Setting

__all__ = ["counts", "doublings", "format_option", "mpi_option", "setting_options", "sizes"]

_MOST_VALUES = 1 << 16
_RANGE = re.compile(r"([0-9]{1,13})(?::([0-9]{1,13}))?")
_F = TypeVar("_F", bound=Callable[..., Any])


def counts(_context: click.Context, _option: click.Parameter, text: str | None) -> list[int] | None:
    """Return the numbers of `8,16`, or of `2:256`, which is all from 2 to 256."""
    if text is None:
        return None
    numbers: list[int] = []
    for first, last in _ends(text):
        if last - first > _MOST_VALUES:
            raise click.BadParameter(f"{text!r} is more than {_MOST_VALUES} numbers")
        numbers += range(first, last + 1)
    return list(dict.fromkeys(numbers))


def doublings(_context: click.Context, _option: click.Parameter, text: str) -> list[int]:
    """Return the numbers of `2,64`, or of `2:16`, which is 2, 4, 8, 16."""
    return _doubled(_ends(text))


def sizes(_context: click.Context, _option: click.Parameter, text: str) -> list[int]:
    """Return sizes as OSU's -m has them: `16` is 1 to 16, `2:` is 2 to 1 MiB, a list is taken as it is."""
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
    """Return the first and last number of each range; they are the same for a number alone."""
    parts = [_RANGE.fullmatch(part.strip()) for part in text.split(",")]
    ends = [(int(part[1]), int(part[2] or part[1])) for part in parts if part]
    if len(ends) < len(parts) or any(first > last for first, last in ends):
        raise click.BadParameter(f"{text!r} is not like 8,16 or 2:256")
    return ends


def mpi_option(function: _F) -> _F:
    """Add the option `mpi`, the user's word on the MPI."""
    return click.option(
        "--mpi", type=click.Choice(ABIS), help="The binary interface of the MPI, if it is not found."
    )(function)


def format_option(text: str, choices: Sequence[str] = ("table", "csv", "json")) -> Callable[[_F], _F]:
    """Add the option `form`, for people by default, or for programs; `text` is its help."""
    return click.option(
        "--format", "form", type=click.Choice(choices), default=choices[0], show_default=True, help=text
    )


def setting_options(settings: Iterable[Setting]) -> Callable[[_F], _F]:
    """Add an option for each of these settings that is one, in their order."""

    def decorate(function: _F) -> _F:
        for setting in reversed([setting for setting in settings if setting.is_option]):
            function = _option(setting)(function)
        return function

    return decorate


def _option(setting: Setting) -> Callable[[_F], _F]:
    names = [setting.option, *([setting.flag] if setting.flag else [])]
    text = f"{setting.description} [default: {setting.default}]"
    if setting.kind is bool:
        return click.option(*names, is_flag=True, help=text)
    if setting.choices:
        return click.option(*names, type=click.Choice(setting.choices), help=text)
    kind = click.Path(path_type=Path) if setting.kind is Path else setting.kind
    return click.option(*names, type=kind, multiple=setting.multiple, metavar=setting.metavar, help=text)
