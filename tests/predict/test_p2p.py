"""`haloscope bench p2p`: its forms, its model, and what goes wrong."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from haloscope import UsageError, predict
from haloscope.predict import bench
from support.cluster import Cluster
from support.command import Command
from support.emulated_mpi import emulated_mpi
from support.limits import HANG
from support.missing import missing
from support.mpi import Mpi
from support.mpis import tools
from support.processes import processes_of, wait_for_end

FEW = ("-i", "20", "-x", "2")
TESTS = ("latency", "bw", "bibw", "mbw_mr", "overhead", "reduce")
TWO = len(os.sched_getaffinity(0)) >= 2
# A launcher that has measured all sizes below 64 bytes, and then never ends.
HANGING = """
for word; do [ "$before" = --sizes ] && sizes=$word; before=$word; done
IFS=,
for size in $sizes; do
  [ $size -lt 64 ] || {{ echo hangs; exec {sleep} 98762; }}
  printf '{{"record":"point","test":"latency","pair":[0,1],"bytes":%d,"batch":1,' $size
  echo '"clock_ns":0,"valid":null,"samples_ns":[100,110,120]}}'
done
"""


@pytest.fixture(autouse=True)
def _two_processors() -> None:
    if not TWO:
        missing("messages need two processors: give the machine, or the container, another one")


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if not line.startswith("#")]


@pytest.mark.usefixtures("used")
def test_every_test(command: Command) -> None:
    done = command("bench", "p2p", "all", "-m", "4:16", *FEW, "-c", "-f", "-z", "50,99", status=None)
    hints = [] if shutil.which("lstopo") or shutil.which("lstopo-no-graphics") else ["hwloc is not installed"]
    said = done.stderr.splitlines()
    assert (done.returncode, len(said)) == (0, len(hints)), done.stderr
    assert all(hint in line for hint, line in zip(hints, said, strict=True))
    titles = [line for line in done.stdout.splitlines() if line.startswith("# haloscope bench p2p")]
    assert len(titles) == done.stdout.count("\n# Size") + done.stdout.startswith("# Size") == 6
    table = rows(done.stdout)
    assert [int(row[0]) for row in table] == [4, 8, 16] * 6
    columns = {"latency": 1, "bw": 1, "bibw": 1, "mbw_mr": 2, "overhead": 2, "reduce": 1}
    for index, test in enumerate(TESTS):
        for row in table[3 * index : 3 * index + 3]:
            # Size, figures, minimum, maximum, iterations, two percentiles, validation.
            assert len(row) == 1 + columns[test] + 3 + 2 + (test != "mbw_mr" or row[-1] == "Pass")
            assert all(float(word) >= 0 for word in row if word != "Pass")
    assert sum(row[-1] == "Pass" for row in table) >= 15


@pytest.mark.usefixtures("any_used")
def test_samples_for_programs(command: Command) -> None:
    words = ("bench", "p2p", "latency", "bw", "overhead", "-m", "1:8", "-i", "50", "-x", "2")
    records = json.loads(command(*words, "--format", "json").stdout)
    assert [(one["test"], one["bytes"]) for one in records] == [
        (test, 1 << power) for test in ("latency", "bw", "overhead") for power in range(4)
    ]
    for one in records:
        assert one["ci_low"] <= one["median"] <= one["ci_high"]
        assert len(one["samples"]) * one["batch"] == one["iterations"] >= 50
        assert one["time"] == pytest.approx(sum(one["samples"]) / len(one["samples"]), rel=1e-3)
        assert len(one["receive_samples"]) == (50 if one["test"] == "overhead" else 0)
    few = ("bench", "p2p", "overhead", "-m", "1:1", *FEW)
    table = list(csv.DictReader(command(*few, "--format", "csv").stdout.splitlines()))
    assert {row["side"] for row in table} == {"first", "second"}
    assert len(table) == 40
    assert all(float(row["time"]) >= 0 for row in table)


@pytest.mark.usefixtures("any_used")
def test_the_whole_model(command: Command, tmp_path: Path) -> None:
    """All parts of a measured model are there. test_p2p_model checks values, from known times."""
    done = command("bench", "p2p", "-m", "1:1024", *FEW, "-o", "own.yaml", "--pair", "all")
    found = predict.load_machine(tmp_path / "own.yaml")
    assert found.cores == len(os.sched_getaffinity(0)) >= 2
    level = found.level(0, 1)
    assert level.loggp is not None
    assert level.hockney is not None
    sizes = [1 << power for power in range(11)]
    assert [row.bytes for row in level.plogp] == sizes
    low, high = level.latency_interval or (level.latency,) * 2
    assert low <= level.latency <= high
    assert {int(row[0]) for row in rows(done.stdout)} >= set(sizes)
    assert [one.bytes for one in level.measured if one.gap] == sizes
    command("report", "own.yaml", "-o", "own.html")
    assert (tmp_path / "own.html").read_text().count("Plotly") > 1
    assert "Made by: haloscope bench p2p" in (tmp_path / "own.yaml").read_text()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--pair", "0,9999"), 2, "core 9999 does not exist: this node has the usable cores 0 to"),
        (("--pair", "1,1"), 2, "core 1 with itself"),
        (("--pair", "one"), 2, "not like 0,8"),
        (("lateness",), 2, "'lateness' is not one of latency, bw"),
        (("-m", "8:4"), 2, "is not like"),
        (("-m", "4294967296:4294967296"), 2, "more elements than"),
        (("-m", "1:1073741824"), 2, "raise P2pMethod.memory"),
        (("-o", "no/such.yaml"), 1, "such.yaml: cannot be written"),
        (("--", "no-such-launcher"), 1, "no-such-launcher: not found"),
        (("-m", "1:1", "--", "env", "-i", "true"), 1, "env printed no result"),
        (("--nodes", "2", "--", "env", "-i", "true"), 1, "give it the hosts"),
    ],
)
def test_mistakes(
    command: Command,
    tmp_path: Path,
    words: tuple[str, ...],
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in emulated_mpi(tmp_path / "mpi").items():
        monkeypatch.setenv(name, value)
    told = command("bench", "p2p", *FEW, *words, status=status)
    assert told.stdout == ""
    # Without hwloc there is a hint in one more line.
    (line,) = [line for line in told.stderr.splitlines() if "hwloc is not installed" not in line]
    assert said in line


@pytest.mark.usefixtures("any_used")
def test_other_types_of_data() -> None:
    with pytest.raises(UsageError, match="at least 4 bytes"):
        bench.P2pMethod((1, 2), datatype="mpi_float").check_sizes()
    with pytest.raises(UsageError, match="more elements than"):
        bench.P2pMethod((1 << 32,), memory=1 << 60).check_sizes()
    method = bench.P2pMethod((4, 8), 20, 2, check=True, datatype="mpi_int", time_limit=HANG)
    made = bench.p2p(bench.P2P_TESTS, method)
    assert [one.bytes for one in made.points] == [4, 8] * 6
    assert not made.failures
    assert sum(one.valid is True for one in made.points) >= 10


@pytest.mark.usefixtures("any_used")
def test_processors_that_are_not_there(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A foreign topology: ranks cannot be bound to its cores."""
    tool = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if tool is None:
        missing("hwloc is not installed: apt-get install hwloc")
    node = tmp_path / "node.xml"
    words = [tool, "-i", "pack:2 l3:2 core:64 pu:1", "--of", "xml", "-f", str(node)]
    subprocess.run(words, check=True, capture_output=True)
    monkeypatch.setenv("HWLOC_XMLFILE", str(node))
    done = command("bench", "p2p", "-m", "1:1", "--pair", "0,255", status=1)
    assert "processor 255: cannot bind to it" in done.stderr


