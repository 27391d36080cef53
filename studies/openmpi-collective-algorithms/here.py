"""The paper's algorithms measured on this machine."""

from __future__ import annotations

import os
import subprocess

import points
import polars as pl
from common import ENVIRONMENT, HALOSCOPE
from together import KEYS

from haloscope import predict
from haloscope.reproduce.study import Tested

RANKS = (2, 4, 8)
_CLOSE = 1.1  # over the fastest, which is the least of several measured medians


def measured() -> pl.DataFrame:
    """Return the medians on this machine with their intervals; an interrupted sweep is continued."""
    frames = []
    for collective, names in points.PAPERS.items():
        command = [str(HALOSCOPE), "bench", "collective", collective]
        command += ["--algorithm", ",".join(("default", *names)), "-n", ",".join(map(str, RANKS))]
        command += ["-m", f"{min(points.SIZES)}:{max(points.SIZES)}", "-i", "50", "-x", "5"]
        command += ["-o", f"{collective}.jsonl"]
        subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=True)
        frames.append(predict.Sweep.read(f"{collective}.jsonl").points)
    rows = pl.concat(frames).filter(pl.col("status") == "ok")
    return rows.select(*KEYS, time="median", low="ci_low", high="ci_high")


def defaults(rows: pl.DataFrame) -> list[Tested]:
    """Return whether the library's choice is the fastest here, where each rank has a core."""
    cores = len(os.sched_getaffinity(0))
    found = []
    for collective in points.PAPERS:
        own = rows.filter(pl.col("collective") == collective, pl.col("ranks") <= cores)
        wide = own.pivot("algorithm", index=["ranks", "bytes"], values="time").drop_nulls()
        name = f"{collective}: default is the best, measured"
        if wide.is_empty():
            found.append(Tested(name, None, "two ranks share a core of this machine"))
            continue
        least = wide.select(pl.min_horizontal(pl.exclude("ranks", "bytes"))).to_series()
        near = int((wide["default"] <= _CLOSE * least).sum())
        text = f"fastest, or at most 10 % slower, at {near} of {len(wide)} points of up to {cores} processes"
        found.append(Tested(name, near == len(wide), text))
    return found
