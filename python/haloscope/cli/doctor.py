"""`haloscope doctor`: what of this machine works, and what to install."""

from __future__ import annotations

import click

from haloscope.cli.command import all_verbs

_EXAMPLES = """\b
Example:
  haloscope doctor
"""


@click.command(epilog=_EXAMPLES)
def doctor() -> None:
    """Check this machine: what works, and what to install.

    One line per component: ok, or missing with the command that installs it. Then the commands that work
    here, and the missing components of the others.
    """
    from haloscope.watch import doctor

    lacking: dict[str, list[str]] = {}
    for finding in doctor():
        mark = "ok     " if finding.works else "missing"
        remedy = f": {finding.remedy}" if finding.remedy and not finding.works else ""
        click.echo(f"{mark}  {finding.what:<20} {finding.detail}{remedy}")
        for verb in () if finding.works else finding.verbs:
            lacking.setdefault(verb, []).append(finding.what.removesuffix(" (optional)"))
    click.echo(f"work here: {', '.join(verb for verb in all_verbs() if verb not in lacking)}")
    for things in dict.fromkeys(map(tuple, lacking.values())):
        waiting = [verb for verb in all_verbs() if tuple(lacking.get(verb, ())) == things]
        click.echo(f"do not work: {', '.join(waiting)}: what is missing is {', '.join(things)}")
