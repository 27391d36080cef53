"""The whole of `tune`, with real verification; times, where they decide, are of known truth."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haloscope.predict.bench._method import Method
from haloscope.predict.bench._workload import Point, Workload
from haloscope.predict.tune import _tune
from haloscope.predict.tune._choice import Candidate
from haloscope.predict.tune._gains import program_gain, summary, table
from haloscope.predict.tune._rules import read_text
from haloscope.predict.tune._trial import Trial, gain_interval, mean_gain, not_holding, slower
from haloscope.predict.tune._tune import Plan, Tuning
from haloscope.predict.tune._verify import Bench
from support.mpi import Mpi
from support.mpis import tools
from support.watched import program, watch

pytestmark = pytest.mark.alone

CHAIN, OWN = Candidate("pipeline", 3, 256), Candidate()
POINTS = [Point("bcast", 4, size) for size in (512, 1024, 2048)]


def trial(gain: float, spread: float = 0.02, rounds: int = 6, seed: int = 0) -> Trial:
    """Rounds whose geometric mean gain is `gain`, exactly."""
    noise = np.random.default_rng(seed).normal(size=rounds)
    noise -= noise.mean()
    return Trial(np.full(rounds, 1e-5), 1e-5 / (gain * np.exp(spread * noise)))


def test_rules_that_do_not_hold_are_found() -> None:
    chosen = dict.fromkeys(POINTS, CHAIN)
    assert not_holding(chosen, dict.fromkeys(POINTS, trial(1.3))) == set()
    assert not_holding(chosen, dict.fromkeys(POINTS, trial(1.0))) == set(POINTS)
    # One point that is slower for certain is enough.
    trials = {POINTS[0]: trial(2.0), POINTS[1]: trial(0.8), POINTS[2]: trial(2.0)}
    assert slower(trials) == {POINTS[1]}
    assert not_holding(chosen, trials) == set(POINTS)
    # A rule of another size is another rule.
    apart = {POINTS[0]: CHAIN, POINTS[1]: OWN, POINTS[2]: CHAIN}
    assert not_holding(apart, {**trials, POINTS[1]: trial(1.0), POINTS[2]: trial(1.0)}) == {POINTS[2]}
    # So is one of another collective, though it says the same.
    other = Point("allreduce", 4, 512)
    both = {other: trial(0.8), **dict.fromkeys(POINTS, trial(1.3))}
    assert not_holding({other: CHAIN, **chosen}, both) == {other}


def test_gains_have_intervals() -> None:
    gain, low, high = gain_interval(trial(1.25).gains)
    assert gain == pytest.approx(1.25)
    assert 1.2 < low < gain < high < 1.3
    trials = {POINTS[0]: trial(2.0), POINTS[1]: trial(0.5)}
    assert mean_gain(trials)[0] == pytest.approx(1.0)


def test_gain_of_a_program_is_weighted_by_its_calls() -> None:
    made = Tuning(None, Path(), chosen=dict.fromkeys(POINTS, CHAIN))  # type: ignore[arg-type]
    made.trials = {POINTS[0]: trial(2.0, 0), POINTS[1]: trial(1.0, 0)}
    gain = program_gain(made, Workload({POINTS[0]: 30, POINTS[1]: 10}, {}))
    assert gain is not None
    assert gain == pytest.approx((40e-5, 15 / 40, 15 / 40, 15 / 40))
    made.trials = {}
    assert program_gain(made, Workload({}, {})) is None


Truth = Callable[[Point, Mapping[Point, Candidate]], float]


def bench_of(mpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> Bench:
    for name, value in tools(mpi).items():
        monkeypatch.setenv(name, value)
    return Bench.here()


def fake(gains: Mapping[Point, float]) -> Any:
    """Instead of measuring: known gains, whatever is written."""
    passes: list[list[Point]] = []

    def measured(
        _bench: Bench, points: Sequence[Point], environment: Mapping[str, str], *_: Any
    ) -> dict[Point, Trial]:
        # The file is there while it is measured.
        assert read_text(Path(environment["OMPI_MCA_coll_tuned_dynamic_rules_filename"]).read_text())
        passes.append(list(points))
        return {point: trial(gains[point], seed=point.bytes) for point in points}

    return measured, passes


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_what_holds_is_written_and_the_rest_dropped(
    mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = bench_of(mpi, monkeypatch)
    lost = Point("allreduce", 4, 2048)
    measured, passes = fake({POINTS[0]: 1.0, POINTS[1]: 1.5, POINTS[2]: 1.5, lost: 1.0})
    monkeypatch.setattr(_tune, "measure_both", measured)
    file = tmp_path / "rules.conf"
    chosen = {POINTS[0]: OWN, POINTS[1]: CHAIN, POINTS[2]: CHAIN, lost: Candidate("ring", 4)}
    made = _tune.write_rules(bench, chosen, file, Plan(Method()))
    written = read_text(file.read_text())
    assert [(r.collective, r.ranks, r.bytes, r.number, r.segment) for r in written] == [
        ("bcast", 4, 0, 0, 0),
        ("bcast", 4, 1024, 3, 256),
        ("bcast", 4, 2049, 0, 0),
        ("bcast", 5, 0, 0, 0),
    ]
    # Dropped in the first pass; what is reported is measured once more without it.
    assert len(passes) == 2
    assert lost in passes[0]
    assert lost not in passes[1]
    rows = {row["bytes"]: row for row in table(made).filter(collective="bcast").to_dicts()}
    assert [rows[size]["verified"] for size in (512, 1024, 2048)] == [None, True, True]
    assert rows[1024]["algorithm"] == "pipeline 256 B"
    assert rows[1024]["gain"] == pytest.approx(1.5)
    assert rows[1024]["default_algorithm"] != "default"
    assert "2 of 4 points" in summary(made)
    assert math.isclose(mean_gain(made.trials)[0], 1.5 ** (2 / 3))
    assert [path.name for path in tmp_path.iterdir()] == ["rules.conf"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_rules_that_are_not_met_are_not_written(
    mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = bench_of(mpi, monkeypatch)
    monkeypatch.setenv("OMPI_MCA_coll", "self,basic,libnbc")
    file = tmp_path / "rules.conf"
    file.write_text("old")
    made = _tune.write_rules(bench, {POINTS[0]: CHAIN}, file, Plan(Method()))
    assert made.rules == []
    assert len(made.problems) == 1
    assert "tuned" in made.problems[0]
    assert file.read_text() == "old"


def run(
    haloscope: Path, environment: Mapping[str, str], directory: Path, *words: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(haloscope), "tune", *words],
        cwd=directory,
        env=dict(environment),
        timeout=280,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def refused(done: subprocess.CompletedProcess[str], word: str, status: int = 1) -> None:
    assert done.returncode == status, done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert word in done.stderr


QUICK = ("-i", "20", "-x", "2", "--rounds", "2")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_from_a_profile(mpi: Mpi, haloscope: Path, tmp_path: Path, compiler: Any) -> None:
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
    watched = watch(mpi, 2, [compiler(mpi, source)], tmp_path)
    file = tmp_path / "rules"
    words = (str(watched.path), "-o", str(file), "--format", "json", *QUICK)
    done = run(haloscope, tools(mpi), tmp_path, *words)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["collective"], row["ranks"], row["bytes"]) for row in rows] == [
        ("alltoall", 2, 24),
        ("bcast", 2, 48),
    ]
    assert "the program" in done.stderr
    ruled = [row for row in rows if row["algorithm"] != "default"]
    assert file.exists() == bool(ruled)
    assert all(row["verified"] for row in ruled)
    page = tmp_path / "gains.html"
    gains = [str(haloscope), "report", str(tmp_path / "rules.gains.json"), "-o", str(page)]
    subprocess.run(gains, check=True)
    assert "Haloscope tune" in page.read_text()


@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_what_cannot_be_tuned_is_said_in_a_line(
    mpi: Mpi, haloscope: Path, tmp_path: Path, compiler: Any
) -> None:
    environment = tools(mpi)
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
    refused(run(haloscope, environment, tmp_path, str(sweep)), "measured with Open MPI 1.0")
    told = subprocess.run([mpi.mpiexec, "--version"], capture_output=True, text=True, check=True)
    version = re.findall(r"\d+\.\d+\.\d+", told.stdout)[0]
    lines(f"Open MPI {version}", 1)
    refused(run(haloscope, environment, tmp_path, str(sweep)), "at least 2 ranks")
    bare = run(haloscope, environment, tmp_path, str(sweep), "-o", "no/such/rules.conf")
    refused(bare, "cannot be written")
    refused(run(haloscope, environment, tmp_path, str(sweep), "-o", "r.json"), "*.conf", 2)
    refused(run(haloscope, environment, tmp_path, str(tmp_path / "none")), "none")
    refused(run(haloscope, environment, tmp_path), "SWEEP", 2)
    refused(run(haloscope, environment, tmp_path, "orfeo"), "--fit", 2)
    # One process has no collectives that an algorithm could do.
    watched = watch(mpi, 1, [program(compiler, mpi, "collectives.c")], tmp_path, status=None)
    refused(run(haloscope, environment, tmp_path, str(watched.path)), "no collective of 2")
    # An installation without ompi_info does not say what could be selected.
    other = tmp_path / "others"
    other.mkdir()
    for tool in Path("/usr/bin").iterdir():
        if not tool.name.startswith(("ompi_info", "mpi")):
            (other / tool.name).symlink_to(tool)
    lonely = {**environment, "PATH": f"{environment['PATH'].split(os.pathsep)[0]}{os.pathsep}{other}"}
    refused(run(haloscope, lonely, tmp_path, str(sweep)), "no algorithms to select")
