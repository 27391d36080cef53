"""`haloscope.history` over many profiles: its cost, and the error rates of suspect hosts.

Profiles are those of a real run of the bundled cg, with the `info` of a synthetic year (years.py): 10 000
files in 100 directories, which are in the page cache. Seconds and memory are those of a process that reads
them, in addition to a process that only starts. Errors are counted over synthetic years of 40 hosts and 2000
runs. If all hosts are equal, it is the share of years in which a host is suspect, or has p ≤ 5 %. If one host
is slow, it is the share of years in which this host is found.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import polars as pl
from common import MPI_ENVIRONMENT, Estimate, emit
from years import year

from haloscope import explain
from haloscope.base.launcher import report_toolchain
from support.profiles import seal

SECONDS, MEGABYTES, FALSE_ALARMS, FOUND = 5.0, 200.0, 0.05, 0.8
SLOW = (0.05, 0.1, 0.2)
MEASURE = """\
import resource, sys, time
import haloscope
import polars
from haloscope.explain import read_history
before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
found = read_history(sys.argv[1])
seconds = time.perf_counter() - begin
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(seconds, (after - before) / 1024, len(found.frame), len(found.unreadable))
"""


def recorded(directory: Path) -> bytes:
    """Return a profile of the bundled solver."""
    command = Path(sys.executable).with_name("haloscope")
    cg = subprocess.run([command, "where", "cg"], capture_output=True, text=True, check=True).stdout.strip()
    path = directory / "cg.halo"
    launch = [str(report_toolchain().launcher), "-n", "2", cg, "--nx", "8", "--ny", "8", "--nz", "8"]
    words = [str(command), "run", "--quiet", "-o", str(path), "--", *launch, "--iterations", "5"]
    subprocess.run(words, env=MPI_ENVIRONMENT, check=True, capture_output=True)
    return path.read_bytes()


def with_info(profile: bytes, info: Mapping[str, Any]) -> bytes:
    """Return the profile with different information."""
    start, length = (int.from_bytes(profile[at : at + 8], "little") for at in (-32, -24))
    content = json.loads(profile[start : start + length])
    content["info"] |= info
    return seal(profile[:start], json.dumps(content, separators=(",", ":")).encode())


def write_year(directory: Path, frame: pl.DataFrame, profile: bytes) -> None:
    for number, row in enumerate(frame.iter_rows(named=True)):
        roll_up = {name: row.pop(name) for name in ("host_names", "host_compute")}
        ranks = row["ranks"] // row["hosts"]
        roll_up |= {
            "hosts": row["hosts"],
            "host_ranks": [ranks] * row["hosts"],
            "rank_time": 1.0,
            "mpi_time": 0.5,
        }
        folder = directory / f"{number % 100:02}"
        folder.mkdir(exist_ok=True)
        (folder / row.pop("profile")).write_bytes(with_info(profile, row | {"rollup": roll_up}))


def report(case: str, ours: float, allowed: float, unit: str, least: bool = False) -> None:
    """Print a value and its upper limit, or its lower limit if `least`."""
    ratio = ours / allowed if least else allowed / max(ours, 1e-9)
    emit(
        "history",
        case,
        ours=ours,
        peer=allowed,
        peer_name="at least" if least else "at most",
        unit=unit,
        ratio=Estimate(ratio, ratio, ratio),
        target=1.0,
    )


def read(runs: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch) / "year"
        top.mkdir()
        write_year(top, year(0, runs), recorded(Path(scratch)))
        results = []
        for _ in range(3):
            done = subprocess.run(
                [sys.executable, "-c", MEASURE, top], capture_output=True, text=True, check=True
            )
            results.append([float(word) for word in done.stdout.split()])
        seconds, megabytes, rows, bad = sorted(results)[1]
        assert (rows, bad) == (runs, 0)
    report(f"history of {runs} profiles", seconds, SECONDS * runs / 10_000, "s")
    report(f"memory for {runs} profiles", megabytes, MEGABYTES, "MiB")


def judge(years: int) -> None:
    suspects = alarms = 0
    for seed in range(years):
        hosts = explain.find_suspect_hosts(year(seed, 2000, 40))
        suspects += bool(hosts["suspect"].any())
        alarms += bool((hosts["p_value"] <= FALSE_ALARMS).any())
    report("years with a suspect host, all alike", suspects / years, FALSE_ALARMS, "of 1")
    report("years with p of 5 % or less, all alike", alarms / years, FALSE_ALARMS, "of 1")
    for by in SLOW:
        found = covered = others = 0
        for seed in range(years // 4):
            hosts = explain.find_suspect_hosts(year(seed, 2000, 40, slow={7: by}))
            slow = hosts.row(by_predicate=pl.col("host") == "n007", named=True)
            found += slow["suspect"]
            covered += slow["slowdown_low"] <= by <= slow["slowdown_high"]
            others += hosts.filter(pl.col("suspect") & (pl.col("host") != "n007")).height
        report(f"a host slower by {by:.0%} is found", found / (years // 4), FOUND, "of 1", least=True)
        report(f"its interval holds {by:.0%}", covered / (years // 4), FOUND, "of 1", least=True)
        report(
            f"others are suspect beside one slower by {by:.0%}", others / (years // 4), FALSE_ALARMS, "a year"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--years", type=int, default=400)
    given = parser.parse_args()
    read(given.runs)
    judge(given.years)


if __name__ == "__main__":
    main()
