"""`haloscope doctor`: components that work on this machine, and how to install the others."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from haloscope.cli.command import all_verbs
from haloscope.cli.console import print_lines
from haloscope.cli.options import format_option

if TYPE_CHECKING:
    from haloscope.watch import DoctorCheck

_EXAMPLES = """\b
Examples:
  haloscope doctor
  haloscope doctor --json
"""


@click.command(epilog=_EXAMPLES)
@format_option(choices=("table", "json"))
def doctor(form: str) -> None:
    """Check this machine: what works, and what to install.

    One line per component: ok, or missing with the command that installs it. Then the commands that work
    here, and the missing components of the others.
    """
    from haloscope.watch import doctor as examine

    if form == "json":
        click.echo(json.dumps([vars(check) for check in examine()], indent=2))
    else:
        _print(examine())


def _print(checks: Iterable[DoctorCheck]) -> None:
    """Print each line at once, as some checks take a second."""
    lacking: dict[str, list[str]] = {}
    for check in checks:
        mark = "ok     " if check.works else "missing"
        remedy = f": {check.remedy}" if check.remedy and not check.works else ""
        print_lines([f"{mark}  {check.what:<20} {check.detail}{remedy}"])
        for verb in () if check.works else check.verbs:
            lacking.setdefault(verb, []).append(check.what.removesuffix(" (optional)"))
    print_lines([f"work here: {', '.join(verb for verb in all_verbs() if verb not in lacking)}"])
    for things in dict.fromkeys(map(tuple, lacking.values())):
        waiting = [verb for verb in all_verbs() if tuple(lacking.get(verb, ())) == things]
        print_lines([f"do not work: {', '.join(waiting)}: missing components: {', '.join(things)}"])
