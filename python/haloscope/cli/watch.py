"""`haloscope run` and `haloscope env`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.base.errors import HaloscopeError
from haloscope.base.objects import Abi
from haloscope.base.preloading import leave_like
from haloscope.cli.caliper import write_as_caliper
from haloscope.cli.console import say, say_lines, say_remarks
from haloscope.cli.options import mpi_option, setting_options
from haloscope.cli.symbols import keep_symbols
from haloscope.watch import SETTINGS

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from haloscope.watch import Recording

__all__ = ["env", "run"]

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
  haloscope env --always /scratch/profiles > /etc/profile.d/haloscope.sh
  haloscope env --always /scratch/profiles --csh > /etc/profile.d/haloscope.csh
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


@click.command(cls=_Watching, epilog=_RUN_EXAMPLES, context_settings={"allow_interspersed_args": False})
@setting_options(SETTINGS)
@mpi_option
@click.option(
    "--hang-after",
    metavar="S",
    type=float,
    help="If no rank on this node makes progress for so many seconds, say once which are in what.",
)
@click.option("--quiet", is_flag=True, help="Print nothing when the program ends.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def run(
    command: tuple[str, ...],
    mpi: Abi | None,
    hang_after: float | None,
    quiet: bool,
    **settings: Unpack[Recording],
) -> int:
    """Watch a launch command. The program's output and exit status stay its own.

    It works with mpiexec, mpirun, srun and other launchers, or with one process, whichever MPI the
    program is linked to. Afterwards a summary is printed on standard error. Settings for experts are
    environment variables: docs/reference/run.md.
    """
    from haloscope.watch import run as watch

    if not command:
        raise click.UsageError("the command to watch is missing: -- mpiexec -n 4 ./app")
    outcome = watch(command, mpi=mpi, quiet=quiet, hang_after=hang_after, **settings)
    asked = [line for profile in outcome.profiles for line in write_as_caliper(profile)]
    if not quiet:
        say_remarks(outcome.remarks)
    if settings.get("callsites"):
        keep_symbols(outcome.profiles, quiet)
    if not quiet:
        for profile in outcome.profiles[-3:]:
            _summarise(profile)
        say_remarks(asked)
    return leave_like(outcome.status)


@click.command(cls=_Watching, epilog=_ENV_EXAMPLES, context_settings={"allow_interspersed_args": False})
@setting_options(SETTINGS)
@mpi_option
@click.option(
    "--always",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Print a file for all shells of a machine instead, with profiles in DIR/DATE.",
)
@click.option("--csh", is_flag=True, help="With --always: for csh and tcsh; without it for sh and its like.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def env(
    command: tuple[str, ...], mpi: Abi | None, always: Path | None, csh: bool, **settings: Unpack[Recording]
) -> None:
    """Print shell exports that do what run does, for job scripts.

    A COMMAND is not started, only looked at, to find its MPI; without one, it is the MPI whose
    mpicc is on PATH. Programs that load MPI themselves, such as Python's, need it given. Of a run
    that is interrupted, haloscope recover makes the profile.
    """
    from haloscope.watch import always as script_of
    from haloscope.watch import env as variables_of

    if always is not None:
        if command or any(value not in (None, False, ()) for value in settings.values()):
            raise click.UsageError("--always stands alone, or with --mpi: settings can follow as HALOSCOPE_…")
        click.echo(script_of(always, mpi=mpi, csh=csh), nl=False)
        return
    if csh:
        raise click.UsageError("--csh is for --always; exports for a job are for sh")
    for name, value in variables_of(command, mpi=mpi, **settings).items():
        click.echo(f"export {name}={shlex.quote(value)}")


def _summarise(profile: Path) -> None:
    """The summary; whatever goes wrong here must not touch the program's exit status."""
    from haloscope import explain

    try:
        say_lines(explain.summary(explain.open(profile)))
    except (HaloscopeError, OSError) as error:
        say(str(error))
