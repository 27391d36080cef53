"""`haloscope study`: what papers published, again."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.base.errors import ComponentError, printable
from haloscope.base.launcher import report_toolchain
from haloscope.cli.console import progress, say

if TYPE_CHECKING:
    from haloscope.reproduce.study import PartOutcome, Study

_EXAMPLES = """\b
Examples:
  haloscope study
  haloscope study hpcg-communication-patterns
  haloscope study all --large -o results
"""


@click.command(epilog=_EXAMPLES)
@click.argument("names", nargs=-1, metavar="[NAME... | all]")
@click.option("--large", is_flag=True, help="Also run the long parts.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default="studies-here",
    show_default=True,
    help="Directory for the results, with one directory and one page per study.",
)
def study(names: tuple[str, ...], large: bool, output: Path) -> int:
    """Reproduce the tables and figures of a paper, and show them next to the published ones.

    Without NAME, list the studies and their durations. Finished parts are not run again; only the page is
    written. The exit status is 1 if a part has no result, or an exact result differs from the published one.
    """
    from haloscope.reproduce.study import studies

    there = studies()
    if not names:
        for name, one in there.items():
            click.echo(printable(_line(name, one)))
        return 0
    for name in names:
        if name != "all" and name not in there:
            raise click.UsageError(f"there is no study {printable(name)}; there are {', '.join(there)}")
    chosen = list(there) if "all" in names else list(dict.fromkeys(names))
    _print_launcher()
    ended = [_run(there[name], output / name, large=large) for name in chosen]
    return int(not all(ended))


def _print_launcher() -> None:
    """Print the launcher that the scripts will find; parts that need none run without."""

    with contextlib.suppress(ComponentError):
        report_toolchain()


def _line(name: str, one: Study) -> str:
    usual, large = (sum(part.minutes for part in one.chosen(large)) for large in (False, True))
    more = f", {large:.0f} with --large" if large > usual else ""
    return f"{name}: {one.title} ({usual:.0f} min{more})"


def _run(one: Study, directory: Path, *, large: bool) -> bool:
    """Run a study and write its page; return whether all parts came out as they should."""
    from haloscope.reproduce.study import run_study, write_study_page

    with progress(len(one.chosen(large))) as step:
        ended = run_study(one, directory, large=large, told=step)
    page = directory / "index.html"
    write_study_page(one, directory, page)
    for outcome in ended:
        click.echo(printable(f"{one.name}: {outcome.part.title}: {outcome.state}"))
        if outcome.why:
            say(f"{outcome.part.title}: {outcome.why}")
    click.echo(f"page: {printable(shlex.quote(str(page)))}")
    return all(_is_fine(outcome, large=large) for outcome in ended)


def _is_fine(outcome: PartOutcome, *, large: bool) -> bool:
    left = outcome.state == "not run" and (bool(outcome.why) or (outcome.part.large and not large))
    return outcome.state == "done" or left
