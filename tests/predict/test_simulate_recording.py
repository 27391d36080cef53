"""One recorder: `simulate` and `run` of the same program give the same counts in every table.

SMPI cannot run the programs that are missing here. It has no sessions, partitioned messages, topology graphs
or shared windows, and only one thread may call MPI. It hangs if inactive requests are tested.
If SMPI does not support a part of a program, SIMULATED leaves it out on both sides.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.invariants import check
from support.mpi import CHECKOUT, Mpi
from support.processes import run_program
from support.programs import Compiler
from support.watched import PROGRAMS, Watched, program, watch

pytestmark = pytest.mark.usefixtures("simgrid")

RANKS = {
    "p2p": 2,
    "receives": 2,
    "probes": 2,
    "persistent": 2,
    "collectives": 4,
    "communicators": 4,
    "regions": 2,
    "series": 2,
    "repeats": 2,
    "filters": 2,
    "odd_names": 2,
}
QUICK = {"collectives", "receives"}  # the others in `make test-long`; test_simulate has nearly every call
OPTIONS = {"series": ("--series", "time/step", "--series", "inner")}
TABLES = ("regions", "ranks", "calls", "sizes", "partners", "collectives", "communicators", "series")
# The hosts are others.
OTHER = ("host", "pid", "same_node", "offnode")


def simulated(haloscope: Path, directory: Path, name: str, ranks: int, *options: str) -> Watched:
    """The program compiled with smpicc, on a torus."""
    executable = directory / name
    words = ["smpicc", "-w", "-DSIMULATED", f"-I{CHECKOUT / 'include'}", str(PROGRAMS / f"{name}.c")]
    subprocess.run([*words, "-o", str(executable)], check=True, capture_output=True)
    profile = directory / f"{name}.halo"
    words = [str(haloscope), "simulate", "--platform", "torus", "-n", str(ranks), "-o", str(profile)]
    done = run_program([*words, *options, "--", str(executable)], cwd=directory)
    check(profile)
    return Watched(done, profile)


def counts(watched: Watched, table: str) -> list[dict[str, Any]]:
    """The rows of a table without times and places, and without those that have nothing but a time."""
    rows = [
        {name: value for name, value in row.items() if not any(word in name for word in OTHER)}
        for row in watched.facts(table)
    ]
    numbers = ("sends", "recvs", "bytes_sent", "bytes_recv")
    if table == "partners":
        rows = [row for row in rows if any(row[name] for name in numbers)]
    return sorted(rows, key=lambda row: [str(value) for value in row.values()])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in RANKS]
)
def test_counts_are_those_of_a_real_run(
    haloscope: Path, any_mpi: Mpi, compiler: Compiler, tmp_path: Path, name: str
) -> None:
    options = OPTIONS.get(name, ())
    here = simulated(haloscope, tmp_path, name, RANKS[name], *options)
    executable = program(compiler, any_mpi, f"{name}.c", ["-w", "-DSIMULATED"])
    real = watch(any_mpi, RANKS[name], [executable], tmp_path, options=options)
    for table in TABLES:
        assert counts(here, table) == counts(real, table), table
    assert here.info["unaccounted"] == real.info["unaccounted"]


def test_slices_are_of_simulated_time(
    haloscope: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That their sums are the regions', `check` has seen."""
    monkeypatch.setenv("HALOSCOPE_SLICE", "0.5")
    here = simulated(haloscope, tmp_path, "series", 2, "--latency-factor", "10000", "--compute-factor", "0")
    slices = here.rows("slices")
    first = sorted((row for row in slices if row["rank"] == 0), key=lambda row: row["slice"])
    assert len(first) > 3
    assert first[0]["start"] == 0
    assert all(row["duration"] < 1.0 for row in first)
    (whole,) = here.select("ranks", exclusive=False, rank=0, region="<program>")
    # What comes after the last call has no slice if the last call ended one.
    end = max(row["start"] + row["duration"] for row in first)
    assert whole["time"] - 0.5 < end <= whole["time"] * (1 + 1e-6)
    assert sum(row["colls"] for row in slices) == 2 * 600
