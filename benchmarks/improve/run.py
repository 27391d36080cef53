"""Improve: six programs with a planted problem, and six clean programs without a remedy.

    .venv/bin/python benchmarks/improve/run.py [NAME...]

First row: number of planted problems whose remedy is kept. Second row: number of these whose stated gain is
in the interval of fresh runs. Third row: clean programs without a proposal. Fourth row: maximum runs of a
program. The remedies of each program are printed on standard error. Use an idle machine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from common import MPI_ENVIRONMENT, emit, estimate, melt_of

from haloscope.base.building import build_application
from support.cluster import cluster, obstacle
from support.mpi import Mpi, find

HERE = Path(__file__).resolve().parent
ROUNDS = 5
MOST_RUNS = 25


@dataclass(frozen=True)
class Case:
    """A program, its launch, and a word of the remedy that must be kept; without a word, none may be kept."""

    name: str
    program: tuple[str, ...]
    ranks: int = 2
    remedy: str = ""
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    mpi: str = "openmpi-system"
    nodes: int = 0


CASES = (
    Case("spin", ("cg", "--iterations", "10"), 4, "yield", ("--mca", "mpi_yield_when_idle", "0")),
    Case(
        "segments",
        ("broadcast", "50"),
        2,
        "coll_tuned",
        environment={
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_bcast_algorithm": "3",
            "OMPI_MCA_coll_tuned_bcast_algorithm_segmentsize": "64",
        },
    ),
    Case("one core", ("compute", "20"), 2, "cpu", ("--bind-to", "core", "--mca", "hwloc_base_cpu_list", "0")),
    Case(
        "eager",
        ("messages", "200000"),
        2,
        "eager",
        environment={"OMPI_MCA_btl_vader_eager_limit": "4000", "OMPI_MCA_btl_vader_flags": "1"},
    ),
    Case("mapping", ("apart", "200"), 4, "nodes", nodes=2),
    Case("polling", ("ring", "200"), 4, "poll", mpi="mpich-wheel"),
    Case("clean cg", ("cg",)),
    Case("clean sweep", ("sweep",)),
    Case("clean LAMMPS", ("lmp",)),
    Case("clean broadcast", ("broadcast", "500")),
    Case("clean compute", ("compute", "20")),
    Case("clean messages", ("short", "200000")),
)


def main() -> None:
    """Print the rows of the cases that are named, of all by default."""
    chosen = [case for case in CASES if case.name in sys.argv[1:] or len(sys.argv) < 2]
    with tempfile.TemporaryDirectory(prefix="haloscope-improve-") as directory:
        results = {case.name: _tried(case, Path(directory)) for case in chosen}
    planted = [results[case.name] for case in chosen if case.remedy]
    fixed = [
        any(case.remedy in name for name in results[case.name]["kept"]) for case in chosen if case.remedy
    ]
    clean = [not results[case.name]["kept"] for case in chosen if not case.remedy]
    _row("planted remedies that are kept", sum(fixed), len(fixed), 5)
    _row("stated gains inside the interval of fresh runs", sum(map(_agrees, planted)), len(planted), 5)
    _row("clean programs that nothing is proposed for", sum(clean), len(clean), 6)
    most = max((one["runs"] for one in results.values()), default=0)
    emit(
        "improve",
        "runs of a program, at most",
        ours=most,
        peer=MOST_RUNS,
        peer_name="allowed",
        unit="runs",
        ratio=estimate([MOST_RUNS / max(most, 1)]),
        target=1.0,
    )


def _row(case: str, ours: int, cases: int, aim: int) -> None:
    if cases:
        ratio = estimate([ours / aim])
        emit(
            "improve", case, ours=ours, peer=cases, peer_name="all", unit="programs", ratio=ratio, target=1.0
        )


def _agrees(result: Mapping[str, Any]) -> bool:
    if "fresh" not in result:
        return False
    _, low, high = result["fresh"]
    return bool(low <= result["gain"][0] <= high)


def _tried(case: Case, directory: Path) -> dict[str, Any]:
    mpi = find(case.mpi)
    reason = (obstacle() if case.nodes else None) or (None if mpi else f"no {case.mpi}")
    program = None if mpi is None else _program(case, mpi, directory)
    if reason or mpi is None or program is None:
        print(f"bench-improve: {case.name}: {reason or 'the program is not installed'}", file=sys.stderr)
        return {"kept": [], "runs": 0}
    command = [sys.executable, str(HERE / "trial.py"), str(ROUNDS), str(mpi.mpiexec), *case.options]
    command += ["-n", str(case.ranks), *program]
    if case.nodes:
        os.environ["CLUSTER_NIC"] = "1gbit"
        with cluster(case.nodes, case.ranks // case.nodes) as nodes:
            done = nodes.run(mpi, command, env=case.environment, cwd=directory, status=None)
    else:
        # The variables that tests set for MPICH are the remedy here, so they are not set.
        environment = {**MPI_ENVIRONMENT, "OMPI_MCA_rmaps_base_oversubscribe": "1", **case.environment}
        environment["PATH"] = f"{mpi.mpicc.parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            command, env=environment, cwd=directory, capture_output=True, text=True, timeout=1800, check=False
        )
    if done.returncode:
        print(f"bench-improve: {case.name}: {done.stderr.strip()[-500:]}", file=sys.stderr)
        return {"kept": [], "runs": 0}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"bench-improve: {case.name}: {json.dumps(result)}", file=sys.stderr, flush=True)
    return result


def _program(case: Case, mpi: Mpi, directory: Path) -> Sequence[str] | None:
    name, *rest = case.program
    if name == "lmp":
        (directory / "in.melt").write_text(melt_of(200))
        return ["lmp", "-in", str(directory / "in.melt"), "-log", "none"] if shutil.which("lmp") else None
    if name in ("cg", "sweep"):
        procs = ["--procs", f"{case.ranks},1,1"]
        return [str(build_application(name, quiet=True)), *procs, *rest]
    made = directory / f"peers-{mpi.name}"
    subprocess.run([mpi.mpicc, "-O2", HERE / "peers.c", "-o", made], check=True)
    return [str(made), *case.program]


if __name__ == "__main__":
    main()
