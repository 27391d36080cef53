"""Cost of profiling a whole program: apps/cg on two ranks, alternately with and without the recorder.

The first row is the cost of its calls and regions by their measured costs (calls.c). The second row is the
difference of the program's own times, which has much more noise on two cores.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import polars as pl
from common import MPI_ENVIRONMENT, Estimate, emit, estimate

import haloscope
from haloscope.base.building import build_application
from haloscope.base.launcher import report_toolchain

SIZE = 104


def measure(prefix: list[str], output: Path, prices: Mapping[str, float], rounds: int) -> None:
    """Emit the rows; `prices`: nanoseconds per call and region; `output`: the profile of `prefix`."""
    cells = [argument for axis in "xyz" for argument in (f"--n{axis}", str(SIZE))]
    command = [str(report_toolchain().launcher), "-n", "2", str(build_application("cg")), *cells]
    bare, watched = [], []
    for _ in range(rounds):
        bare.append(_seconds(command))
        watched.append(_seconds([*prefix, *command]))
    run = estimate(bare).median
    added = 1e-9 * _cost(output, prices)
    share = Estimate(run / added, run / added, run / added)
    emit(
        "watch-cg",
        "calls and regions of a rank at their prices",
        ours=100 * added / run,
        peer=100,
        peer_name="the run",
        unit="%",
        ratio=share,
        target=100 / 0.5,
    )
    ratio = estimate([without / with_us for without, with_us in zip(bare, watched, strict=True)])
    emit(
        "watch-cg",
        "time of the run",
        ours=estimate(watched).median,
        peer=run,
        peer_name="bare",
        unit="s",
        ratio=ratio,
        target=1 / 1.02,
    )


def _seconds(command: list[str]) -> float:
    done = subprocess.run(
        command, env=MPI_ENVIRONMENT, check=True, capture_output=True, text=True, timeout=600
    )
    found = re.search(r"^time\s+([\d.]+) s", done.stdout, re.MULTILINE)
    assert found is not None, done.stdout
    return float(found.group(1))


def _cost(output: Path, prices: Mapping[str, float]) -> float:
    """Return the nanoseconds added to a rank; both ranks have the same number of calls."""
    profile = haloscope.open(output)
    calls = profile.table("calls").select(pl.sum("calls")).item() / 2
    passes = profile.table("regions").select(pl.sum("instances")).item()
    return float(calls * prices["call"] + passes * prices["region"])
