"""miniAMR's pattern within a node: communication by MPI alone and by each protocol of the shm library.

    .venv/bin/python studies/dynamic-stencil-protocols/miniamr.py DIR

Runs amr on two ranks, in each round with one protocol after the other.
Writes `miniamr.csv` and `miniamr.json` to DIR.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from common import ENVIRONMENT, HALOSCOPE, draw, here, into, lines

from haloscope.base.launcher import report_toolchain
from haloscope.markov.figures import Panel, axis
from haloscope.reproduce.study import write_figures

PROTOCOLS = ("MPI", "dynamic", "get", "coop", "steal", "static")
CELLS = (16, 32, 48)  # along each edge of a block, as in the slides
ROUNDS = 5
RUN = "--npx 2 --num_refine 0 --num_vars 40 --num_tsteps 2 --stages_per_ts 20 --checksum_freq 0"
SECONDS = re.compile(r"^time .* communication ([0-9.]+) s", re.MULTILINE)


def communication(amr: str, cells: int, protocol: str) -> float:
    """Return the seconds of communication, with packing and unpacking, mean over ranks."""
    words = [amr, *RUN.split(), *(word for axis in "xyz" for word in (f"--n{axis}", str(cells)))]
    shm = [str(HALOSCOPE), "shm", "--quiet", "--"] if protocol != "MPI" else []
    command = [*shm, str(report_toolchain().launcher), "-n", "2", *words]
    done = subprocess.run(
        command,
        env={**ENVIRONMENT, "HALOSCOPE_SHM_PROTOCOL": protocol},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = SECONDS.search(done.stdout)
    if found is None:
        sys.exit(f"amr printed no time of communication: {done.stdout[-200:]}")
    return float(found[1])


def main() -> None:
    """Measure in rounds, and write medians."""
    amr = here("amr")
    rows = [
        {"cells": cells, "protocol": protocol, "seconds": communication(amr, cells, protocol)}
        for _ in range(ROUNDS)
        for cells in CELLS
        for protocol in PROTOCOLS
    ]
    keys, seconds = ["cells", "protocol"], pl.col("seconds")
    grouped = pl.DataFrame(rows).group_by(keys, maintain_order=True)
    table = grouped.agg(seconds.median(), least=seconds.min(), most=seconds.max())
    mpi = table.filter(pl.col("protocol") == "MPI").select("cells", mpi="seconds")
    table = table.join(mpi, on="cells").with_columns(
        bytes=8 * 40 * pl.col("cells") ** 2, percent_less=100 * (1 - seconds / pl.col("mpi"))
    )
    table.drop("mpi").write_csv("miniamr.csv", float_precision=4)
    drawn = Panel(
        "2 ranks, 40 variables", lines(table, "cells", "percent_less", "protocol", PROTOCOLS[1:], {})
    )
    across = axis("cells along an edge of a block", tickvals=CELLS)
    caption = f"Median of {ROUNDS} alternating runs. Slides: Results with miniAMR, grid sizes."
    figure = draw([drawn], across, axis("less time in communication than MPI, %"), caption)
    write_figures([figure], Path("miniamr.json"))


if __name__ == "__main__":
    into()
    main()
