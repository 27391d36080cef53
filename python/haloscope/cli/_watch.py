"""`haloscope run` and `haloscope env`."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from haloscope.base.errors import HaloscopeError
from haloscope.cli._messages import say_remarks
from haloscope.cli._options import mpi_options, setting_options
from haloscope.watch import SETTINGS

__all__ = ["env", "run"]

_F = TypeVar("_F", bound=Callable[..., Any])

_RUN_EXAMPLES = """\b
Examples:
  haloscope run -- mpiexec -n 8 ./app input.txt
  haloscope run -o fine.halo --series halo -- srun -n 64 ./app
  haloscope run -- mpiexec -n 4 python solver.py
  haloscope run --mpi mpich -- ./launch.sh
"""
_ENV_EXAMPLES = """\b
Examples:
  eval "$(haloscope env -o run.halo)"; srun -n 64 ./app
  eval "$(haloscope env -- mpiexec python solver.py)"
"""


class _Watching(click.Command):
    """Before `--`, `--series a b` means both names; nothing else can stand there."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            end = args.index("--")
            args = _spread(args[:end]) + args[end:]
        return super().parse_args(ctx, args)


def _spread(arguments: list[str]) -> list[str]:
    result: list[str] = []
    inside, first = False, False
    for word in arguments:
        if word.startswith("-"):
            inside = first = word == "--series"
        elif inside and not first:
            result.append("--series")
        else:
            first = False
        result.append(word)
    return result


def _recording(function: _F) -> _F:
    """The options that follow from the recorder's settings, and the user's word on the MPI."""
    return setting_options(SETTINGS)(mpi_options(function))


@click.command(cls=_Watching, epilog=_RUN_EXAMPLES, context_settings={"allow_interspersed_args": False})
@_recording
@click.option("--quiet", is_flag=True, help="Say nothing when the program ends.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def run(command: tuple[str, ...], mpi: Any, mpi_include: tuple[Path, ...], quiet: bool, **values: Any) -> int:
    """Watch a launch command. The program's output and exit status stay its own.

    Works with mpiexec, mpirun, srun and other launchers, or with one process, whichever MPI the
    program is linked to. Afterwards a summary is printed on standard error.
    """
    from haloscope.base.child import leave_like
    from haloscope.base.preloading import Choice
    from haloscope.watch import run as watch

    if not command:
        raise click.UsageError("the command to watch is missing: -- mpiexec -n 4 ./app")
    outcome = watch(command, values, Choice(mpi, mpi_include), quiet)
    if not quiet:
        say_remarks(outcome.remarks)
        for profile in outcome.profiles[-3:]:
            _summarise(profile)
    return leave_like(outcome.status)


@click.command(cls=_Watching, epilog=_ENV_EXAMPLES, context_settings={"allow_interspersed_args": False})
@_recording
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def env(command: tuple[str, ...], mpi: Any, mpi_include: tuple[Path, ...], **values: Any) -> None:
    """Print shell exports that do what run does, for job scripts.

    A COMMAND is not started, only looked at, to find its MPI; without one, it is the MPI whose
    mpicc is on PATH. Programs that load MPI themselves, such as Python's, need it given. Of a run
    that is interrupted, haloscope recover makes the profile.
    """
    from haloscope.base.preloading import Choice
    from haloscope.watch import exports

    for name, value in exports(command, values, Choice(mpi, mpi_include)).items():
        click.echo(f"export {name}={shlex.quote(value)}")


def _summarise(profile: Path) -> None:
    """The summary; whatever goes wrong here must not touch the program's exit status."""
    from haloscope import explain

    try:
        _say("\n".join(explain.summary(explain.open(profile))))
    except (HaloscopeError, OSError) as error:
        _say(f"haloscope: {error}")


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        click.echo(text, err=True)
