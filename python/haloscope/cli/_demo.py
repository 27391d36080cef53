"""`haloscope demo`: the main job on a bundled program."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.base.errors import LaunchError
from haloscope.cli._messages import say_remarks

if TYPE_CHECKING:
    from haloscope.base.objects import Abi

__all__ = ["demo"]

_RANKS = 4
_PROFILE = Path("haloscope-demo.halo")
_PAGE = Path("haloscope-demo.html")
_ARGUMENTS = ("--nx", "16", "--ny", "16", "--nz", "16", "--iterations", "20")
# Four ranks on a small machine: waiting ranks must leave the cores to the others.
_POLITE: Mapping[Abi, Mapping[str, str]] = {
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
    "mpich": {
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
    },
}
_AS_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
_EXAMPLES = """\b
Examples:
  haloscope demo
  haloscope show haloscope-demo.halo --table sizes
"""


@click.command(epilog=_EXAMPLES)
def demo() -> None:
    """Watch the bundled solver cg on 4 ranks and explain what it did.

    Prints the table of regions, and leaves haloscope-demo.halo and haloscope-demo.html in the
    current directory.
    """
    from haloscope import explain
    from haloscope.watch import run as watch

    command = _command()
    click.echo(f"$ haloscope run -o {_PROFILE} -- {' '.join(command)}")
    sys.stdout.flush()
    outcome = watch(command, output=_PROFILE)
    say_remarks(outcome.remarks)
    if outcome.status or not outcome.profiles:
        raise LaunchError(
            f"the demo did not run to its end (exit status {outcome.exit_status}); "
            "haloscope doctor tells what is missing here"
        )
    profile = explain.open(_PROFILE)
    click.echo(f"\n$ haloscope show {_PROFILE}")
    explain.render(profile.table("regions"), "table", "regions", sys.stdout)
    explain.report([_PROFILE], _PAGE)
    click.echo(_next_steps())


def _command() -> list[str]:
    """Return the launch command, with what this MPI needs for four ranks on a small machine."""
    from haloscope.base.building import build_application
    from haloscope.base.mpi import installed
    from haloscope.base.toolchain import toolchain

    launcher = toolchain().launcher
    library = installed(launcher)
    abi = library.abi if library else "openmpi"
    os.environ.update({k: v for k, v in _POLITE.get(abi, {}).items() if k not in os.environ})
    options = []
    if abi == "openmpi":
        options.append("--oversubscribe")
        if os.geteuid() == 0:
            os.environ.update(dict.fromkeys(_AS_ROOT, "1"))
    program = build_application("cg")
    return [str(launcher), *options, "-n", str(_RANKS), str(program), *_ARGUMENTS]


def _next_steps() -> str:
    return (
        f"\nThe page {_PAGE.absolute()} opens in any browser.\nNext:\n"
        f"  haloscope show {_PROFILE} --table partners --region halo_exchange\n"
        f"  haloscope show {_PROFILE} --table sizes\n"
        "  haloscope run -- mpiexec -n 4 ./your-program"
    )
