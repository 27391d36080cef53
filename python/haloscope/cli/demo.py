"""`haloscope demo`: the main job on a bundled program."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from haloscope.base.building import build_application
from haloscope.base.errors import LaunchError
from haloscope.base.launcher import report_toolchain
from haloscope.base.mpi import find_installed_library
from haloscope.base.objects import Abi
from haloscope.base.toolchain import Toolchain
from haloscope.base.tools import environment_tool
from haloscope.cli.console import fit_lines, say_remarks

_RANKS = 2
_PROFILE = Path("haloscope-demo.halo")
_PAGE = Path("haloscope-demo.html")
_PROGRAM = "amr"
# A ball in the half of rank 0, whose blocks are refined and stay there: rank 0 has nearly all of the work.
_ARGUMENTS = (
    *("--npx", "2", "--nx", "10", "--ny", "10", "--nz", "10", "--num_vars", "20", "--num_tsteps", "6"),
    *("--num_refine", "2", "--lb_opt", "0", "--object", "3", "0", "0.2", "0.5", "0.5", "0", "0", "0"),
    *("0.15", "0.15", "0.15", "0", "0", "0"),
)
# Two ranks may share a core: waiting ranks must leave it to the others.
_POLITE: Mapping[Abi, Mapping[str, str]] = {
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
    "mpich": {
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
    },
}
_EXAMPLES = """\b
Examples:
  haloscope demo
  haloscope show haloscope-demo.halo --table ranks
"""


@click.command(epilog=_EXAMPLES)
def demo() -> None:
    """Profile the bundled program amr on 2 ranks and explain its bottleneck.

    Rank 0 has most of the blocks, and load balancing is off. Prints the summary and the findings, and writes
    haloscope-demo.halo and haloscope-demo.html to the current directory.
    """
    from haloscope.watch import run

    tools = report_toolchain()
    options = _options(tools)
    own = _own_command()
    shown = ["mpiexec", *options, "-n", str(_RANKS)]
    program = f'"$({own} where {_PROGRAM})"'
    click.echo(f"$ {own} run -o {_PROFILE} -- {shlex.join(shown)} {program} {shlex.join(_ARGUMENTS)}")
    outcome = run([str(tools.launcher), *shown[1:], *_program()], output=_PROFILE)
    say_remarks(outcome.remarks)
    if outcome.status or not outcome.profiles:
        raise LaunchError(
            f"the demo did not run to its end (exit status {outcome.exit_status}); "
            "haloscope doctor lists what is missing here"
        )
    _explain()
    click.echo(_next_steps(own, shown))


def _explain() -> None:
    """Print the summary as `run` does, and the findings; write the page."""
    from haloscope import explain

    with explain.open(_PROFILE) as profile:
        lines = [line for line in explain.summary(profile) if not line.startswith("look further: ")]
    click.echo(fit_lines(lines, sys.stdout))
    explain.report([_PROFILE], _PAGE)
    click.echo(f"page: {_PAGE.absolute()}")


def _program() -> list[str]:

    return [str(build_application(_PROGRAM)), *_ARGUMENTS]


def _options(tools: Toolchain) -> list[str]:
    """Return what this MPI's launcher needs for two ranks on a small machine, and for root."""

    library = find_installed_library(tools.launcher)
    abi = library.abi if library else "openmpi"
    os.environ.update({k: v for k, v in _POLITE.get(abi, {}).items() if k not in os.environ})
    if abi != "openmpi":
        return []
    return ["--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]


def _own_command() -> str:
    """Return how this command is called: by its name, or by its path where it is not on PATH."""

    own = environment_tool("haloscope")
    found = shutil.which("haloscope")
    if own is None or (found and Path(found).samefile(own)):
        return "haloscope"
    return shlex.quote(os.path.relpath(own) if own.is_relative_to(Path.cwd()) else str(own))


def _next_steps(own: str, launch: Sequence[str]) -> str:
    return (
        "Next:\n"
        f"  {own} findings {_PROFILE}\n"
        f"  {own} show {_PROFILE} --table ranks --region stencil\n"
        f"  {own} run -- {shlex.join(launch)} ./your-program"
    )
