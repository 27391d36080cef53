"""`haloscope place`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from haloscope.base.child import leave_like
from haloscope.base.objects import Abi
from haloscope.cli.console import print_lines, say, say_remarks
from haloscope.cli.measuring import Launching
from haloscope.cli.options import FILE, format_option, mpi_option, output_option

if TYPE_CHECKING:
    from haloscope.predict.placement import Proposal

_EXAMPLES = """\b
Examples:
  haloscope place app.halo
  haloscope place app.halo --hosts hosts.txt --machine here.yaml -o placement
  haloscope place app.halo -- mpiexec -n 64 ./app
"""


@click.command(cls=Launching, epilog=_EXAMPLES)
@click.argument("profile", type=FILE, metavar="F.halo")
@click.option(
    "--hosts",
    metavar="N|HOST[:SLOTS],…|FILE",
    help="Nodes for the run, in the order in which the launcher fills them. [default: those of the profile]",
)
@click.option(
    "--machine",
    metavar="MACHINE",
    help="Machine model (of bench p2p), to use its levels and message times. [default: none]",
)
@output_option("DIR", "Write the mapping for launchers to this directory. [default: none]")
@format_option(choices=("table", "json"))
@mpi_option
def place(
    profile: Path,
    hosts: str | None,
    machine: str | None,
    output: Path | None,
    form: Literal["table", "json"],
    mpi: Abi | None,
    launcher: tuple[str, ...],
) -> int:
    """Propose which rank should run on which node, or run a program in this order.

    The proposal comes from the messages in a profile. LAUNCHER is a complete launch command. It starts the
    program with its ranks in the better order. Output and exit status are those of the program.
    """
    from haloscope.hide import place as run_placed
    from haloscope.predict.placement import propose

    proposal = propose(profile, hosts, machine)
    _tell(proposal, form, bool(launcher))
    _write(proposal, output)
    if not launcher:
        return 0
    return leave_like(run_placed(launcher, proposal, mpi=mpi).status)


def _tell(proposal: Proposal, form: str, is_run: bool) -> None:
    """Print the proposal, on standard error if a program also runs."""
    lines = [json.dumps(proposal.figures())] if form == "json" else proposal.describe()
    if is_run:
        say_remarks(lines)
    elif form == "json":
        click.echo(lines[0])
    else:
        print_lines(lines)


def _write(proposal: Proposal, output: Path | None) -> None:
    from haloscope.predict.placement import list_usage, write_placement

    if output is None:
        return
    if not proposal.is_worth_it:
        say("no mapping is proposed, so none is written")
        return
    write_placement(proposal, output)
    say_remarks([f"{output}: the mapping; use it by one of:", *list_usage(proposal, output)])
