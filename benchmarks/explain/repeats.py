"""How often `haloscope.history` finds a slow host among real runs, and reports one if there is none.

The bundled applications run alternately, each twice on a host called `quick` and once on one called `slow`.
Names are set by `unshare --uts`, which needs root. On `slow` all ranks are stopped for a part of the time.
The profiles are real except for the day of each round, because runs of one day on one host count as one. Sets
of pairs are drawn from these runs. For false alarms, the two runs on `quick` get random host names. For
detection, one of them is paired with the run on `slow`.

    repeats.py [--rounds 12] [--sets 100] [--slower 0.15]
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from common import MPI_ENVIRONMENT, Estimate, emit, undisturbed
from stopped import STOPPED

import haloscope
from haloscope import explain
from haloscope.base.launcher import report_toolchain

WRAPPER = Path(__file__).with_name("stopped.py")
COMMAND = str(Path(sys.executable).with_name("haloscope"))
DAY = 86400.0
FALSE_ALARMS, FOUND = 0.05, 0.8
PROGRAMS = [
    ("cg", ["--nx", "32", "--ny", "32", "--nz", "32", "--iterations", "300"]),
    ("cg", ["--nx", "64", "--ny", "64", "--nz", "32", "--iterations", "60"]),
    ("sweep", ["--procs", "2,1,1", "--zones", "24,24,24", "--niter", "12"]),
]
RENAMED = 'hostname "$0" && exec "$@"'


def run(host: str, program: list[str], part: float, profile: Path) -> None:
    """Record one run on a host of that name, with the same command on all hosts."""
    rank = [*undisturbed(), sys.executable, str(WRAPPER), *program]
    ranks = [str(report_toolchain().launcher), "-n", "2", *rank]
    recorded = [COMMAND, "run", "--quiet", "-o", str(profile), "--", *ranks]
    subprocess.run(
        ["unshare", "--uts", "sh", "-c", RENAMED, host, *recorded],
        env=MPI_ENVIRONMENT | {STOPPED: str(part), "HALOSCOPE_PHASES": "0"},
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=600,
    )


def record(directory: Path, programs: list[list[str]], rounds: int, part: float) -> pl.DataFrame:
    """Return the history of all runs with `round` and `turn`: 0 and 1 on `quick`, 2 on `slow`."""
    chance = random.Random(0)
    for number in range(rounds):
        cases = [(turn, program) for turn in range(3) for program in programs]
        chance.shuffle(cases)
        for turn, program in cases:
            profile = directory / f"{number}-{turn}-{programs.index(program)}.halo"
            run("slow" if turn == 2 else "quick", program, part if turn == 2 else 0.0, profile)
    names = pl.col("profile").str.split("/").list.last().str.split("-")
    return haloscope.history(directory).with_columns(
        names.list.get(0).cast(pl.Int64).alias("round"),
        names.list.get(1).cast(pl.Int64).alias("turn"),
        (DAY * (20_000 + names.list.get(0).cast(pl.Float64))).alias("start"),
    )


def drawn(runs: pl.DataFrame, chance: random.Random, turns: tuple[int, int]) -> pl.DataFrame:
    """Return pairs of runs, one on `host 0` and one on `host 1`.

    Turns (0, 1) are assigned to the hosts at random, for each pair. For turns (0, 2), a random one of both
    runs on `quick` is on `host 0`, and the run on `slow` is on `host 1`.
    """
    rows = []
    for _, pair in runs.group_by("round", "command", maintain_order=True):
        by_turn = {row["turn"]: row for row in pair.to_dicts()}
        first = chance.randrange(2)
        chosen = [by_turn[first], by_turn[turns[1] if turns[1] == 2 else 1 - first]]
        rows += [row | {"host_names": [f"host {number}"]} for number, row in enumerate(chosen)]
    return pl.DataFrame(rows, schema=runs.schema)


def share_of_sets(runs: pl.DataFrame, sets: int, turns: tuple[int, int], wanted: list[str] | None) -> float:
    """Return the share of sets whose suspect hosts are those wanted, or that have any if `wanted` is None."""
    count = 0
    for number in range(sets):
        hosts = explain.find_suspect_hosts(drawn(runs, random.Random(number), turns))
        named = hosts.filter(pl.col("suspect"))["host"].to_list()
        count += bool(named) if wanted is None else named == wanted
    return count / sets


def report(case: str, ours: float, limit: float, *, more_is_better: bool = False) -> None:
    ratio = ours / limit if more_is_better else limit / max(ours, 1e-3)
    emit(
        "history-repeats",
        case,
        ours=ours,
        peer=limit,
        peer_name="limit",
        unit="of 1",
        ratio=Estimate(ratio, ratio, ratio),
        target=1.0,
    )


def measure(rounds: int, sets: int, slower: float) -> None:
    programs = [
        [
            subprocess.run(
                [COMMAND, "where", name], check=True, capture_output=True, text=True
            ).stdout.strip(),
            *words,
        ]
        for name, words in PROGRAMS
    ]
    with tempfile.TemporaryDirectory() as name:
        runs = record(Path(name), programs, rounds, slower / (1 + slower))
        assert len(runs) == 3 * rounds * len(programs)
        hosts = explain.find_suspect_hosts(runs.filter(pl.col("turn") != 1))
        print(
            hosts.select(
                "host", "observations", "slowdown", "slowdown_low", "slowdown_high", "p_value", "suspect"
            )
        )
        named = hosts.filter(pl.col("suspect"))["host"].to_list()
        what = f"{slower:.0%} slower, {rounds} days of {len(programs)} programs"
        report(
            f"the slow host alone is suspect, as recorded: {what}",
            float(named == ["slow"]),
            1.0,
            more_is_better=True,
        )
        report(
            f"sets of alike hosts with a suspect, of {sets}",
            share_of_sets(runs, sets, (0, 1), None),
            FALSE_ALARMS,
        )
        found = share_of_sets(runs, sets, (0, 2), ["host 1"])
        report(f"sets whose slow host alone is suspect, of {sets}: {what}", found, FOUND, more_is_better=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12, help="synthetic days")
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument(
        "--slower", type=float, default=0.15, help="slowdown of the slow host's ranks; 0.15 is 15 %%"
    )
    options = parser.parse_args()
    measure(options.rounds, options.sets, options.slower)


if __name__ == "__main__":
    main()
