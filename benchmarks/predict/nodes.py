"""How far laws of real libraries' collectives are off at numbers of ranks that were not measured.

    python benchmarks/predict/nodes.py FILE.csv     # the table (nodes.csv)

`kept/nodes.parquet` has points of Open MPI and of MPICH on 8 emulated nodes of 8 ranks, with links of
200 Mbit/s: medians of `haloscope bench collective` on two cores: ranks wait for cores as well as for links.
As root, with the MPI first on PATH,

    export CLUSTER_NIC=200mbit OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
    export MPIR_CVAR_DEFAULT_THREAD_LEVEL=MPI_THREAD_MULTIPLE MPIR_CVAR_ENABLE_HEAVY_YIELD=1
    export MPIR_CVAR_POLLS_BEFORE_YIELD=1
    tools/cluster.sh up 8 8
    tools/cluster.sh exec 0 .venv/bin/haloscope bench collective bcast reduce allreduce \
        -n 2,4,8,16,24,32,48,64 -m 8,512,4096,32768,262144 -i 12 -x 3 -o nodes.jsonl
    tools/cluster.sh down
    python benchmarks/predict/kept/keep.py benchmarks/predict/kept nodes.jsonl

made them; the machine is `kept/nodes.yaml`. MPICH's ranks give their core to others only where threads may
call it: without, points of 4 ranks take two seconds each. Known are 2 to 16 ranks, or every second size, or
both; others are judged, as those of simulated networks are (`extrapolation.py`).
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import write_rows
from extrapolation import HERE, SPLITS, Nearest, Results, as_measured, judge_split, parted, rows

from haloscope import predict
from haloscope.predict import CollectiveLaws, schedule

DATA, MACHINE = HERE / "kept" / "nodes.parquet", HERE / "kept" / "nodes.yaml"
MOST_SEEN = 16
# The libraries' names are those of our schedules, but for these.
SCHEDULES = {(one, name): name for one in schedule.collectives() for name in schedule.algorithms(one)} | {
    ("bcast", "scatter_recursive_doubling_allgather"): "scatter_allgather",
    ("bcast", "scatter_ring_allgather"): "scatter_allgather_ring",
}


def libraries() -> list[str]:
    """Those that were measured."""
    return sorted(pl.read_parquet(DATA, columns=["library"])["library"].cast(pl.String).unique().to_list())


def points(library: str) -> pl.DataFrame:
    """The medians, as laws take them."""
    rows = pl.read_parquet(DATA).with_columns(pl.col("collective", "algorithm", "library").cast(pl.String))
    return as_measured(rows.filter(pl.col("library") == library), pl.col("algorithm"), pl.col("median"))


def results() -> Results:
    """Of all libraries and splits."""
    machine = predict.load_machine(MACHINE)
    found: Results = {}
    for library in libraries():
        measured = points(library)
        for split in SPLITS:
            seen, unseen = parted(measured, split, MOST_SEEN)
            laws, named = CollectiveLaws.of(seen, machine), f"{library}: {split}"
            judge_split(named, laws, Nearest(seen), machine, unseen, found, schedules=SCHEDULES)
    return found


if __name__ == "__main__":
    judged = results()
    write_rows(Path(sys.argv[1]), rows(judged, list(dict.fromkeys(split for split, _ in judged))))
