"""Sizes, partners and collectives of HPCG itself.

    .venv/bin/python studies/hpcg-communication-patterns/originals.py

Runs the executable that `haloscope study --with hpcg=PATH` named, in the current directory.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from original_runs import Original, Run, fitting, record, write_originals

from haloscope.explain import Profile
from haloscope.reproduce.study import read_study

HPCG = Original("hpcg", "HPCG", r"^HPCG-Benchmark\s+version=(\S+)", ("3.1",), "HPCG-Benchmark*.txt")
# Sizes need the paper's edge; the numbers of partners and of collectives do not depend on it.
RUNS = (
    Run("sizes", 8, "--nx=104 --ny=104 --nz=104 --rt=0", 9.0),
    Run("partners", 27, "--nx=16 --ny=16 --nz=16 --rt=0", 1.0),
)
SIZE = "message size "


def sizes(profile: Profile) -> list[int]:
    """Return the sizes of all messages, in bytes."""
    sent = profile.table("sizes").filter(pl.col("kind") == "p2p", pl.col("messages") > 0)
    return sorted(sent["bytes"].unique().to_list())


def of_sizes(profile: Profile, published: Sequence[int]) -> dict[str, float]:
    """Return the published sizes that occur."""
    return {f"{SIZE}{size}": size for size in sizes(profile) if size in published}


def of_partners(profile: Profile) -> dict[str, float]:
    """Return the smallest and largest number of partners, and the kB of a rank's Allreduces."""
    whole = profile.table("regions").row(0, named=True)
    sums = profile.table("collectives", region="<program>").filter(pl.col("operation") == "Allreduce")
    sent = (sums["bytes"] * sums["calls"]).sum() / whole["ranks"]
    least, most = whole["dest_ranks_min"], whole["dest_ranks_max"]
    return {"neighbours, least": least, "neighbours, most": most, "collectives of a process": sent / 1000}


def main() -> None:
    """Run HPCG, and write its numbers."""
    names = [name for group in read_study(Path(__file__).parent).published.numbers for name in group.values]
    published = [int(name.removeprefix(SIZE)) for name in names if name.startswith(SIZE)]
    values: dict[str, float] = {}
    for run in fitting(HPCG, RUNS):
        ended = record(HPCG, run)
        found = of_sizes(ended.profile, published) if run.row == "sizes" else of_partners(ended.profile)
        values |= found
    write_originals("original-hpcg", HPCG, ended.version, values)


if __name__ == "__main__":
    main()
