"""Cost of simulations and formulas: allowed seconds and memory, divided by the measured ones.

Each case runs once, because of the time limit of `make bench`. Computing takes no simulated time. The
program's collectives are Open MPI's and, for comparison, SMPI's own simple ones, which simulate faster. The
replay uses the simple ones, except for reductions, which use trees. With a root that receives all messages
itself, SimGrid's time grows with the square of the ranks: 704 s for 16384.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import emit_allowed
from extrapolation import HERE, points_of

from haloscope import predict
from haloscope.predict import CollectiveLaws, schedule

HALOSCOPE = Path(sys.executable).with_name("haloscope")
CG = ("cg", "--nx", "16", "--ny", "16", "--nz", "16", "--iterations", "1")
COMMON = ("--platform", "torus", "--compute-factor", "0")
SIMPLE = ("--collectives", "smpi")
TREES = ("--collectives", "smpi,allreduce=redbcast,reduce=binomial,bcast=binomial_tree")
PROGRAM = "simulate cg, 1024 ranks on a torus, Open MPI's collectives"
QUICKER = "simulate cg, 1024 ranks on a torus, simple collectives"
MEMORY = "simulate cg, 1024 ranks, memory"
REPLAY = "replay a pattern of cg without preconditioner, 4096 ranks on a torus"
MOST = "the same, 16384 ranks"
MOST_MEMORY = "the same, 16384 ranks, memory"
MILLION = 10**6
FORMULA = "model of a binomial bcast by Hockney, a million ranks"
SLOWEST = "the slowest one of bcast and reduce by Hockney, a million ranks"
LAWS = "model of all algorithms of five collectives by laws, a million ranks"
CASES = (PROGRAM, QUICKER, MEMORY, REPLAY, MOST, MOST_MEMORY, FORMULA, SLOWEST, LAWS)


def measure() -> None:
    """Print all rows."""
    if not (shutil.which("smpirun") and shutil.which("smpicxx")):
        raise RuntimeError("no SimGrid: apt-get install libsimgrid-dev")
    with tempfile.TemporaryDirectory() as name:
        output, small = str(Path(name) / "out.halo"), str(Path(name) / "small.halo")
        _simulate(30, "-n", "8", "-o", small, *CG, "--smoother", "none")  # compiles
        many = ("-n", "1024", "-o", output)
        emit_allowed("predict", PROGRAM, _simulate(300, *many, *CG), 120, "s")
        emit_allowed("predict", QUICKER, _simulate(300, *SIMPLE, *many, *CG), 120, "s")
        emit_allowed("predict", MEMORY, _most_memory(), 8192, "MiB")
        for case, ranks in ((REPLAY, 4096), (MOST, 16384)):
            words = ("-n", str(ranks), "-o", output, small)
            emit_allowed("predict", case, _simulate(300, *TREES, *words), 300, "s")
        emit_allowed("predict", MOST_MEMORY, _most_memory(), 8192, "MiB")  # the maximum of all runs until now
    formulas()


def formulas() -> None:
    """Print the cost of models for a million ranks."""
    level = {"name": "all", "cores": 1 << 20, "latency": "1 us", "bandwidth": "10 GB/s"}
    described = {"name": "million", "levels": [level], "arithmetic": "5 GB/s"}
    machine = predict.Machine.model_validate(described)
    took = {}
    for collective in ("bcast", "reduce"):
        for name in schedule.algorithms(collective):
            begin = time.perf_counter()
            predict.model(machine, collective, [name], [MILLION], [8192], formula="hockney")
            took[collective, name] = time.perf_counter() - begin
    emit_allowed("predict", FORMULA, took["bcast", "binomial"], 1, "s")
    emit_allowed("predict", SLOWEST, max(took.values()), 1, "s")
    laws = CollectiveLaws.of(points_of("torus"), predict.load_machine(HERE / "kept" / "torus.yaml"))
    begin = time.perf_counter()
    for collective in laws.collectives:
        for way in laws.list_ways(collective):
            laws.estimate(way, MILLION, 8192)
    emit_allowed("predict", LAWS, time.perf_counter() - begin, 1, "s")


def _most_memory() -> float:
    """Return MiB of the largest child process until now."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def _simulate(limit: float, *words: str) -> float:
    """Simulate, and return the seconds. More than `limit` seconds are an error."""
    begin = time.monotonic()
    command = [str(HALOSCOPE), "simulate", *COMMON, *words]
    environment = {**os.environ, "HALOSCOPE_TIME_LIMIT": str(limit)}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return time.monotonic() - begin
