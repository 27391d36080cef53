"""miniAMR itself: sizes of its messages, and its communication with and without the shm library.

    .venv/bin/python studies/dynamic-stencil-protocols/originals.py

Runs the executable that `haloscope study --with miniamr=PATH` named, in the current directory.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from common import HALOSCOPE
from figures import CELLS, RUN, VARIABLES
from original_runs import Ended, Original, Run, fitting, record, write_originals

MINIAMR = Original("miniamr", "miniAMR", r"Mantevo miniAMR\s+version (.+)", ("1.7",))
SECONDS = re.compile(r"Interblock communication\n-+\n\n +Time: ave[^:]*: ([0-9.]+)")
TIMED = "--npx 2 --num_refine 0 --num_tsteps 2 --stages_per_ts 20 --checksum_freq 0"
TIMED_CELLS = (16, 32, 48)  # along each edge of a block
ROUNDS = 5
GAIN = "less time, over grid sizes, most"


def size_runs() -> list[tuple[Run, int, int]]:
    """Return the runs of the slides' Motivation 1, with cells and variables: those of the part with amr."""
    points = sorted({(32, variables) for variables in VARIABLES} | {(cells, 10) for cells in CELLS})
    return [
        (
            Run(
                f"{cells} cells {variables} variables",
                4,
                f"{block(cells, variables)} {RUN} --num_refine 0",
                1,
            ),
            cells,
            variables,
        )
        for cells, variables in points
    ]


def block(cells: int, variables: int) -> str:
    """Return the flags of a block."""
    # miniAMR allocates the most blocks that a rank may have at the start.
    return f"--nx {cells} --ny {cells} --nz {cells} --num_vars {variables} --max_blocks 8"


def sizes(ended: Ended, cells: int, variables: int) -> dict[str, object]:
    """Return the messages of a run without refinement, which are all of its exchanges."""
    whole = ended.profile.table("regions").row(0, named=True)
    sent = ended.profile.table("sizes").filter(pl.col("kind") == "p2p", pl.col("messages") > 0)["bytes"]
    return {
        "cells": cells,
        "variables": variables,
        "messages": whole["sends_total"],
        "mean": whole["mean_message"],
        "least": sent.min(),
        "most": sent.max(),
    }


def gains() -> Iterator[dict[str, object]]:
    """Yield per grid by how many percent the shm library shortens the communication, in pairs of runs."""
    shm = [str(HALOSCOPE), "shm", "--quiet", "--"]
    for cells in TIMED_CELLS:
        run = Run(f"{cells} cells", 2, f"{TIMED} {block(cells, 40)}", 1)
        pairs = [[seconds(record(MINIAMR, run, verb)) for verb in ([], shm)] for _ in range(ROUNDS)]
        less = pl.Series([100 * (1 - faster / bare) for bare, faster in pairs])
        yield {"cells": cells, "percent_less": less.median(), "least": less.min(), "most": less.max()}


def seconds(ended: Ended) -> float:
    """Return the seconds of communication, mean over ranks, which miniAMR prints."""
    found = SECONDS.search(ended.output)
    if found is None:
        sys.exit("miniamr: printed no time of its interblock communication")
    return float(found[1])


def main() -> None:
    """Run miniAMR, and write its sizes and gains."""
    rows = size_runs()
    fits = list(fitting(MINIAMR, [run for run, *_ in rows]))
    table = []
    for run, cells, variables in rows:
        if run in fits:
            ended = record(MINIAMR, run)
            table.append(sizes(ended, cells, variables))
    pl.DataFrame(table).write_csv("original-miniamr-sizes.csv")
    # Ranks that share a core say nothing about time.
    measured = list(gains()) if len(os.sched_getaffinity(0)) > 1 else []
    pl.DataFrame(measured, schema=["cells", "percent_less", "least", "most"]).write_csv(
        "original-miniamr-gains.csv"
    )
    values = {GAIN: max(float(str(one["percent_less"])) for one in measured)} if measured else {}
    write_originals("original-miniamr", MINIAMR, ended.version, values, is_measured=True)


if __name__ == "__main__":
    main()
