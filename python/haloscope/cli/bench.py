"""`haloscope bench`: measures this system."""

from __future__ import annotations

import click

from haloscope.cli.groups import CommandGroup

_COMMANDS = {
    "p2p": "bench_p2p",
    "collective": "bench_collective",
    "halo": "bench_halo",
    "noise": "bench_noise",
    "model": "bench_model",
    "fit": "bench_model",
}
_EXAMPLES = """\b
Examples:
  haloscope bench p2p -o here.yaml
  haloscope bench collective allreduce -n 2:8 -o sweep.jsonl
"""


@click.group(cls=CommandGroup, modules=_COMMANDS, epilog=_EXAMPLES)
def bench() -> None:
    """Measure messages, collectives, halo exchanges and noise of this machine, and model collectives."""
