"""How far laws of a real library's collectives are off at numbers of ranks that were not measured.

    python benchmarks/predict/nodes.py [docs/benchmarks.md]     # with it: its table, made anew

`kept/nodes.parquet` has points of Open MPI on 8 emulated nodes of 8 ranks, with links of 200 Mbit/s:
medians of `haloscope bench collective` on two cores: ranks wait for cores as well as for links. As root,

    export CLUSTER_NIC=200mbit OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
    tools/cluster.sh up 8 8
    tools/cluster.sh exec 0 .venv/bin/haloscope bench collective bcast reduce allreduce \
        -n 2,4,8,16,24,32,48,64 -m 8,512,4096,32768,262144 -i 12 -x 3 -o nodes.jsonl
    tools/cluster.sh down
    python benchmarks/predict/kept/keep.py benchmarks/predict/kept nodes.jsonl

made them; the machine is `kept/nodes.yaml`. Known are 2 to 16 ranks, or every second size, or both; others
are judged, as those of simulated networks are (`extrapolation.py`).
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import put_between
from extrapolation import HERE, SPLITS, Nearest, Results, as_measured, judge_split, lines, parted

from haloscope import predict
from haloscope.predict import Laws, schedule

DATA, MACHINE = HERE / "kept" / "nodes.parquet", HERE / "kept" / "nodes.yaml"
MOST_SEEN = 16
# The library's names are those of our schedules.
SCHEDULES = {(one, name): name for one in schedule.collectives() for name in schedule.algorithms(one)}


def points() -> pl.DataFrame:
    """The medians, as laws take them."""
    rows = pl.read_parquet(DATA).with_columns(pl.col("collective", "algorithm").cast(pl.String))
    return as_measured(rows, pl.col("algorithm"), pl.col("median"))


def results() -> Results:
    """Of all splits."""
    measured, machine = points(), predict.load_machine(MACHINE)
    found: Results = {}
    for split in SPLITS:
        seen, unseen = parted(measured, split, MOST_SEEN)
        laws = Laws.of(seen, machine)
        judge_split(split, laws, Nearest(seen), machine, unseen, found, schedules=SCHEDULES)
    return found


if __name__ == "__main__":
    table = "".join(lines(results(), SPLITS))
    if len(sys.argv) == 2:
        put_between(Path(sys.argv[1]), "nodes", table)
    else:
        print(table)
