"""What goes wrong in `haloscope bench collective`: said in a line, and finished points stay."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from haloscope.base.errors import UsageError
from haloscope.base.toolchain import Toolchain
from haloscope.predict.bench import CollectiveMethod, collective
from haloscope.predict.bench._grid import Grid, units
from haloscope.predict.bench._mpi_library import COLLECTIVES, OtherLibrary
from haloscope.predict.bench._sweep import Sweep
from support.missing import missing
from support.mpi import CHECKOUT, Mpi, find
from support.mpis import tools

pytestmark = [pytest.mark.alone, pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)]


@pytest.fixture
def environment(mpi: Mpi) -> dict[str, str]:
    return tools(mpi)


def _run(
    haloscope: Path, environment: dict[str, str], directory: Path, *words: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(haloscope), "bench", "collective", *words],
        env=environment,
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        stdin=subprocess.DEVNULL,
    )


def test_algorithms_that_hang_crash_and_lie(
    mpi: Mpi, haloscope: Path, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "bad.so"
    source = CHECKOUT / "tests" / "predict" / "programs" / "bad_algorithms.c"
    subprocess.run([mpi.mpicc, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    for name, value in {**environment, "LD_PRELOAD": str(library)}.items():
        monkeypatch.setenv(name, value)
    algorithms = ["default", "pipeline", "binary_tree", "binomial", "chain"]
    grid = Grid(["bcast"], [2], [16, 32, 64, 128, 256], algorithms)
    # In order, so that it is known which sizes come after those that fail.
    method = CollectiveMethod(warmup=1, iterations=5, validate=5, order="given", time_limit=5)
    collective(grid, method, output=tmp_path / "s.jsonl")
    words = ("-n", "2", "-m", "16:256", "-i", "5", "-x", "1", "-c", "-o", "s.jsonl")
    done = _run(haloscope, environment, tmp_path, "bcast", *words, "--algorithm", ",".join(algorithms))
    assert done.returncode == 0, done.stderr
    points = Sweep.read(tmp_path / "s.jsonl").points.sort("bytes")
    said = {
        name: part["status"].to_list() for (name,), part in points.group_by("algorithm", maintain_order=True)
    }
    assert said["default"] == said["chain"] == ["ok"] * 5
    assert said["pipeline"] == ["ok", "ok", "timeout", "timeout", "timeout"]
    assert said["binary_tree"] == ["failed"] * 5
    assert said["binomial"] == ["failed"] * 5
    reasons = dict(points.select("algorithm", "reason").unique(keep="first").iter_rows())
    assert "wrong data" in reasons["binomial"]
    assert "13 of 25 points failed" in done.stderr
    assert not _left("--iterations 5 --type")


def test_an_interrupt_keeps_what_is_finished(
    haloscope: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    sweep = tmp_path / "s.jsonl"
    running = subprocess.Popen(
        [
            str(haloscope),
            "bench",
            "collective",
            "allreduce",
            "-n",
            "2",
            "-m",
            "4:1048576",
            "-i",
            "30007",
            "-o",
            str(sweep),
        ],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _until(lambda: sweep.is_file() and sweep.read_bytes().count(b"\n") > 2)
    running.send_signal(signal.SIGINT)
    printed, told = running.communicate(timeout=60)
    assert running.returncode == 130
    kept = len(Sweep.read(sweep).points)
    assert kept >= 2
    assert f"{kept} finished points are in {sweep}" in told
    assert len([x for x in printed.splitlines() if x and not x.startswith("#")]) == kept
    assert not _left("--iterations 30007")


def test_refused_before_anything_runs(haloscope: Path, environment: dict[str, str], tmp_path: Path) -> None:
    done = _run(haloscope, environment, tmp_path, "bcast", "-n", "1", "-o", "s.jsonl")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "needs 2 processes or more" in done.stderr
    assert not (tmp_path / "s.jsonl").exists()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"algorithms": ["nonsense"]}, "has no algorithm nonsense for bcast; it has default"),
        ({"collectives": ["nonsense"]}, "no such collective; there are allgather"),
        ({"collectives": ["alltoall"], "ranks": [8], "sizes": [1 << 29]}, "overflows MPI's counts"),
        ({"ranks": [1 << 20], "sizes": [1 << 30]}, "of memory, and"),
    ],
)
def test_grids_that_cannot_be(mpi: Mpi, asked: dict[str, Any], said: str) -> None:
    library = OtherLibrary("Some MPI 1.0", Toolchain(mpi.mpicxx, mpi.mpiexec))
    grid = {"collectives": ["bcast"], "ranks": [2], "sizes": [8], **asked}
    with pytest.raises(UsageError, match=said):
        units(Grid(**grid), library, seed=0)


def test_a_launcher_of_another_mpi(
    mpi: Mpi, haloscope: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    other = find("mpich-system") or missing("mpich-system is not installed")
    words = ("bcast", "-n", "2", "-m", "4:4", "-i", "2", "-x", "0")
    told = _run(haloscope, environment, tmp_path, *words, "--", str(other.mpiexec))
    mixed = tmp_path / "bin"
    mixed.mkdir()
    for name, file in (("mpicc", mpi.mpicc), ("mpicxx", mpi.mpicxx), ("mpiexec", other.mpiexec)):
        (mixed / name).symlink_to(file)
    path = f"{mixed}{os.pathsep}{os.environ['PATH']}"
    found = _run(haloscope, environment | {"PATH": path}, tmp_path, *words)
    for done in (told, found):
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "load one MPI only" in done.stderr


def test_a_library_that_cannot_be_asked(mpi: Mpi) -> None:
    other = OtherLibrary("Some MPI 1.0", Toolchain(mpi.mpicxx, mpi.mpiexec))
    assert other.collectives() == COLLECTIVES
    assert [one.name for one in other.algorithms("bcast")] == ["default"]


def test_a_file_that_is_no_sweep_is_left_alone(
    haloscope: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "s.jsonl").write_text("precious\n")
    words = ("bcast", "-n", "2", "-m", "4:4", "-o", "s.jsonl")
    done = _run(haloscope, environment, tmp_path, *words)
    assert done.returncode == 1
    assert "line 1 is not JSON" in done.stderr
    assert (tmp_path / "s.jsonl").read_text() == "precious\n"


def _until(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _left(words: str) -> list[str]:
    """Command lines of processes that hold these words."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, UnicodeDecodeError):
            continue
        found += [command] if words in command else []
    return found
