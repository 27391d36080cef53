"""What verbs that run a command share: options, and how remarks are said."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from haloscope.base.errors import printable
from haloscope.base.objects import ABIS
from haloscope.base.settings import Setting

__all__ = ["mpi_options", "say_remarks", "setting_options"]

_F = TypeVar("_F", bound=Callable[..., Any])


def mpi_options(function: _F) -> _F:
    """The user's word on the MPI: `mpi` and `mpi_include`."""
    function = click.option(
        "--mpi-include", type=click.Path(path_type=Path), multiple=True, metavar="DIR",
        help="Directory of that MPI's mpi.h, if it is not found.",
    )(function)  # fmt: skip
    return click.option(
        "--mpi", type=click.Choice(ABIS), help="The MPI's binary interface, if it is not found."
    )(function)


def setting_options(settings: Iterable[Setting]) -> Callable[[_F], _F]:
    """An option for each of these settings, in their order."""

    def decorate(function: _F) -> _F:
        for setting in reversed(list(settings)):
            function = _option(setting)(function)
        return function

    return decorate


def say_remarks(remarks: Iterable[str]) -> None:
    """On standard error; that it is closed must not change the program's exit status."""
    for remark in remarks:
        with contextlib.suppress(OSError):
            click.echo(f"haloscope: {printable(remark)}", err=True)


def _option(setting: Setting) -> Callable[[_F], _F]:
    names = [setting.option, *([setting.flag] if setting.flag else [])]
    text = f"{setting.description} [default: {setting.default}]"
    if setting.kind is bool:
        return click.option(*names, is_flag=True, help=text)
    if setting.choices:
        return click.option(*names, type=click.Choice(setting.choices), help=text)
    kind = click.Path(path_type=Path) if setting.kind is Path else setting.kind
    return click.option(
        *names, type=kind, multiple=setting.multiple, metavar=setting.metavar, help=text
    )
