"""Sizes of HPCG's messages: published, and sent by the bundled cg with 104³ points per rank.

    .venv/bin/python studies/hpcg-communication-patterns/sizes.py F.csv

Writes a table. The exit status is 3 if a published size is missing or an unpublished size occurs.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from common import ENVIRONMENT, HALOSCOPE

from haloscope import explain
from haloscope.reproduce.study import Reproduced, Tested, write_reproduced

RANKS, EDGE = 8, 104
PUBLISHED = (8, 104, 208, 416, 832, 1352, 5408, 21632, 86528)  # section 4, at Figure 3


def sent() -> pl.DataFrame:
    """Return `bytes` and `messages` of the set-up and one iteration."""
    cg = subprocess.run([HALOSCOPE, "where", "cg"], check=True, capture_output=True, text=True).stdout.strip()
    with tempfile.TemporaryDirectory() as name:
        profile = Path(name) / "cg.halo"
        watch = [HALOSCOPE, "run", "--quiet", "-o", profile, "--", "mpiexec", "-n", RANKS, cg]
        size = [word for axis in "xyz" for word in (f"--n{axis}", EDGE)]
        command = [*map(str, [*watch, *size]), "--iterations", "1"]
        subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True, text=True)
        sizes = explain.open(profile).table("sizes").filter(pl.col("kind") == "p2p")
    return sizes.group_by("bytes").agg(pl.col("messages").sum()).sort("bytes")


def main(file: Path) -> int:
    """Write the sent and the published sizes, and return 0 if they are equal."""
    published = pl.DataFrame({"bytes": PUBLISHED, "published": True})
    table = published.join(sent(), on="bytes", how="full", coalesce=True).sort("bytes")
    table = table.select("bytes", pl.col("published").fill_null(value=False), pl.col("messages").fill_null(0))
    table.write_csv(file)
    print(table)
    found = dict(table.filter(pl.col("messages") > 0).select("bytes", "messages").iter_rows())
    numbers = [
        Reproduced(
            f"message size {size}",
            size if size in found else None,
            "counted",
            why="" if size in found else "no such message",
        )
        for size in PUBLISHED
    ]
    others = sorted(set(found) - set(PUBLISHED))
    listed = ", ".join(map(str, others)) or "none"
    evidence = f"other sizes: {listed}; {sum(found.values())} messages of {RANKS} ranks"
    write_reproduced("sizes", numbers, [Tested("no other sizes", not others, evidence, "counted")])
    return 0 if (table["published"] & (table["messages"] > 0)).all() else 3


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("no file for the table: sizes.py F.csv")
    sys.exit(main(Path(sys.argv[1])))