@pytest.fixture
def sleeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program that the launcher in use becomes when it hangs."""
    program = tmp_path / "sleeper"
    shutil.copy(str(shutil.which("sleep")), program)
    environment = emulated_mpi(tmp_path / "mpi", mpiexec=HANGING.format(sleep=program))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return program


@pytest.mark.slow
@pytest.mark.usefixtures("planted_hang")
def test_a_pair_that_hangs_is_given_up(
    command: Command, sleeper: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing comes from 64 bytes on: smaller ones are kept."""
    monkeypatch.setenv("HALOSCOPE_TIME_LIMIT", "2")
    done = command("bench", "p2p", "-m", "1:256", "--pair", "0,1", *FEW, status=1)
    assert [int(row[0]) for row in rows(done.stdout)] == [1, 2, 4, 8, 16, 32]
    assert "haloscope: latency, core 0 to core 1: no result within 2 s\n" in done.stderr
    wait_for_end(processes_of(sleeper))


# A launcher whose messages of 1024 bytes and more take 5 us longer. Each launch is slower by FACTOR.
STEP = """
for word; do [ "$before" = --sizes ] && sizes=$word; before=$word; done
IFS=,
for size in $sizes; do
  time=$((1000 + size)); [ $size -lt 1024 ] || time=$((time + 5000))
  [ ! -e {launched} ] || time=$((time * {factor}))
  printf '{{"record":"point","test":"latency","pair":[0,1],"bytes":%d,"batch":1,' $size
  echo '"clock_ns":0,"valid":null,"samples_ns":['$time']}}'
done
touch {launched}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "more"), [(1, list(range(576, 1024, 64))), (2, [])])
def test_more_sizes_are_measured_where_the_slope_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: int, more: list[int]
) -> None:
    """Each size is there once; nothing is added if the machine has changed meanwhile."""
    script = STEP.format(launched=tmp_path / "launched", factor=factor)
    for name, value in emulated_mpi(tmp_path / "mpi", mpiexec=script).items():
        monkeypatch.setenv(name, value)
    sizes = [1 << power for power in range(15)]
    method = bench.P2pMethod(tuple(sizes), for_model=True)
    measured = bench.bench_p2p(["latency"], method, pairs=[(0, 1)])
    assert [point.bytes for point in measured.points] == sizes + more
    assert not measured.failures


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_finished(sleeper: Path, haloscope: Path) -> None:
    running = subprocess.Popen(
        [str(haloscope), "bench", "p2p", "-m", "1:256", "--pair", "0,1"],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdout is not None
    begun = ""
    while len(rows(begun)) < 6:
        begun += running.stdout.readline()
    running.send_signal(signal.SIGINT)
    printed, told = running.communicate()
    assert (running.returncode, printed) == (130, "")
    assert "haloscope: interrupted: 6 finished points are kept\n" in told
    wait_for_end(processes_of(sleeper))


def test_between_nodes(two_nodes: Cluster, any_mpi: Mpi, haloscope: Path, tmp_path: Path) -> None:
    """Two emulated nodes of two ranks: one level more, and the matrix of all four cores."""
    hosts = ",".join(f"{host}:2" for host in two_nodes.hosts)
    launcher: list[str | Path] = [any_mpi.mpiexec, "--host", hosts, "--bind-to", "none"]
    words = ["latency", "--nodes", "2", "--pair", "all", "-m", "1:8", *FEW]
    output = tmp_path / "cluster.yaml"
    two_nodes.run(
        any_mpi,
        [haloscope, "bench", "p2p", *words, "-o", output, "--", *launcher],
        env=tools(any_mpi) if any_mpi.name.endswith("system") else None,
    )
    found = predict.load_machine(output)
    inside = len(os.sched_getaffinity(0))
    assert [level.cores for level in found.levels][-2:] == [inside, 2 * inside]
    assert found.levels[-1].name == "network"
    assert found.matrix is not None
    assert found.matrix.cores == tuple(range(2 * inside))
