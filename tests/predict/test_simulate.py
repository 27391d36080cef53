"""`haloscope simulate`: programs and patterns on SimGrid's SMPI, with smpirun itself."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from haloscope import SimulationError, explain
from haloscope.predict.bench import BenchGrid, CollectiveMethod, collective
from haloscope.predict.simulate import Simulation, SmpiLibrary, load_platform
from support.applications import Application
from support.command import capture_command, run_command
from support.limits import HANG
from support.mpi import Mpi
from support.processes import run_program, wait_for_end
from support.profiles import draft, path_rows, process_rows
from support.programs import Compiler
from support.watched import watch

pytestmark = pytest.mark.usefixtures("simgrid")

Simulate = Callable[..., subprocess.CompletedProcess[str]]
IDEAL = ("--latency-factor", "0", "--bandwidth-factor", "inf")
SMALL = ("cg", "--nx", "8", "--ny", "8", "--nz", "8", "--iterations", "1")

PROGRAM = r"""
#include <haloscope/region.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size;

/* Half of a round trip of two bytes between rank 0 and each power of two. */
static void latencies(void) {
  for (int to = 1; to < size; to *= 2) {
    char two[2];
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (rank == 0) {
      MPI_Send(two, 2, MPI_CHAR, to, 0, MPI_COMM_WORLD);
      MPI_Recv(two, 2, MPI_CHAR, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      printf("%d %.4f\n", to, (MPI_Wtime() - begin) / 2 * 1e6);
    } else if (rank == to) {
      MPI_Recv(two, 2, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(two, 2, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
  }
}

/* A ring with a persistent send, a wildcard receive of less than was allowed for, and halves. */
static void ring(void) {
  double out[10] = {0}, in[100];
  MPI_Request requests[2];
  MPI_Send_init(out, 10, MPI_DOUBLE, (rank + 1) % size, 7, MPI_COMM_WORLD, &requests[0]);
  for (int pass = 0; pass < 3; pass++) {
    HALOSCOPE_COMM_REGION_BEGIN("ring");
    MPI_Irecv(in, 100, MPI_DOUBLE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Start(&requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    HALOSCOPE_COMM_REGION_END("ring");
  }
  MPI_Request_free(&requests[0]);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  HALOSCOPE_REGION_BEGIN("halves");
  int own = rank, sum = 0, halves;
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, half);
  MPI_Comm_size(half, &halves);
  if (halves > 1 && rank < 2) MPI_Send(&own, 1, MPI_INT, 1, 0, half);
  if (halves > 1 && (rank == 2 || rank == 3))
    MPI_Recv(&own, 1, MPI_INT, 0, 0, half, MPI_STATUS_IGNORE);
  HALOSCOPE_REGION_END("halves");
  MPI_Comm_free(&half);
}

/* A token goes around, and each rank waits for it or for what comes last: microseconds a step. */
static void some(void) {
  int token = 0, last = 0, at[2], count;
  const int from = (rank + size - 1) % size, to = (rank + 1) % size;
  MPI_Request requests[2];
  MPI_Irecv(&last, 1, MPI_INT, from, 9, MPI_COMM_WORLD, &requests[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int round = 0; round < 100; round++) {
    MPI_Irecv(&token, 1, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[0]);
    if (rank == 0) MPI_Send(&token, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    MPI_Waitsome(2, requests, &count, at, MPI_STATUSES_IGNORE);
    if (rank) MPI_Send(&token, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%.4f\n", (MPI_Wtime() - begin) * 1e6 / (100 * size));
  MPI_Request mine;
  MPI_Isend(&token, 1, MPI_INT, to, 9, MPI_COMM_WORLD, &mine);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Wait(&mine, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char *what = argc > 1 ? argv[1] : "ring";
  int never;
  if (!strcmp(what, "ring")) ring();
  for (int i = 2; i < argc && rank == 0; i++) printf("[%s]\n", argv[i]);
  if (!strcmp(what, "latencies")) latencies();
  if (!strcmp(what, "some")) some();
  if (!strcmp(what, "deadlock"))
    MPI_Recv(&never, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!strcmp(what, "crash") && rank == 1) *(volatile int *)0 = 1;
  if (!strcmp(what, "abort") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 3);
  if (!strcmp(what, "forever")) for (;;) ;
  if (!strcmp(what, "buffers")) {
    MPI_Send(&rank, 1, MPI_INT, size - 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Recv(&never, 1, MPI_INT, size - 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return !strcmp(what, "status") ? 5 : 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program above, compiled with smpicc."""
    folder = tmp_path_factory.mktemp("simulated")
    (folder / "program.c").write_text(PROGRAM, encoding="ascii")
    include = Path(__file__).parents[2] / "include"
    command = ["smpicc", "-I", str(include), "program.c", "-o", "program"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "program"


@pytest.fixture
def simulate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Simulate:
    """`simulate(words…)` runs the verb in a directory of its own; what programs print is captured, too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HALOSCOPE_TIME_LIMIT", f"{HANG:g}")
    return partial(capture_command, capfd, "simulate")


@pytest.fixture(scope="module")
def cg_8(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled cg on 8 simulated ranks."""
    output = tmp_path_factory.mktemp("profiles") / "cg-8.halo"
    assert run_command("simulate", "--platform", "torus", "-n", "8", "-o", output, *SMALL) == 0
    return output


def fails(done: subprocess.CompletedProcess[str], status: int, *words: str) -> None:
    line = done.stderr.strip().splitlines()[-1]
    assert done.returncode == status, done.stderr
    assert line.startswith("haloscope: ")
    for word in words:
        assert word in line
    assert "Traceback" not in done.stderr


def regions(profile: Path, columns: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    rows = explain.open(profile).table("regions").select("path", *columns).iter_rows()
    return {row[0]: row[1:] for row in rows}


def test_a_program_and_its_regions(program: Path, tmp_path: Path) -> None:
    # SMPI blocks now and then where persistent sends are buffered.
    Simulation(program, "fat-tree", 4, eager=0).run(tmp_path / "ring.halo")
    found = regions(
        tmp_path / "ring.halo",
        ("instances", "sends_total", "bytes_sent_total", "bytes_recv_total", "colls_total"),
    )
    assert found["ring"] == (3, 12, 960, 960, 0)
    assert found["halves"] == (1, 2, 8, 8, 4)
    profile = explain.open(tmp_path / "ring.halo")
    profile.verify()
    partners = profile.table("partners").filter(region="ring")
    sent = {(row["rank"], row["partner"]) for row in partners.to_dicts() if row["sends"]}
    assert sent == {(0, 1), (1, 2), (2, 3), (3, 0)}
    halves = profile.table("partners").filter(region="halves").to_dicts()
    assert {(row["rank"], row["partner"]) for row in halves if row["sends"]} == {(0, 2), (1, 3)}
    collectives = profile.table("collectives").filter(region="halves").to_dicts()
    assert [(row["operation"], row["comm_size"]) for row in collectives] == [("Allreduce", 2)]


def test_waiting_for_some_takes_no_longer_from_call_to_call(simulate: Simulate, program: Path) -> None:
    """SimGrid lets a test that finds nothing take longer each time: 400 of them, 20 µs a step."""
    words = ("--platform", "orfeo", "-n", 4, "--compute-factor", "0", "--", program, "some")
    (step,) = (float(line) for line in simulate(*words).stdout.splitlines() if line[:1].isdigit())
    assert 0.15 < step < 1


def test_names_and_arguments_with_spaces(
    simulate: Simulate, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which smpirun, a script, takes apart."""
    spaced = tmp_path / "a b"
    spaced.mkdir()
    shutil.copy(program, spaced / "it's mine")
    words = ("--platform", "torus", "-n", 2, "--", spaced / "it's mine", "ring", "x  y", "$HOME", "")
    monkeypatch.setenv("TMPDIR", str(spaced))
    monkeypatch.setattr("tempfile.tempdir", None)  # it is looked up again
    done = simulate(*words)
    assert [line for line in done.stdout.splitlines() if line[:1] == "["] == ["[x  y]", "[$HOME]", "[]"]


def test_latencies_of_a_machine_are_exact(
    program: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    simulation = Simulation([program, "latencies"], "orfeo", 129, compute_factor=0, eager=0)
    simulation.run(tmp_path / "latencies.halo")
    lines = capfd.readouterr().out.splitlines()
    measured = dict(line.split() for line in lines if line[:1].isdigit())
    expected = [0.15, 0.15, 0.32, 0.35, 0.43, 0.43, 0.69, 1.82]
    assert [float(value) for value in measured.values()] == pytest.approx(expected, abs=1e-3)


def test_messages_take_the_same_time_without_the_recorder(
    simulate: Simulate, program: Path, tmp_path: Path
) -> None:
    """To a tenth of a nanosecond: recording is no message, and where computing takes no time, none at all."""
    bare = SmpiLibrary(load_platform("orfeo"))
    with bare.directory:
        words = bare.launch([str(program), "latencies"], 129, {})
        alone = run_program(words, cwd=tmp_path)
    recorded = simulate(
        "--platform", "orfeo", "-n", 129, "--compute-factor", "0", "--", program, "latencies", status=None
    )
    times = [[line for line in done.stdout.splitlines() if line[:1].isdigit()] for done in (alone, recorded)]
    assert len(times[0]) == 8
    assert times[0] == times[1]


def test_counts_are_those_of_a_real_run(any_mpi: Mpi, compiler: Compiler, cg_8: Path, tmp_path: Path) -> None:
    """The recorder in a real run and the one in the simulation see the same program."""
    cg = Application.build(compiler, any_mpi, "cg").program
    real = watch(any_mpi, 8, [cg, *SMALL[1:]], tmp_path).path
    ends = [f"{x}_instance_{end}" for x in ("sends", "dest_ranks", "bytes_recv") for end in ("min", "max")]
    columns = ("instances", "sends_total", "bytes_sent_total", "largest_message", "colls_total", *ends)
    assert regions(cg_8, columns) == regions(real, columns)


def test_a_pattern_is_what_was_recorded(simulate: Simulate, cg_8: Path, tmp_path: Path) -> None:
    simulate(cg_8, "--platform", "dragonfly", "-o", "replayed.halo")
    columns = ("instances", "sends_total", "bytes_sent_total", "dest_ranks_max", "colls_total")
    replayed = tmp_path / "replayed.halo"
    assert regions(replayed, columns) == regions(cg_8, columns)
    assert run_command("report", replayed, "-o", tmp_path / "r.html") == 0


def test_a_pattern_computes_between_nested_regions_and_sends_within_the_world(tmp_path: Path) -> None:
    """Partner -1 means processes outside MPI_COMM_WORLD, which are not simulated."""
    times = ((0, 10.0, 0.0), (1, 6.0, 0.0), (2, 2.0, 1.5))
    written = draft(
        paths=path_rows("solve", "solve/halo"),
        processes=process_rows("a", "a"),
        ranks=[
            {"path": path, "rank": rank, "instances": 1, "time": time, "p2p_time": inside}
            for path, time, inside in times
            for rank in range(2)
        ],
        partners=[
            {"path": 2, "rank": 0, "partner": partner, "sends": 3, "bytes_sent": 30} for partner in (1, -1)
        ],
    )
    profile = Simulation(written.write(tmp_path / "a.halo"), "torus").run(tmp_path / "b.halo")
    found = regions(profile, ("sends_total", "bytes_sent_total", "time_mean"))
    assert {path: row[:2] for path, row in found.items()} == dict.fromkeys(
        ("<program>", "solve", "solve/halo"), (3, 30)
    )
    # Of 10, 6 and 2 seconds, half a second of which is no message's.
    assert [row[2] for row in found.values()] == pytest.approx([8.5, 4.5, 0.5], abs=0.01)


def test_instances_share_all_that_there_is(tmp_path: Path) -> None:
    """Seven messages in three instances."""
    written = draft(
        paths=path_rows("halo"),
        processes=process_rows("a", "a"),
        ranks=[
            {"path": path, "rank": rank, "instances": 1 + 2 * path, "time": 1.0}
            for path in range(2)
            for rank in range(2)
        ],
        partners=[{"path": 1, "rank": 0, "partner": 1, "sends": 7, "bytes_sent": 70}],
    )
    profile = Simulation(written.write(tmp_path / "a.halo"), "torus").run(tmp_path / "b.halo")
    columns = ("instances", "sends_total", "recvs_total", "bytes_sent_total")
    assert regions(profile, columns)["halo"] == (3, 7, 7, 70)


@pytest.mark.parametrize("scale", ["weak", "strong"])
def test_a_scaled_pattern(simulate: Simulate, cg_8: Path, tmp_path: Path, scale: str) -> None:
    """From 2×2×2 to 4×4×4: up to 26 neighbours; strongly, an eighth of the volume a rank."""
    words = ("--platform", "torus", "-n", 64, "--scale", scale, "-o", "64.halo")
    simulate(*words, cg_8)
    columns = ("instances", "sends_total", "largest_message", "dest_ranks_min", "dest_ranks_max")
    found = regions(tmp_path / "64.halo", columns)["main/cg/mg_level_0/halo_exchange"]
    pairs = (3 * 4 - 2) ** 3 - 4**3
    largest = 8 * 8 * 8 if scale == "weak" else 8 * 8 * 8 // 4
    assert found == (3, 3 * pairs, largest, 7, 26)


def test_more_ranks_than_files_are_open(haloscope: Path, cg_8: Path, tmp_path: Path) -> None:
    """Each rank has a trace of its own, which is open as long as it runs; 1024 are what users have."""
    command = f"ulimit -Sn 64 && exec {haloscope} simulate --platform torus -n 125 -o 125.halo {cg_8}"
    run_program(["bash", "-c", command], cwd=tmp_path)
    assert explain.open(tmp_path / "125.halo").info["ranks"] == 125


def test_what_if(simulate: Simulate, cg_8: Path) -> None:
    words = ("--platform", "torus", "--latency-factor", "0,1,2", "--format", "json", "--compute-factor", "0")
    done = simulate(*words, cg_8)
    rows = {row["path"]: row for row in json.loads(done.stdout)}
    whole = rows["<program>"]
    assert whole["time_x0"] < whole["time_x1"] < whole["time_x2"]
    assert whole["slope"] == pytest.approx((whole["time_x2"] - whole["time_x0"]) / 2, rel=1e-6)
    assert whole["slope"] > rows["main/cg/dot_product"]["slope"] > 0
    people = simulate(
        "--platform", "torus", "--latency-factor", "0,2", "--compute-factor", "0", cg_8, status=None
    )
    assert people.stdout.splitlines()[0].split("  ")[0] == "region", people.stderr
    assert "latency × 2" in people.stdout


def test_computing_is_not_communicating(simulate: Simulate, tmp_path: Path) -> None:
    """On a network that takes no time ranks still compute."""
    words = ("--platform", "torus", "-n", 2, *IDEAL, "-o", "cg.halo")
    simulate(*words, "cg", "--nx", 16, "--ny", 16, "--nz", 16, "--iterations", 2)
    whole = explain.open(tmp_path / "cg.halo").table("regions").row(0, named=True)
    assert 0 < whole["compute_time_mean"] <= whole["time_mean"]


def test_ideal_network_takes_no_time(simulate: Simulate, cg_8: Path, tmp_path: Path) -> None:
    words = ("--platform", "fat-tree", *IDEAL, "--compute-factor", "0", "-o", "ideal.halo")
    simulate(*words, cg_8)
    assert explain.open(tmp_path / "ideal.halo").info["duration"] < 1e-6


def test_a_trace(simulate: Simulate, tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    for rank in range(12):  # in the order of numbers: 2 before 10
        lines = [
            "init",
            "location a%2Fb 1",
            f"irecv {(rank - 1) % 12} 0 100 6",
            f"isend {(rank + 1) % 12} 0 100 6",
            "waitall 2",
            "location a%2Fb 0",
            "barrier",
            "finalize",
        ]
        text = "".join(f"{rank} {line}\n" for line in lines)
        (traces / f"rank{rank}.txt").write_text(text, encoding="ascii")
    simulate("--platform", "torus", "-o", "t.halo", traces)
    frame = explain.open(tmp_path / "t.halo").table("regions")
    assert frame["region"].to_list() == ["<program>", "a/b"]
    assert frame["bytes_sent_total"].to_list() == [1200, 1200]
    assert frame["colls_total"].to_list() == [12, 0]


def test_a_trace_that_is_a_pipe_or_has_no_end_is_refused(simulate: Simulate, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "/dev/zero"):
        (tmp_path / "list").write_text(f"{name}\n")
        fails(simulate("--platform", "torus", tmp_path / "list", status=None), 1, name, "is not a file")


def test_collective_algorithms_can_be_chosen(simulate: Simulate, cg_8: Path) -> None:
    words = ("--platform", "torus", "-o", "x.halo", cg_8)
    simulate("--collectives", "mpich,allreduce=lr", *words)
    fails(
        simulate("--collectives", "allreduce=none", *words, status=None), 1, "allreduce", "has no algorithm"
    )
    fails(simulate("--collectives", "lam", *words, status=None), 2, "lam", "openmpi")


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("deadlock", ("deadlock", "eager")),
        ("crash", ("SIGSEGV",)),
        ("abort", ("rank 1", "MPI_Abort", "3")),
        ("status", ("exit status 5",)),
        ("forever", ("more than 2.00 s", "HALOSCOPE_TIME_LIMIT")),
    ],
)
def test_programs_that_fail(
    simulate: Simulate,
    program: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    words: tuple[str, ...],
) -> None:
    if what == "forever":
        monkeypatch.setenv("HALOSCOPE_TIME_LIMIT", "2")
    done = simulate("--platform", "torus", "-n", 2, "-o", "no.halo", program, what, status=None)
    fails(done, 1, *words)
    assert not (tmp_path / "no.halo").exists()


def test_buffered_sends(simulate: Simulate, program: Path, tmp_path: Path) -> None:
    """Both send before they receive: it needs buffers, which other people's programs get."""
    words = ("--platform", "torus", "-n", 2, "-o", "b.halo")
    simulate(*words, program, "buffers")
    with pytest.raises(SimulationError, match="deadlock"):
        Simulation([program, "buffers"], "torus", 2, eager=0).run(tmp_path / "none.halo")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(haloscope: Path, program: Path, tmp_path: Path, number: signal.Signals) -> None:
    words = ("--platform", "torus", "-n", "2", str(program), "forever")
    command = [str(haloscope), "simulate", *words]
    child = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    end = time.monotonic() + HANG
    while not _simulations(program):
        assert child.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    child.send_signal(number)
    assert child.wait() == 128 + number
    wait_for_end(_simulations(program))


def _simulations(program: Path) -> list[int]:
    """The processes of SMPI that run this program."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"smpimain") and os.fsencode(program) in words:
            found.append(int(place.parent.name))
    return found


def test_usage(simulate: Simulate, cg_8: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy("/bin/true", tmp_path / "plain")
    fails(simulate("--platform", "torus", "-n", 2, "./plain", status=None), 2, "./plain", "smpicc")
    fails(simulate("--platform", "torus", "-n", 2, "./none", status=None), 2, "./none", "no such program")
    fails(simulate("--platform", "torus", "cg", status=None), 2, "-n")
    fails(simulate("--platform", "orfeo", "-n", 257, "cg", status=None), 2, "256", "257")
    fails(simulate("--platform", "moon", "-n", 2, "cg", status=None), 1, "moon", "fat-tree")
    fails(simulate("--platform", "torus", "-n", 7, cg_8.with_name("no.halo"), status=None), 1, "no.halo")
    monkeypatch.setenv("PATH", str(tmp_path))
    fails(simulate("--platform", "torus", "-n", 2, "cg", status=None), 69, "apt-get install")


def test_a_pattern_without_grid_is_not_scaled(simulate: Simulate, program: Path, tmp_path: Path) -> None:
    """In a ring of 4 and its halves, ranks that are 2 apart talk: no grid has that."""
    Simulation(program, "torus", 7, eager=0).run(tmp_path / "7.halo")
    fails(simulate("--platform", "torus", "-n", 14, "7.halo", status=None), 2, "no grid of 7 ranks")


def test_measuring_on_a_simulated_machine() -> None:
    """A chain of 2-byte messages is as long as its hops, or less by what ranks are late."""
    grid = BenchGrid(["bcast"], [5], [2], ["default", "chain", "binomial_tree"], fanouts=[1])
    sweep = collective(grid, CollectiveMethod(warmup=1, iterations=2), platform="orfeo")
    rows = {row["algorithm"]: row for row in sweep.points.to_dicts()}
    assert set(rows) == {"default", "chain", "binomial_tree"}
    longest = 3 * 0.15e-6 + 0.32e-6
    assert longest / 2 < rows["chain"]["time_max"] < longest + 5e-9
    assert 0 < rows["binomial_tree"]["time_max"] < rows["chain"]["time_max"]


COUNTED = {
    "regions": (
        "path",
        "sends_total",
        "recvs_total",
        "bytes_sent_total",
        "bytes_recv_total",
        "colls_total",
        "largest_message",
    ),
    "partners": ("rank", "partner", "sends", "recvs", "bytes_sent", "bytes_recv"),
    "sizes": ("kind", "bytes", "messages"),
    "collectives": ("operation", "comm_size", "bytes", "calls"),
    "calls": ("call", "calls", "bytes"),
}
# How often they are called is chance.
POLLS = {"MPI_Testsome", "MPI_Testall", "MPI_Testany", "MPI_Waitsome"}


def test_nearly_every_call_is_counted_as_in_a_real_run(haloscope: Path, any_mpi: Mpi, tmp_path: Path) -> None:
    """A program with a call of nearly everything."""
    source = Path(__file__).parent / "programs" / "many.c"
    environment = any_mpi.environment()
    for compiler, name in (("smpicc", "simulated"), (str(any_mpi.mpicc), "real")):
        subprocess.run(
            [compiler, str(source), "-o", name],
            cwd=tmp_path,
            env=environment,
            check=True,
            capture_output=True,
        )
    for command in (
        ["simulate", "--platform", "torus", "-n", "2", "-o", "simulated.halo", "--", "./simulated"],
        ["run", "--quiet", "-o", "real.halo", "--", *any_mpi.launch(2), "./real"],
    ):
        run_program([haloscope, *command], env=environment, cwd=tmp_path)
    simulated, real = (explain.open(tmp_path / f"{name}.halo") for name in ("simulated", "real"))
    info = dict(simulated.table("info").select("key", "value").iter_rows())
    assert json.loads(info["unaccounted"]) == {}
    for table, columns in COUNTED.items():
        rows = [
            {row for row in profile.table(table).select(columns).iter_rows() if row[0] not in POLLS}
            for profile in (simulated, real)
        ]
        assert rows[0] == rows[1], table
        assert rows[0], table
