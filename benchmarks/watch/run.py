"""Cost of profiling per call: nanoseconds added, compared with one `clock_gettime` of the same run.

One rank sends to itself (calls.c), alternately with and without the recorder. A round is one process of each;
the difference of their medians is one sample, in nanoseconds per call. `ratio` is clock_gettime ÷ added time.
A marker without the recorder shall cost under 2 ns. Further rows:

* `watch-stamps`: the lower bound, a library that only stamps every call (stamps.c).
* `watch-callsites`: added by call sites to a recorded call: one frame, eight frames, Python (`allreduce.py`).
* `watch-phases`: added by the search for iterations.
* `watch-trace`: added by a trace. For a region, it is per call in the region.
* `watch-gpus`: added by the check for a GPU's runtime in a process without one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cg import measure as measure_cg
from common import MPI_ENVIRONMENT, Estimate, emit, estimate
from markers import measure as measure_markers
from parts import measure as measure_part

from haloscope.base.launcher import report_toolchain

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
CLOCK = "clock_gettime"
TIMED = "Isend or Irecv of 8 KiB"
HALO = "region of 12 Irecv, 12 Isend, Waitall"

# Allowed cost in units of one clock_gettime: with all statistics, times of small posts are sampled.
ALLOWED = {
    "Isend or Irecv of 8 B": 0.6,
    TIMED: 1.3,
    "Wait": 1.3,
    "Send": 1.3,
    "Recv": 1.3,
    "Test that finds nothing": 0.2,
    "Testall that finds nothing": 0.2,
    "Iprobe that finds nothing": 0.2,
    "Allreduce": 1.3,
    "empty region": 1.6,
    HALO: 15.0,
}
ALLOWED_EXACT = {HALO: 32.0}
# Call sites may add to each call: one clock_gettime with one frame, 1000 ns with eight, 2000 ns in Python.
SITES = "-callsites"
SITES_8 = "-callsites-8"
PHASES = "-phases"
TRACE = "-trace"
HALO_CALLS = 25
WITHOUT_PHASES = "-without-phases"
IN_PYTHON = "Allreduce of mpi4py"
PYTHON_CALLS = 4  # its calls of MPI: Comm_test_inter, Type_get_extent_x twice, Allreduce

Times = dict[str, float]


@dataclass(frozen=True)
class Bench:
    """The compiled program and the launch of one rank."""

    program: Path
    stamps: Path
    launch: list[str]

    def python(self, prefix: list[str], calls: int) -> float:
        """Return the nanoseconds of an Allreduce of mpi4py."""
        command = [*prefix, *self.launch, sys.executable, str(HERE / "allreduce.py"), str(calls)]
        done = subprocess.run(
            command, env=MPI_ENVIRONMENT, check=True, capture_output=True, text=True, timeout=600
        )
        return float(done.stdout)

    def run(self, prefix: list[str], calls: int, *, stamped: bool = False) -> Times:
        preloaded = ["env", f"LD_PRELOAD={self.stamps}"] if stamped else []
        command = [*prefix, *self.launch, *preloaded, str(self.program), str(calls)]
        done = subprocess.run(
            command, env=MPI_ENVIRONMENT, check=True, capture_output=True, text=True, timeout=600
        )
        lines = [line.rsplit(" ", 1) for line in done.stdout.splitlines()]
        return {name: float(value) for name, value in lines}


def build(directory: Path) -> Bench:
    tools = report_toolchain()
    program, stamps = directory / "calls", directory / "stamps.so"
    compile_it = [str(tools.compiler.with_name("mpicc")), "-O2", f"-I{INCLUDE}"]
    subprocess.run([*compile_it, str(HERE / "calls.c"), "-o", str(program)], check=True)
    shared = ["-shared", "-fPIC", str(HERE / "stamps.c"), "-o", str(stamps)]
    subprocess.run([*compile_it, *shared], check=True)
    return Bench(program, stamps, [str(tools.launcher), "-n", "1"])


def watched(directory: Path, *options: str) -> list[str]:
    command = Path(sys.executable).with_name("haloscope")
    output = str(directory / "bench.halo")
    return [str(command), "run", "--quiet", "-o", output, *options, "--"]


def report(case: str, bare: list[Times], ours: list[Times], allowed: dict[str, float]) -> dict[str, float]:
    """Emit the cost of each case; return the medians, nanoseconds."""
    samples: dict[str, list[float]] = defaultdict(list)
    for without, with_us in zip(bare, ours, strict=True):
        for name in without:
            samples[name].append(with_us[name] - without[name])
    clock = estimate([times[CLOCK] for times in bare]).median
    for name, added in samples.items():
        if name != CLOCK:
            emit_cost(f"watch{case}", name, estimate(added), clock, allowed.get(name))
    return {name: estimate(added).median for name, added in samples.items()}


def report_added(kind: str, results: dict[str, list[Times]], clock: float, allowed: float | None) -> None:
    """Emit the cost of each call in addition to plain profiling."""
    for name in ALLOWED:
        if "region" not in name:
            added = [a[name] - b[name] for a, b in zip(results[kind], results[""], strict=True)]
            emit_cost(f"watch{kind}", name, estimate(added), clock, allowed)


def report_trace(results: dict[str, list[Times]], clock: float) -> None:
    """Emit the time that a trace adds to each call. The limit is two clock reads."""
    report_added(TRACE, results, clock, 2.0)
    pairs = zip(results[TRACE], results[""], strict=True)
    emit_cost(
        f"watch{TRACE}",
        f"{HALO}, each call",
        estimate([(a[HALO] - b[HALO]) / HALO_CALLS for a, b in pairs]),
        clock,
        2.0,
    )


def measure_trace(bench: Bench, kinds: dict[str, list[str]], options: argparse.Namespace) -> None:
    """Measure and emit only the time that a trace adds."""
    results: dict[str, list[Times]] = {kind: [] for kind in kinds}
    for _ in range(options.rounds):
        for kind, prefix in kinds.items():
            results[kind].append(bench.run(prefix, options.calls))
    report_trace(results, estimate([times[CLOCK] for times in results["bare"]]).median)


def report_sites(results: dict[str, list[Times]], python: dict[str, list[float]], clock: float) -> None:
    """Emit the time that call sites add to recorded calls."""
    for kind, allowed in ((SITES, 1.0), (SITES_8, 1000 / clock)):
        report_added(kind, results, clock, allowed)
        added = [(a - b) / PYTHON_CALLS for a, b in zip(python[kind], python[""], strict=True)]
        emit_cost(f"watch{kind}", IN_PYTHON, estimate(added), clock, 2000 / clock)


def emit_cost(benchmark: str, case: str, cost: Estimate, clock: float, allowed: float | None) -> None:
    """Emit a row. Times below a thousandth of a nanosecond count as this."""
    median, low, high = (max(value, 1e-3) for value in (cost.median, cost.low, cost.high))
    ratio = Estimate(clock / median, clock / high, clock / low)
    target = None if allowed is None else 1 / allowed
    emit(
        benchmark, case, ours=cost.median, peer=clock, peer_name=CLOCK, unit="ns", ratio=ratio, target=target
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="processes of each kind")
    parser.add_argument("--calls", type=int, default=2000, help="calls per case and round")
    parser.add_argument("--only", choices=["trace"], help="measure only the cost of a trace")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        bench = build(directory)
        kinds = {
            "bare": [],
            "": watched(directory),
            "-exact": ["env", "HALOSCOPE_EXACT_TIMES=1", *watched(directory)],
            SITES: watched(directory, "--callsites"),
            SITES_8: watched(directory, "--callsites", "--depth", "8"),
            WITHOUT_PHASES: ["env", "HALOSCOPE_PHASES=0", *watched(directory)],
            TRACE: watched(directory, "--trace"),
        }
        if options.only:
            measure_trace(bench, {kind: kinds[kind] for kind in ("bare", "", TRACE)}, options)
            return
        python: dict[str, list[float]] = {kind: [] for kind in ("", SITES, SITES_8)}
        results: dict[str, list[Times]] = {kind: [] for kind in [*kinds, "-stamps"]}
        for _ in range(options.rounds):
            for kind, prefix in kinds.items():
                results[kind].append(bench.run(prefix, options.calls))
            for kind, times in python.items():
                times.append(bench.python(kinds[kind], options.calls))
            results["-stamps"].append(bench.run([], options.calls, stamped=True))
        markers = estimate([times["empty region"] / 2 for times in results["bare"]])
        clock = estimate([times[CLOCK] for times in results["bare"]]).median
        emit_cost("watch-not-watched", "marker", markers, clock, 2.0 / clock)
        costs = report("", results["bare"], results[""], ALLOWED)
        report("-exact-times", results["bare"], results["-exact"], ALLOWED_EXACT)
        report("-stamps", results["bare"], results["-stamps"], {})
        report_sites(results, python, clock)
        report_added(PHASES, {PHASES: results[""], "": results[WITHOUT_PHASES]}, clock, None)
        report_trace(results, clock)
        prices = {"call": costs[TIMED], "region": costs["empty region"]}
        measure_cg(kinds[""], directory / "bench.halo", prices, options.rounds)
    measure_markers(options.rounds, options.calls)
    measure_part("gpus", options.rounds, options.calls)


if __name__ == "__main__":
    main()
