"""Whether the recorder changes how programs end, over many programs that end at random times.

A program (survive.c) is killed, gets SIGTERM or SIGABRT at a random time, calls MPI_Abort, exit or _exit
after a random number of messages, or ends normally. Its exit status and its output are compared with those
without a recorder. Most programs are profiled by `haloscope env`, then `haloscope recover` for a batch of
them; some run under `haloscope run`. Afterwards no live records, files or processes may exist, and all
profiles must be complete.

    survival.py --runs 10000 [--launched 300] [--under-run 200] [--mpicc mpicc.mpich --mpiexec mpiexec.mpich]

Prints a JSON object per line; the exit status is 1 if anything differs. `ends` counts profiled programs by
their kind of end, `bare` those without a recorder for comparison. `odd` counts ends that Open MPI itself
gives to aborted programs, with and without a recorder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from soak import BY_CALL, BY_SIGNAL, Expected, Soak, left_processes, references, soak_alone, soak_launched

from haloscope.base.launcher import report_toolchain

HERE = Path(__file__).resolve().parent
SHARED = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None

# Name, launch prefix of the program, number of programs, and whether they run under `haloscope run`.
Part = tuple[str, Sequence[str], int, bool]


def merged(parts: Sequence[Expected]) -> Expected:
    """Return the union of the ends in `parts`."""
    return {how: set().union(*(part.get(how, set()) for part in parts)) for part in parts for how in part}


def measure(part: Part, options: argparse.Namespace, scratch: Path, known: Expected) -> dict[str, object]:
    """Return the results of a part, which is distributed over parallel jobs with a directory each.

    `known` stores the ends of launched programs without a recorder, for the following parts.
    """
    name, launcher, runs, under = part
    jobs = range(min(options.jobs, runs))
    soaks = [
        Soak(
            Path(tempfile.mkdtemp(dir=scratch)),
            scratch / "survive",
            launcher,
            Path(tempfile.mkdtemp(prefix="survival-", dir=SHARED)),
            options.ways.split(","),
            options.prints_aborts,
        )
        for _ in jobs
    ]
    for soak in soaks:
        soak.watch()
    begin = time.monotonic()
    with ThreadPoolExecutor(len(soaks)) as pool:
        longest = max(pool.map(Soak.longest_time, soaks))
        if launcher and not known:
            bare = [-(-options.references // len(soaks)), longest]
            known |= merged(
                list(pool.map(lambda job: references(soaks[job], options.seed - 1 - job, *bare), jobs))
            )

        def go(job: int) -> None:
            count = runs // len(soaks) + (job < runs % len(soaks))
            seed = options.seed + 1000 * job
            prefix = soaks[job].under_run() if under else []
            if launcher:
                soak_launched(soaks[job], count, seed, longest, known, prefix)
            else:
                soak_alone(soaks[job], count, seed, longest, prefix)
            soaks[job].live.rmdir()

        list(pool.map(go, jobs))
    return {
        "benchmark": "survival",
        "case": name,
        "mpi": options.mpicc,
        "runs": runs,
        "ends": dict(sum((soak.ends for soak in soaks), Counter())),
        "bare": sum(soak.bare for soak in soaks),
        "hung": sum(soak.hung for soak in soaks),
        "odd": dict(sum((soak.odd for soak in soaks), Counter())),
        "differing": [line for soak in soaks for line in soak.differing][:20],
        "profiles": sum(soak.profiles for soak in soaks),
        "recovered": sum(soak.recovered for soak in soaks),
        "longest": round(longest, 3),
        "processes_left": [number for soak in soaks for number in left_processes(soak.directory)],
        "seconds": round(time.monotonic() - begin, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--launched", type=int, default=300)
    parser.add_argument("--under-run", type=int, default=200)
    parser.add_argument("--ways", default=",".join(BY_SIGNAL + BY_CALL), help="kinds of ends")
    parser.add_argument("--references", type=int, default=20, help="runs without a recorder per kind of end")
    parser.add_argument("--jobs", type=int, default=1, help="programs that run at the same time")
    tools = report_toolchain()
    parser.add_argument("--mpicc", default=str(tools.compiler.with_name("mpicc")))
    parser.add_argument("--mpiexec", default=str(tools.launcher))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    launcher = subprocess.run(
        [options.mpiexec, "--version"], check=True, capture_output=True, text=True
    ).stdout
    options.prints_aborts = "Open" in launcher
    bad = False
    known: Expected = {}
    with tempfile.TemporaryDirectory(prefix="survival-") as name:
        scratch = Path(name)
        compile_it = [options.mpicc, "-O1", str(HERE / "survive.c"), "-lpthread"]
        subprocess.run([*compile_it, "-o", str(scratch / "survive")], check=True)
        two = [options.mpiexec, "-n", "2"]
        parts: list[Part] = [
            ("alone", [], options.runs, False),
            ("two ranks", two, options.launched, False),
            ("alone, under run", [], options.under_run, True),
            ("two ranks, under run", two, options.under_run // 4, True),
        ]
        for part in parts:
            if part[2]:
                seen = measure(part, options, scratch, known)
                bad = bad or bool(seen["differing"] or seen["processes_left"])
                print(json.dumps(seen), flush=True)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
