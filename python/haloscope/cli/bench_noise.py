"""`haloscope bench noise`."""

from __future__ import annotations

import csv
import json
import sys
from typing import TYPE_CHECKING

import click

from haloscope.cli.options import format_option, numbers

if TYPE_CHECKING:
    from haloscope.predict.bench import Noise

_EXAMPLES = """\b
Examples:
  haloscope bench noise
  haloscope bench noise --duration 10 --cpus 0:3:1
  haloscope bench noise --format csv > samples.csv
"""
_COLUMNS = {
    "cpu": "cpu",
    "quanta": "quanta",
    "best": "best(us)",
    "lost": "lost(%)",
    "low": "from(%)",
    "high": "to(%)",
    "detours_a_second": "detours/s",
    "median_interval": "interval(us)",
    "longest": "longest(us)",
}


@click.command(epilog=_EXAMPLES)
@click.option(
    "--duration",
    type=click.FloatRange(0, 3600, min_open=True),
    default=1.0,
    metavar="SECONDS",
    help="Measure for this time.",
)
@click.option(
    "--cpus",
    "processors",
    callback=numbers,
    metavar="0,2|0:3:1",
    help="Processors, by the system's numbers. 0:3:1 is 0 to 3. Default: all that may be used.",
)
@format_option("Print one row per processor, every sample (csv), or both (json).")
def noise(duration: float, processors: list[int] | None, form: str) -> None:
    """Measure the time that the system takes from programs, with fixed pieces of work on each processor.

    The lost time is the share above the time of the fastest piece.
    """
    from haloscope.predict.bench import noise as measured

    found = measured(duration, processors=processors)
    if form == "json":
        samples = {str(cpu): [_plain(t) for t in times] for cpu, times in found.samples.items()}
        click.echo(json.dumps({**found.summary(), "samples": samples}))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(["cpu", "sample", "time"])
        for cpu, times in found.samples.items():
            writer.writerows([cpu, at, _plain(time)] for at, time in enumerate(times))
    else:
        _print(found)


def _print(found: Noise) -> None:
    click.echo("# " + _format_line(list(_COLUMNS.values())))
    for processor in found.summary()["processors"]:
        interval = processor["median_interval"]
        values = [
            str(processor["cpu"]),
            str(processor["quanta"]),
            f"{1e6 * processor['best']:.3f}",
            f"{100 * processor['lost']:.3f}",
            f"{100 * processor['lost_low']:.3f}",
            f"{100 * processor['lost_high']:.3f}"[:6],  # 100.00
            f"{processor['detours_a_second']:.1f}",
            "-" if interval is None else f"{1e6 * interval:.0f}",
            f"{1e6 * processor['longest_detours'][0]:.1f}",
        ]
        click.echo("  " + _format_line(values))


def _format_line(cells: list[str]) -> str:
    widths = [4 if name == "cpu" else max(len(name), 6) for name in _COLUMNS.values()]
    return " ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _plain(seconds: float) -> float:
    return float(f"{seconds:.6g}")
