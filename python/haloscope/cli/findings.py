"""`haloscope findings`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from haloscope.base.errors import UsageError
from haloscope.cli.console import print_lines, say_remarks
from haloscope.cli.options import FILE, format_option

if TYPE_CHECKING:
    from haloscope.explain.findings import MachineMeasurements

_EXAMPLES = """\b
Examples:
  haloscope findings run.halo
  haloscope findings run.halo --machine here.yaml --machine sweep.jsonl
  haloscope findings run.halo again-1.halo again-2.halo again-3.halo
  haloscope findings run.halo --format json
"""


@click.command(epilog=_EXAMPLES)
@click.argument("profile", type=FILE, metavar="F.halo")
@click.argument("again", type=FILE, nargs=-1, metavar="[AGAIN.halo...]")
@click.option(
    "--machine",
    type=FILE,
    multiple=True,
    metavar="MACHINE",
    help="Machine model (of bench p2p) or sweep (of bench collective) of the machine. Can be repeated.",
)
@format_option(choices=("table", "json"))
def findings(profile: Path, again: tuple[Path, ...], machine: tuple[Path, ...], form: str) -> None:
    """Find performance problems of a run: cause, fix and expected gain.

    Findings with the largest gain come first. A trace (run --trace) adds which ranks wait for which. Two or
    more repeated runs with the same number of ranks add load imbalance of a few percent.
    """
    from haloscope import explain
    from haloscope.explain.findings import describe_silence, finding_lines
    from haloscope.explain.findings import findings as found_in

    known = _read_measurements(machine)
    with explain.open(profile) as opened:
        opened.verify()  # a damaged file is refused, even if what rules read of it is whole
        found, remarks = opened.data.guard_trace(lambda: found_in(opened, known, repeats=again))
        silence = describe_silence(opened)
        is_partial = bool(opened.info.get("partial"))
    if form == "json":
        click.echo(json.dumps([finding.record() for finding in found], ensure_ascii=False, indent=2))
    else:
        print_lines(finding_lines(found, profile, silence=silence))
    if is_partial:
        remarks.append("the profile is partial: findings are about the ranks that it has")
    say_remarks(remarks)


def _read_measurements(files: Sequence[Path]) -> MachineMeasurements:
    """Return what files say of the machine. Raises `UsageError` for files of another kind."""
    from haloscope.explain.findings import MachineMeasurements
    from haloscope.predict import find_kind

    known = MachineMeasurements()
    for file in files:
        kind = find_kind(file) if file.exists() else "machine"  # by its name
        if kind == "machine":
            known = _with_machine(known, file)
        elif kind == "sweep":
            known = _with_sweep(known, file)
        else:
            raise UsageError(f"{file}: is a {kind}; findings take a machine model or a sweep")
    return known


def _with_machine(known: MachineMeasurements, file: Path) -> MachineMeasurements:
    from dataclasses import replace

    from haloscope.predict import load_machine

    levels = load_machine(file).levels
    near = next((level for level in levels if level.name == "node"), levels[0])
    limits = sorted({protocol.first for level in levels for protocol in level.protocols if protocol.first})

    def message_time(size: float, same_node: bool) -> float:
        return (near if same_node else levels[-1]).message_time(size)

    return replace(known, message_time=message_time, limits=tuple(limits))


def _with_sweep(known: MachineMeasurements, file: Path) -> MachineMeasurements:
    from dataclasses import replace

    import polars as pl

    from haloscope.predict import Sweep
    from haloscope.predict.tune import Candidate, Point, choose_from

    sweep = Sweep.read(file)
    measured = sweep.points.filter(pl.col("status") == "ok")

    def time_of(point: Point, candidate: Candidate) -> float:
        rows = measured.filter(collective=point.collective, ranks=point.ranks, bytes=point.bytes)
        rows = rows.filter(algorithm=candidate.name, segment=candidate.segment, fanout=candidate.fanout)
        return float(rows["median"][0])

    faster = {point: best for point, best in choose_from(sweep).items() if best != Candidate()}
    columns = {
        "operation": [point.collective for point in faster],
        "comm_size": [point.ranks for point in faster],
        # A profile has the bytes of a call, a sweep those for each of the others.
        "bytes": [
            point.bytes * (point.ranks if point.collective.startswith("alltoall") else 1) for point in faster
        ],
        "time": [time_of(point, Candidate()) for point in faster],
        "best_time": [time_of(point, best) for point, best in faster.items()],
        "algorithm": [best.name for best in faster.values()],
    }
    kinds = {"operation": pl.String, "comm_size": pl.Int64, "bytes": pl.Int64}
    schema = {**kinds, "time": pl.Float64, "best_time": pl.Float64, "algorithm": pl.String}
    return replace(known, collectives=pl.DataFrame(columns, schema=schema))
