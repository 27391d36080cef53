"""`haloscope report`."""

from __future__ import annotations

import shlex
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from haloscope.base.errors import printable
from haloscope.base.files import unused_path
from haloscope.cli.console import say, say_remarks
from haloscope.cli.options import FILE, output_option

if TYPE_CHECKING:
    from haloscope.explain.ensembles import Speeds
    from haloscope.predict import Kind

_EXAMPLES = """\b
Examples:
  haloscope report run.halo
  haloscope report run.halo --open
  haloscope report run-*.halo -o scaling.html
  haloscope report run-*.halo --machine machine.yaml --against nx --by cluster -o scaling.html
  haloscope report bundle.zip -o scaling.html
  haloscope report sweep.jsonl -o sweep.html
  haloscope report machine.yaml -o machine.html
  haloscope report rules.gains.json -o gains.html
"""


@click.command(epilog=_EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@output_option(
    "PAGE.html", "The page to write. An existing page is replaced. [default: a new file NAME.html here]"
)
@click.option("--open", "opened", is_flag=True, help="Open the page in a web browser.")
@click.option(
    "--against",
    default="run_ranks",
    metavar="COLUMN",
    help="Column for the x-axis of several runs, such as a metadata key of the program.",
)
@click.option(
    "--by",
    default="program",
    metavar="COLUMN",
    help="Group runs by this column, such as the name of the cluster.",
)
@click.option(
    "--machine",
    metavar="MACHINE",
    help="Machine model (of bench p2p), to compare the messages of several runs with. [default: none]",
)
def report(
    files: tuple[Path, ...], output: Path | None, opened: bool, against: str, by: str, machine: str | None
) -> None:
    """Write one interactive page: findings, timeline, flame graph, communication matrix, scaling.

    FILE is one profile or several. Or it is one sweep of bench collective, or one output of OSU or IMB-MPI1,
    or several. Or it is a machine model of bench p2p, the gains of tune, or a bundle of a campaign. The
    content of a file determines its kind.
    """
    page = output or unused_path(Path(f"{files[0].stem}.html" if len(files) == 1 else "report.html"))
    _write(files, page, _Axes(against, by, machine))
    click.echo(f"page: {printable(shlex.quote(str(page)))}")
    if opened and not webbrowser.open(page.absolute().as_uri()):
        say("there is no web browser here: open the page on another machine")


class _Axes(NamedTuple):
    """How several runs are drawn."""

    against: str
    by: str
    machine: str | None


def _write(files: Sequence[Path], output: Path, axes: _Axes) -> None:
    """Write the page about what the files are."""
    from haloscope.predict import find_kind

    if len(files) == 1 and _is_zip(files[0]):
        _bundle(files[0], output, axes)
        return
    kinds = {file: find_kind(file) for file in files}
    if len(files) > 1 and set(kinds.values()) == {"profile"}:
        _ensemble(files, output, axes)
        return
    if axes != _Axes("run_ranks", "program", None):
        raise click.UsageError("--against, --by and --machine are about several profiles")
    kind = kinds[files[0]]
    for file, other in kinds.items():
        if other != kind:
            raise click.UsageError(
                f"{file}: is a {other}, but {files[0]} is a {kind}; a page is about one kind"
            )
    if len(files) > 1 and kind in ("machine", "gains"):
        raise click.UsageError(f"{files[1]}: a page is about one {kind} only")
    _PAGES[kind](files, output)


def _ensemble(profiles: Sequence[Path], output: Path, axes: _Axes) -> None:
    from haloscope import explain

    speeds = _speeds(axes.machine) if axes.machine else None
    explain.report(list(profiles), output, against=axes.against, by=axes.by, machine=speeds)


def _is_zip(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            return stream.read(4) == b"PK\x03\x04"
    except OSError:
        return False


def _bundle(file: Path, output: Path, axes: _Axes) -> None:
    from haloscope.reproduce.campaign import open_bundle, write_report

    with open_bundle(file) as content:
        if content.campaign is not None:
            by = None if axes.by == "program" else axes.by
            machine = _speeds(axes.machine) if axes.machine else None
            write_report(content.campaign, output, against=axes.against, by=by, machine=machine)
        elif len(content.profiles) > 1:
            _ensemble(content.profiles, output, axes)
        else:
            _profiles(content.profiles, output)


def _speeds(name: str) -> Speeds:
    """Return what messages between the cores of a machine that are farthest apart take."""
    from haloscope.explain.ensembles import Speeds
    from haloscope.predict import load_machine

    machine = load_machine(name)
    farthest = machine.levels[-1]
    return Speeds(f"{machine.name} (across a {farthest.name})", farthest.message_time)


def _profiles(files: Sequence[Path], output: Path) -> None:
    from haloscope import explain

    say_remarks(explain.report(list(files), output))


def _sweeps(files: Sequence[Path], output: Path) -> None:
    from haloscope.predict.bench import join_sweeps, read_any, write_page

    write_page(join_sweeps([read_any(file) for file in files]).sorted(), output)


def _machine(files: Sequence[Path], output: Path) -> None:
    from haloscope.predict import load_machine, write_machine_page

    write_machine_page(load_machine(files[0]), output)


def _gains(files: Sequence[Path], output: Path) -> None:
    from haloscope.predict.tune import Gains, write_page

    write_page(Gains.read(files[0]), output)


_PAGES: dict[Kind, Callable[[Sequence[Path], Path], None]] = {
    "profile": _profiles,
    "sweep": _sweeps,
    "machine": _machine,
    "gains": _gains,
}
