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
from haloscope.base.files import refuse_other_kind
from haloscope.base.signals import handle_signal
from haloscope.cli.options import numbers, sizes

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


def ranks_option(text: str, default: str | None = None) -> Callable[[_Command], _Command]:
    """Return the option `-n` for several numbers of ranks."""
    return click.option(
        "-n",
        "ranks",
        callback=numbers,
        default=default,
        metavar="2:8|4,8",
        help=f"Numbers of ranks{text} 2:8 is doubled (2, 4, 8), 2:8:1 has all.",
    )


# As OSU's programs have them.
def sizes_option(default: str) -> Callable[[_Command], _Command]:
    """Return the option `-m`."""
    return click.option(
        "-m",
        "--message-size",
        "sizes",
        callback=sizes,
        default=default,
        metavar="[MIN:]MAX|2,4096",
        help="As OSU: message sizes in bytes, doubled from MIN (1) to MAX, or a list.",
    )


def iterations_option(default: int | None, text: str = "", least: int = 1) -> Callable[[_Command], _Command]:
    """Return the option `-i`."""
    return click.option(
        "-i",
        "--iterations",
        type=click.IntRange(least),
        metavar="N",
        default=default,
        help=f"As OSU: number of measured iterations.{text}",
    )


def warmup_option(default: int | None, text: str = "") -> Callable[[_Command], _Command]:
    """Return the option `-x`."""
    return click.option(
        "-x",
        "--warmup",
        type=click.IntRange(0),
        metavar="N",
        default=default,
        help=f"As OSU: number of iterations before the measured ones.{text}",
    )


full_option = click.option(
    "-f", "--full", is_flag=True, help="As OSU: also print minimum, maximum and iterations."
)
tails_option = click.option(
    "-z",
    "--tail-lat",
    "tails",
    callback=_percentiles,
    metavar="P1,P2",
    help="As OSU: also print these percentiles of the times, such as 50,90,99.",
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


def check_place(file: Path | None, begin: bytes, what: str) -> None:
    """Raise `OutputError` before minutes are spent on what cannot be written; `begin` is that of the file."""
    if file is None:
        return
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise OutputError(f"{file}: cannot be written; name a file in a directory that exists")
    refuse_other_kind(file, begin, what)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does: a batch system's must not leave ranks behind either.

    If the caller ignores it, it stays ignored.
    """
    with handle_signal(signal.SIGTERM, signal.default_int_handler):
        yield
