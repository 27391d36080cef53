"""What the verbs that measure share: a launcher after `--`, a limit of time, a clean end, formats."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from haloscope.base.errors import OutputError, UsageError
from haloscope.base.signals import handle_signal

__all__ = [
    "FORMAT",
    "Launching",
    "check_place",
    "format_option",
    "full_option",
    "interruptible",
    "tails_option",
    "time_limit",
    "warmup_option",
    "words",
]

FORMAT = ("table", "csv", "json")
_TIME_LIMIT = "HALOSCOPE_TIME_LIMIT"
_Command = TypeVar("_Command", bound=Callable[..., Any])


class Launching(click.Command):
    """Takes what follows `--` as the command that starts ranks, with its options: `launcher`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(ctx, args[:at])
        ctx.params["launcher"] = tuple(args[at + 1 :])
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- LAUNCHER...]"]


def format_option(*choices: str, text: str) -> Callable[[_Command], _Command]:
    """Return the option `--format` with these choices, of which the first is the default."""
    kind = click.Choice(choices)
    return click.option("--format", "form", type=kind, default=choices[0], show_default=True, help=text)


def words(_context: click.Context, _option: click.Parameter, text: str | None) -> list[str]:
    """Split `core,node` at its commas; each word is there once."""
    return list(dict.fromkeys(word.strip() for word in (text or "").split(",") if word.strip()))


def _percentiles(_context: click.Context, _option: click.Parameter, text: str | None) -> list[float]:
    """Read `50,99`; nothing is no percentiles."""
    try:
        values = [float(word) for word in (text or "").split(",") if word]
    except ValueError:
        raise click.BadParameter(f"{text!r} is not like 50,90,99") from None
    if any(not 0 <= value <= 100 for value in values):
        raise click.BadParameter(f"{text!r}: percentiles are from 0 to 100")
    return values


# As OSU's programs have them.
full_option = click.option(
    "-f", "--full", is_flag=True, help="As OSU: print minimum, maximum and iterations, too."
)
tails_option = click.option(
    "-z",
    "--tail-lat",
    "tails",
    callback=_percentiles,
    metavar="[P1,P2]",
    is_flag=False,
    flag_value="50,90,99",
    default=None,
    help="As OSU: print percentiles of the times, too. Without values these are 50,90,99.",
)
warmup_option = click.option(
    "-x",
    "--warmup",
    type=click.IntRange(0),
    metavar="N",
    default=100,
    show_default=True,
    help="As OSU: calls before these, which are not measured.",
)


def time_limit(default: float = 60.0) -> float:
    """Return the seconds after which a measurement is given up, which the environment may set."""
    text = os.environ.get(_TIME_LIMIT)
    try:
        seconds = default if text is None else float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise UsageError(f"{_TIME_LIMIT}: {text!r} is not a number of seconds above 0")
    return seconds


def check_place(file: Path | None) -> None:
    """Raise `OutputError` before minutes are spent on what cannot be written."""
    if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
        raise OutputError(f"{file}: cannot be written; name a file in a directory that exists")


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does: a batch system's must not leave ranks behind either.

    If the caller ignores it, it stays ignored.
    """
    with handle_signal(signal.SIGTERM, signal.default_int_handler):
        yield
