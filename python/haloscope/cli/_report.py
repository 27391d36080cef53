"""`haloscope report`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from haloscope.predict import Kind

__all__ = ["report"]

_EXAMPLES = """\b
Examples:
  haloscope report run.halo -o report.html
  haloscope report run-*.halo -o scaling.html
  haloscope report sweep.jsonl -o sweep.html
  haloscope report machine.yaml -o machine.html
  haloscope report rules.gains.json -o gains.html
"""


@click.command(epilog=_EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="PAGE.html",
    help="The page to write; an existing one is replaced when the new one is whole.",
)
def report(files: tuple[Path, ...], output: Path) -> None:
    """Write one self-contained interactive page about what the files hold.

    FILE is a profile, or several of them; a sweep of bench collective, or output of the OSU benchmarks
    or of IMB-MPI1, or several of these; the machine model of bench p2p; or the gains of tune. What it
    is, its content says.
    """
    from haloscope.predict import kind_of

    kinds = {file: kind_of(file) for file in files}
    kind = kinds[files[0]]
    for file, other in kinds.items():
        if other != kind:
            raise click.UsageError(
                f"{file}: is a {other}, but {files[0]} is a {kind}; a page is about one kind"
            )
    if len(files) > 1 and kind in ("machine", "gains"):
        raise click.UsageError(f"{files[1]}: a page is about one {kind} only")
    _PAGES[kind](files, output)


def _profiles(files: Sequence[Path], output: Path) -> None:
    from haloscope import explain

    explain.report(list(files), output)


def _sweeps(files: Sequence[Path], output: Path) -> None:
    from haloscope.predict.bench import joined, read_any, write_page

    write_page(joined([read_any(file) for file in files]).sorted(), output)


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
