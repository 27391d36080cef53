"""`haloscope where`."""

from __future__ import annotations

import click

__all__ = ["where"]

_EXAMPLES = """\b
Examples:
  cc -I"$(haloscope where include)" -c solver.c
  haloscope run -- mpiexec -n 4 "$(haloscope where cg)" --nx 32
"""


@click.command(epilog=_EXAMPLES)
@click.argument("what", metavar="WHAT")
def where(what: str) -> None:
    """Print one path and nothing else, for scripts and builds.

    WHAT is include (the headers with the markers), lib (the recorder for the MPI on PATH), stencil
    (the protocol layer for it), heap (its shareable heap), overlap, halo or fem (libraries to be
    linked), or the name of a bundled application: cg, sweep, poisson. It is built first if need be.
    """
    from haloscope.watch import _applications

    click.echo(str(_applications.where(what)))
