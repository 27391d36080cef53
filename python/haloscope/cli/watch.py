"""`haloscope run` and `haloscope env`."""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.base.child import leave_like
from haloscope.base.errors import HaloscopeError
from haloscope.base.objects import Abi
from haloscope.base.preloading import Outcome
from haloscope.cli.completion import keep_symbols, write_as_caliper
from haloscope.cli.console import say, say_lines, say_remarks
from haloscope.cli.options import FILE, mpi_option, setting_options
from haloscope.cli.summariser import Summariser
from haloscope.watch import SETTINGS

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from haloscope.watch import Recording

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


class _Recording(click.Command):
    """A command with the recorder's settings: help in groups, and `--series a b` before `--` means both."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            end = args.index("--")
            args = _spread(args[:end]) + args[end:]
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name != "-n":
                raise
            at = next(at for at, word in enumerate(words) if word.startswith("-n"))
            launch = shlex.join(word for word in words[at:] if word != "--")
            hint = " ".join(
                ["haloscope", str(self.name), *map(shlex.quote, words[:at]), "-- mpiexec", launch]
            )
            raise click.UsageError(f"-n is an option of the launcher; did you mean: {hint}", ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups."""
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        groups = {setting.name: setting.group for setting in SETTINGS if setting.group}
        for title in (*dict.fromkeys(groups.values()), "Output and MPI"):
            records = [
                option.get_help_record(ctx)
                for option in options
                if groups.get(option.name or "", "Output and MPI") == title
            ]
            with formatter.section(title):
                formatter.write_dl([record for record in records if record])


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


@click.command(cls=_Recording, epilog=_RUN_EXAMPLES, context_settings={"allow_interspersed_args": False})
@setting_options(SETTINGS)
@mpi_option
@click.option(
    "--hang-after",
    metavar="S",
    type=float,
    help="Print a hang report if no rank on this node makes progress for S seconds.",
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
    """Profile a launch command. Output and exit status are those of the program.

    COMMAND is mpiexec, mpirun, srun or another launcher with its arguments, or one process. The program is
    not recompiled. At the end, a summary is printed on standard error. Rarely used settings are environment
    variables: see man haloscope-run.
    """
    from haloscope.watch import run as watch

    if not command:
        raise click.UsageError("the command to profile is missing: -- mpiexec -n 4 ./app")
    has_trace = bool(settings.get("trace") or settings.get("trace_compact"))
    with closing(Summariser(is_wanted=not quiet, has_trace=has_trace)) as summariser:
        outcome = watch(command, mpi=mpi, quiet=quiet, hang_after=hang_after, **settings)
        said = Outcome(outcome.status)
        with said.noting():
            asked = [line for profile in outcome.profiles for line in write_as_caliper(profile)]
            if not quiet:
                say_remarks(outcome.remarks)
            if settings.get("callsites"):
                keep_symbols(outcome.profiles, quiet)
            if not quiet:
                for profile in outcome.profiles[-3:]:
                    _print_summary(summariser, profile)
                say_remarks(asked)
            summariser.close()  # here, where an interrupt does not change the status
        say_remarks(said.remarks)
    return leave_like(outcome.status)


@click.command(cls=_Recording, epilog=_ENV_EXAMPLES, context_settings={"allow_interspersed_args": False})
@setting_options(SETTINGS)
@mpi_option
@click.option(
    "--always",
    type=FILE,
    metavar="DIR",
    help="Print a start-up file for all shells of a machine instead, with profiles in DIR/DATE.",
)
@click.option("--csh", is_flag=True, help="With --always: print the file for csh and tcsh, not for sh.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def env(
    command: tuple[str, ...], mpi: Abi | None, always: Path | None, csh: bool, **settings: Unpack[Recording]
) -> None:
    """Print shell exports that profile later launch commands, for job scripts.

    COMMAND is not started: it is read to find the MPI of its program. Without COMMAND, it is the MPI of the
    mpicc on PATH. Programs that load MPI at run time, such as Python's, need COMMAND. If a run is
    interrupted, haloscope recover writes its profile.
    """
    from haloscope.watch import always as script_of
    from haloscope.watch import env as variables_of

    if always is not None:
        if command or any(value not in (None, False, ()) for value in settings.values()):
            raise click.UsageError(
                "--always takes no other option but --mpi and --csh: settings can follow as HALOSCOPE_…"
            )
        click.echo(script_of(always, mpi=mpi, csh=csh), nl=False)
        return
    if csh:
        raise click.UsageError("--csh is for --always; exports for a job are for sh")
    for name, value in variables_of(command, mpi=mpi, **settings).items():
        click.echo(f"export {name}={shlex.quote(value)}")


def _print_summary(summariser: Summariser, profile: Path) -> None:
    try:
        say_lines(summariser.summarise(profile))
    except (HaloscopeError, OSError) as error:
        say(str(error))
