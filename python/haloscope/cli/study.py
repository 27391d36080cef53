"""`haloscope study`: what papers published, again."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.base.errors import ComponentError, printable
from haloscope.base.launcher import report_toolchain
from haloscope.cli.console import print_lines, progress, say
from haloscope.cli.options import format_option, output_option

if TYPE_CHECKING:
    from haloscope.reproduce.study import PartOutcome, Study

_PAGE = "index.html"
_EXAMPLES = """\b
Examples:
  haloscope study
  haloscope study hpcg-communication-patterns
  haloscope study all --large -o results
  haloscope study caliper-communication-regions --with kripke=./kripke.exe
"""


@click.command(epilog=_EXAMPLES)
@click.argument("names", nargs=-1, metavar="[NAME... | all]")
@click.option("--large", is_flag=True, help="Also run the long parts.")
@click.option(
    "--with",
    "programs",
    multiple=True,
    metavar="NAME=PATH",
    help="Also run the paper's own program of this name: its executable. Several: repeat it, or use commas.",
)
@output_option(
    "DIR", "Directory for the results, with one directory and one page per study.", default="studies-here"
)
@format_option(choices=("table", "json"))
def study(names: tuple[str, ...], large: bool, programs: tuple[str, ...], output: Path, form: str) -> int:
    """Reproduce the tables and figures of a paper, and show them next to the published ones.

    Without NAME, list the studies and their durations. Finished parts are not run again; only the page is
    written, with a verdict on each published number and claim. The exit status is 1 if a part failed.
    """
    from haloscope.reproduce.study import studies

    there = studies()
    if not names:
        _print_list(there, form)
        return 0
    for name in names:
        if name != "all" and name not in there:
            raise click.UsageError(f"there is no study {printable(name)}; there are {', '.join(there)}")
    chosen = list(there) if "all" in names else list(dict.fromkeys(names))
    originals = _parse_programs(programs, [there[name] for name in chosen])
    _print_launcher()
    ended: list[tuple[str, PartOutcome]] = []
    for name in chosen:
        known = {key: path for key, path in originals.items() if key in there[name].programs()}
        outcomes = _run(there[name], output / name, large=large, originals=known)
        if form == "table":
            _print_outcomes(there[name], outcomes, output / name / _PAGE)
        ended += [(name, outcome) for outcome in outcomes]
    if form == "json":
        click.echo(json.dumps([_record(name, outcome) for name, outcome in ended]))
    return int(not all(_is_fine(outcome, large=large) for _, outcome in ended))


def _parse_programs(programs: Sequence[str], chosen: Sequence[Study]) -> dict[str, Path]:
    """Return the executables of original programs, by name; each belongs to one of the chosen studies."""
    from haloscope.reproduce.study import check_originals

    originals: dict[str, Path] = {}
    for item in ",".join(programs).split(",") if programs else ():
        name, _, path = item.partition("=")
        if not path:
            raise click.UsageError(f"--with takes NAME=PATH, not {printable(item)}")
        originals[name] = Path(path)
    check_originals({name for one in chosen for name in one.programs()}, originals)
    return originals


def _print_launcher() -> None:
    """Print the launcher that the scripts will find; parts that need none run without."""

    with contextlib.suppress(ComponentError):
        report_toolchain()


def _print_list(there: Mapping[str, Study], form: str) -> None:
    records = []
    for name, chosen_study in there.items():
        usual, large = (sum(part.minutes for part in chosen_study.chosen(large)) for large in (False, True))
        records.append({"study": name, "title": chosen_study.title, "minutes": usual, "minutes_large": large})
        if form == "table":
            more = f", {large:.0f} with --large" if large > usual else ""
            print_lines([printable(f"{name}: {chosen_study.title} ({usual:.0f} min{more})")])
    if form == "json":
        click.echo(json.dumps(records))


def _run(
    chosen_study: Study, directory: Path, *, large: bool, originals: Mapping[str, Path]
) -> list[PartOutcome]:
    """Run a study and write its page; return how its parts ended."""
    from haloscope.reproduce.study import run_study, write_study_page

    with progress(len(chosen_study.chosen(large, originals))) as step:
        ended = run_study(chosen_study, directory, large=large, originals=originals, report=step)
    write_study_page(chosen_study, directory, directory / _PAGE)
    return ended


def _print_outcomes(chosen_study: Study, ended: Sequence[PartOutcome], page: Path) -> None:
    from haloscope.reproduce.study import judge_study

    for outcome in ended:
        click.echo(printable(f"{chosen_study.name}: {outcome.part.title}: {outcome.state}"))
        if outcome.why:
            say(f"{outcome.part.title}: {outcome.why}")
    if summary := judge_study(chosen_study, page.parent, ended).summary():
        click.echo(printable(f"{chosen_study.name}: {summary}"))
    click.echo(f"page: {printable(shlex.quote(str(page)))}")


def _record(name: str, outcome: PartOutcome) -> dict[str, str]:
    return {"study": name, "part": outcome.part.title, "state": outcome.state, "reason": outcome.why}


def _is_fine(outcome: PartOutcome, *, large: bool) -> bool:
    left = outcome.state == "not run" and (bool(outcome.why) or (outcome.part.large and not large))
    return outcome.state == "done" or left
