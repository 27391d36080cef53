"""`haloscope history`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.base.units import noun_text
from haloscope.cli.console import print_lines, say_remarks
from haloscope.cli.options import FILE, format_option

if TYPE_CHECKING:
    import polars as pl

_EXAMPLES = """\b
Examples:
  haloscope history /scratch/profiles
  haloscope history /scratch/profiles --by host
  haloscope history /scratch/profiles --by run --format csv > year.csv
  haloscope history ci/profiles --by commit --format html > history.html
  haloscope history ci/profiles --by commit --format svg > badge.svg
"""
_MOST_NAMED = 5
# The name of an MPI may be long.
_RUN_ORDER = "program start ranks rank_time mpi_time bytes_sent mpi_library"
_OF_COMMITS = ("html", "svg")


@click.command(epilog=_EXAMPLES)
@click.argument("directory", metavar="DIR", type=FILE)
@click.option(
    "--by",
    type=click.Choice(("program", "host", "mpi", "run", "commit")),
    default="program",
    help="Group runs by this column. run: list each run. commit: compare the commits of a program.",
)
@format_option(
    "Print for people or for programs. html and svg: a page and a badge, by commit.",
    ("table", "csv", "json", "html", "svg"),
)
def history(directory: Path, by: str, form: str) -> None:
    """Summarise many runs: programs, hosts and MPI libraries with most time in MPI, and slow hosts.

    DIR is searched for profiles of Haloscope, Caliper and mpiP. Only their table `info` is read. Other
    files, and OTF2 archives, are counted.
    """
    from haloscope import explain

    if form in _OF_COMMITS and by != "commit":
        raise click.UsageError(f"--format {form} is for --by commit")
    found = explain.read_history(directory)
    if by == "commit":
        rows = explain.commits(found.frame)
        if form in _OF_COMMITS:
            made = explain.make_commit_page(rows) if form == "html" else explain.make_badge(rows)
            click.echo(made, nl=False)
        else:
            explain.render(rows, form, explain.COMMITS_TABLE, sys.stdout)
        say_remarks(_unreadable(found.unreadable))
        return
    if form == "table" and found.frame.is_empty():
        say_remarks([f"{directory}: has no profiles", *_unreadable(found.unreadable)])
        return
    frame = _without_lists(found.frame) if by == "run" else explain.costs(found.frame, by)
    hosts = explain.find_suspect_hosts(found.frame) if by == "host" or form == "table" else None
    if by == "host" and hosts is not None:
        frame = frame.join(hosts.drop("runs"), on="host", how="left", maintain_order="left")
    table = explain.HISTORY_TABLE
    explain.render(frame, form, replace(table, order=_RUN_ORDER) if by == "run" else table, sys.stdout)
    if form == "table" and hosts is not None:
        print_lines(explain.describe_suspect_hosts(hosts))
    say_remarks(_unreadable(found.unreadable))


def _without_lists(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose lists are texts, as CSV has none."""
    import polars as pl

    lists = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    texts = [pl.col(name).cast(pl.List(pl.String)).list.join(" ") for name in lists]
    return frame.with_columns(texts)


def _unreadable(reasons: list[str]) -> list[str]:
    if not reasons:
        return []
    more = len(reasons) - _MOST_NAMED
    head = f"{noun_text(len(reasons), 'file')} could not be read"
    return [head, *reasons[:_MOST_NAMED], *([f"… and {more} more"] if more > 0 else [])]
