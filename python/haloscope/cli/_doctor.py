"""`haloscope doctor`: what of this machine works, and what to install."""

from __future__ import annotations

import click

__all__ = ["doctor"]

_EXAMPLES = """\b
Example:
  haloscope doctor
"""


@click.command(epilog=_EXAMPLES)
def doctor() -> None:
    """Say what of this machine works, and what to install.

    One line for each thing: ok, or missing with the remedy.
    """
    from haloscope.watch import doctor

    for finding in doctor():
        mark = "ok     " if finding.works else "missing"
        remedy = f": {finding.remedy}" if finding.remedy and not finding.works else ""
        click.echo(f"{mark}  {finding.what:<20} {finding.detail}{remedy}")
