"""Functions of all benchmarks: paired rounds, a median with its interval, one JSON object per line.

After Hoefler and Belli (doi 10.1145/2807591.2807644): the compared sides alternate in one run, and results
are medians with a 95 % bootstrap interval, never a minimum.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from haloscope import HaloscopeError
from haloscope.base.toolchain import toolchain

# Benchmark and case of each printed row.
EMITTED: set[tuple[str, str]] = set()

# Open MPI runs as root, such as in a container, only with these variables.
MPI_ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Ranks may share cores, and leave them to each other while they wait.
SHARED_CORES = MPI_ENVIRONMENT | {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}
HALOSCOPE = str(Path(sys.executable).with_name("haloscope"))


@dataclass(frozen=True)
class Estimate:
    """A median and the bounds of its 95 % interval."""

    median: float
    low: float
    high: float


@cache
def undisturbed() -> list[str]:
    """Return the command prefix that gives a rank priority over other programs, or none if not allowed.

    The priority is round-robin, because ranks on one core may wait for each other.
    """
    words = ["chrt", "--rr", "1"]
    try:
        allowed = subprocess.run([*words, "true"], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        allowed = False
    return words if allowed else []


def compile_c(source: Path, program: Path) -> None:
    """Compile a C program with the MPI whose compiler is found first."""
    compiler = toolchain().compiler.with_name("mpicc")
    subprocess.run([compiler, "-O1", source, "-o", program], check=True, env=MPI_ENVIRONMENT)


def profiling(output: Path, launch: Iterable[str] = (), *, quiet: bool = True) -> list[str]:
    """Return a launch command with the prefix that profiles it."""
    return [HALOSCOPE, "run", *["--quiet"] * quiet, "-o", str(output), "--", *launch]


def estimate(samples: ArrayLike, resamples: int = 2000) -> Estimate:
    """Return the median of `samples` and its percentile bootstrap interval (fixed seed)."""
    values: NDArray[np.float64] = np.asarray(samples, dtype=np.float64)
    random = np.random.default_rng(0)
    medians = np.median(random.choice(values, (resamples, values.size)), axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return Estimate(float(np.median(values)), float(low), float(high))


def emit(
    benchmark: str,
    case: str,
    *,
    ours: float,
    peer: float,
    peer_name: str,
    unit: str,
    ratio: Estimate,
    target: float | None = None,
) -> None:
    """Print one result. A larger `ratio` is better for us; the aim is met if it is at least `target`."""
    met = None if target is None else ratio.median >= target
    record = {
        "benchmark": benchmark,
        "case": case,
        "ours": round(ours, 3),
        "peer": round(peer, 3),
        "peer_name": peer_name,
        "unit": unit,
        "ratio": round(ratio.median, 3),
        "ci_low": round(ratio.low, 3),
        "ci_high": round(ratio.high, 3),
        "target": None if target is None else round(target, 3),
        "met": met,
    }
    EMITTED.add((benchmark, case))
    print(json.dumps(record), flush=True)


def emit_allowed(benchmark: str, case: str, taken: float, allowed: float, unit: str) -> None:
    """Print a measured value and its upper limit."""
    ratio = allowed / max(taken, 1e-9)
    emit(
        benchmark,
        case,
        ours=taken,
        peer=allowed,
        peer_name="allowed",
        unit=unit,
        ratio=Estimate(ratio, ratio, ratio),
        target=1.0,
    )


def run_topic(benchmark: str, topic: str) -> None:
    """Print all rows of a topic: a module with `measure()`, and with `CASES` if these are known in advance.

    Missing rows are printed with null values, the reason on standard error. An error affects no other topic.
    """
    before, cases, reason = set(EMITTED), [topic], "was not measured"
    try:
        module = import_module(topic)
        cases = list(getattr(module, "CASES", ()))
        module.measure()
    except Exception as error:
        reason = str(error) if isinstance(error, (HaloscopeError, ImportError)) else ""
        if not reason:
            traceback.print_exc()
            reason = f"{type(error).__name__}: {error}"
    left = [case for case in cases if (benchmark, case) not in EMITTED]
    if not left and set(EMITTED) == before:
        left = [topic]
    if left:
        print(f"bench-{benchmark}: {topic}: {len(left)} rows are missing: {reason}", file=sys.stderr)
    keys = ("ours", "peer", "peer_name", "unit", "ratio", "ci_low", "ci_high", "target", "met")
    for case in left:
        print(json.dumps({"benchmark": benchmark, "case": case} | dict.fromkeys(keys)), flush=True)


def between(document: Path, name: str) -> tuple[str, str, str]:
    """Split a document at the two marks of a benchmark: up to the first, between both, from the second on."""
    begin, end = f"<!-- bench-{name}: begin -->\n", f"<!-- bench-{name}: end -->"
    head, rest = document.read_text(encoding="utf-8").split(begin)
    middle, tail = rest.split(end)
    return head + begin, middle, end + tail


def put_between(document: Path, name: str, text: str) -> None:
    """Replace the text between the marks of a benchmark."""
    head, _, tail = between(document, name)
    document.write_text(f"{head}{text}{tail}", encoding="utf-8")


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write rows with the same keys as CSV."""
    found = list(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


def melt_of(steps: int) -> str:
    """Return the input of LAMMPS's melt of 4000 atoms."""
    return f"""\
units lj
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run {steps}
"""
