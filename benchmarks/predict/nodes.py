"""Errors of scaling models of real libraries' collectives at unmeasured numbers of ranks.

    python benchmarks/predict/nodes.py FILE.csv     # the table (nodes.csv)

`kept/nodes.parquet` has points of Open MPI and of MPICH on 8 emulated nodes of 8 ranks, with links of 200
Mbit/s. They are medians of `haloscope bench collective` on two cores, so ranks wait for cores and for links.
These commands measured them, as root, with the MPI first on PATH.

    export CLUSTER_NIC=200mbit OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
    export MPIR_CVAR_DEFAULT_THREAD_LEVEL=MPI_THREAD_MULTIPLE MPIR_CVAR_ENABLE_HEAVY_YIELD=1
    export MPIR_CVAR_POLLS_BEFORE_YIELD=1
    tools/cluster.sh up 8 8
    tools/cluster.sh exec 0 .venv/bin/haloscope bench collective bcast reduce allreduce \
        -n 2,4,8,16,24,32,48,64 -m 8,512,4096,32768,262144 -i 12 -x 3 -o nodes.jsonl
    tools/cluster.sh down
    python benchmarks/predict/kept/keep.py benchmarks/predict/kept nodes.jsonl

The machine is `kept/nodes.yaml`. MPICH's ranks yield their core only with MPI_THREAD_MULTIPLE; otherwise
points of 4 ranks take two seconds each. The fit uses 2 to 16 ranks, or every second size, or both. Errors are
computed at the other points, as for simulated networks (`extrapolation.py`).
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
# Names of the libraries' algorithms that differ from those of our schedules.
SCHEDULES = {(one, name): name for one in schedule.collectives() for name in schedule.algorithms(one)} | {
    ("bcast", "scatter_recursive_doubling_allgather"): "scatter_allgather",
    ("bcast", "scatter_ring_allgather"): "scatter_allgather_ring",
}


def libraries() -> list[str]:
    """Return the measured libraries."""
    return sorted(pl.read_parquet(DATA, columns=["library"])["library"].cast(pl.String).unique().to_list())


def points(library: str) -> pl.DataFrame:
    """Return the medians, with the columns of a sweep."""
    rows = pl.read_parquet(DATA).with_columns(pl.col("collective", "algorithm", "library").cast(pl.String))
    return as_measured(rows.filter(pl.col("library") == library), pl.col("algorithm"), pl.col("median"))


def results() -> Results:
    """Return the results of all libraries and splits."""
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
