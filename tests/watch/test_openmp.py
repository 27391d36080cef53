"""OpenMP: regions, threads and barriers, as the runtime reports them to the recorder's tool."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

import haloscope
from support.missing import missing
from support.mpi import Mpi
from support.processes import run_program
from support.programs import Compiler
from support.watched import PROGRAMS, Watched, program, watch

RANKS, ROUNDS = 2, 5
STEP = 0.02 * ROUNDS  # seconds that one thread at least works or waits in a region of told_openmp.c
EVENTS = ("-ldl", "-pthread", "-Wno-pedantic")
TIMES = ("parallel", "team", "thread", "mpi", "barrier", "imbalance")


@cache
def llvm_runtime() -> Path:
    found = sorted(Path("/usr/lib").glob("llvm-*/lib/libomp.so.5"))
    if not found:
        missing("LLVM's OpenMP is not installed: apt-get install libomp5")
    return found[-1]


def flags_of_llvm() -> list[str]:
    """GCC's programs call GCC's runtime by functions that LLVM's has, too."""
    library = llvm_runtime()
    return ["-fopenmp", "-Wl,--as-needed", str(library), f"-Wl,-rpath,{library.parent}"]


def rows_of(run: Watched, region: str, exclusive: bool = False) -> list[dict[str, Any]]:
    rows = run.select("ranks", exclusive, region=region)
    assert rows
    return rows


def status_of(run: Watched) -> list[str]:
    with haloscope.open(run.path) as profile:
        return profile.frame("processes", ["openmp"])["openmp"].to_list()


def check_sums(run: Watched) -> None:
    """Parts of the threads' time are not longer than it is."""
    for row in [*run.rows("ranks", True), *run.rows("ranks", False)]:
        parallel, team, thread, mpi, barrier, imbalance = (row[f"omp_{name}_time"] for name in TIMES)
        rounding = 1e-9
        assert min(parallel, team, thread, mpi, barrier, imbalance) >= 0
        assert parallel <= team + rounding
        assert team <= row["omp_threads"] * parallel + rounding
        assert thread + mpi + barrier <= team + rounding
        assert thread + mpi + imbalance <= team + rounding
        assert (row["omp_regions"] == 0) == (row["omp_threads"] == 0) == (team == 0)


@pytest.fixture(scope="module")
def told(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    command = [program(compiler, mpi, "told_openmp.c", EVENTS)]
    return watch(mpi, RANKS, command, tmp_path_factory.mktemp("told"))


@pytest.mark.parametrize(
    ("region", "regions", "threads"),
    [
        ("late", ROUNDS, 2),
        ("early", ROUNDS, 2),
        ("old", ROUNDS, 2),
        ("by turns", ROUNDS, 2),
        ("old by turns", ROUNDS, 2),
        ("tasks", ROUNDS, 2),
        ("old tasks", ROUNDS, 2),
        ("nested", 2 * ROUNDS, 2),
        ("communication", ROUNDS, 2),
        ("deep", 4 * ROUNDS, 1),
        ("new threads", 20 * ROUNDS, 2),
        ("off", 0, 0),
    ],
)
def test_parallel_regions_and_threads_are_counted(
    told: Watched, region: str, regions: int, threads: int
) -> None:
    """Without those before MPI_Init and after MPI_Finalize, and those that are nested deeper than four."""
    for row in rows_of(told, region):
        assert (row["omp_regions"], row["omp_threads"]) == (regions, threads)
    assert told.region(region)["omp_regions_total"] == regions * RANKS


def test_sums_of_events_hold(told: Watched) -> None:
    check_sums(told)
    assert set(status_of(told)) == {"recorded"}


@pytest.mark.parametrize("region", ["late", "early", "old"])
def test_a_thread_that_has_nothing_to_do_waits(told: Watched, region: str) -> None:
    for row in rows_of(told, region):
        assert row["omp_team_time"] == pytest.approx(2 * row["omp_parallel_time"])
        least = (row["omp_barrier_time"], row["omp_imbalance_time"], row["omp_thread_time"])
        assert min(least) >= STEP


@pytest.mark.parametrize("region", ["by turns", "old by turns"])
def test_both_threads_wait_and_work(told: Watched, region: str) -> None:
    for row in rows_of(told, region):
        assert min(row["omp_barrier_time"], row["omp_thread_time"]) >= 2 * STEP


@pytest.mark.parametrize("region", ["tasks", "old tasks"])
def test_tasks_in_a_barrier_are_work(told: Watched, region: str) -> None:
    for row in rows_of(told, region):
        assert min(row["omp_barrier_time"], row["omp_thread_time"]) >= STEP


def check_mpi(run: Watched) -> None:
    """All messages and collectives are in parallel regions, those of threads in their own regions, too."""
    for row in rows_of(run, "<program>"):
        assert 0 < row["omp_mpi_time"] == pytest.approx(row["p2p_time"] + row["coll_time"], rel=1e-6)


def test_mpi_in_parallel_regions_is_known(told: Watched) -> None:
    """Of threads with records and of new ones."""
    check_mpi(told)


def test_another_tool_has_the_place(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    own = compiler(any_mpi, PROGRAMS / "own_tool.c", ["-shared", "-fPIC"])
    events = program(compiler, any_mpi, "told_openmp.c", EVENTS)
    preload = any_mpi.environment().get("LD_PRELOAD", "")
    for env, printed in (
        ({"OMP_TOOL_LIBRARIES": str(own)}, "no tool"),
        ({"LD_PRELOAD": f"{preload}:{own}".lstrip(":")}, "another tool"),
    ):
        run = watch(any_mpi, RANKS, [events], tmp_path, env=env)
        assert run.done.stdout.split("\n")[:RANKS] == [printed] * RANKS
        assert set(status_of(run)) == {"another tool"}
        assert run.region("<program>")["omp_regions_total"] == 0


def test_a_data_race_detector_gets_the_tool(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """LLVM's runtime looks for its own detector last."""
    detector = compiler.text(any_mpi, "detector.c", "void __tsan_init(void) {}", ["-shared", "-fPIC"])
    events = program(compiler, any_mpi, "told_openmp.c", [*EVENTS, "-Wl,--no-as-needed", str(detector)])
    run = watch(any_mpi, 1, [events], tmp_path)
    assert "no tool" in run.done.stdout


def test_gcc_has_no_interface(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    run = watch(any_mpi, RANKS, [program(compiler, any_mpi, "openmp.c", ["-fopenmp"])], tmp_path)
    assert set(status_of(run)) == {"no interface"}
    assert run.region("<program>")["omp_regions_total"] == 0
    assert run.rows("pop")[0]["hybrid"] is None


def test_a_program_without_openmp_has_none(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    run = watch(any_mpi, RANKS, [program(compiler, any_mpi, "regions.c")], tmp_path)
    assert set(status_of(run)) == {""}


THREADS = 3
CASES = {
    "balanced": (20, THREADS),
    "uneven": (20, THREADS),
    "barriers": (1, THREADS),
    "nested": (60, 4),
    "tasks": (20, THREADS),
    "single thread": (20, 1),
    "communication": (20, THREADS),
}


@pytest.fixture(scope="module", params=[(), ("multiple",)], ids=["funneled", "multiple"])
def hybrid(
    request: pytest.FixtureRequest, mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory
) -> Watched:
    command = [str(program(compiler, mpi, "openmp.c", flags_of_llvm())), *request.param]
    return watch(mpi, RANKS, command, tmp_path_factory.mktemp("hybrid"))


def test_a_program_with_llvms_runtime(hybrid: Watched) -> None:
    check_sums(hybrid)
    assert set(status_of(hybrid)) == {"recorded"}
    for region, (regions, threads) in CASES.items():
        for row in rows_of(hybrid, region):
            assert (row["omp_regions"], row["omp_threads"]) == (regions, threads), region
            if region != "nested":
                assert row["omp_team_time"] == pytest.approx(threads * row["omp_parallel_time"]), region
    assert rows_of(hybrid, "serial")[0]["omp_regions"] == 0
    whole = sum(regions for regions, _ in CASES.values())
    assert hybrid.region("<program>")["omp_regions_total"] == RANKS * whole


def test_threads_of_llvms_runtime_work_as_long_as_the_program_says(hybrid: Watched) -> None:
    """Each waits for a clock, so a busy machine only makes it longer."""
    for region, seconds in {"balanced": 0.012, "uneven": 0.04, "barriers": 0.02, "tasks": 0.08}.items():
        for row in rows_of(hybrid, region):
            assert row["omp_thread_time"] >= seconds, region
            assert row["omp_barrier_time"] > 0, region
    check_mpi(hybrid)


def test_efficiencies_of_a_hybrid_program(hybrid: Watched) -> None:
    whole = hybrid.rows("pop")[0]
    assert whole["hybrid"] == pytest.approx(whole["parallel"] * whole["openmp"])
    factors = [whole[f"openmp_{name}"] for name in ("load_balance", "scheduling", "serial")]
    assert all(0 < factor <= 1 for factor in factors)
    assert whole["openmp"] == pytest.approx(factors[0] * factors[1] * factors[2])


def test_results_are_those_without_the_recorder(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """A program without MPI is none of ours."""
    text = (
        "#include <omp.h>\n#include <stdio.h>\n"
        "int main(void) {\n  int sum = 0;\n#pragma omp parallel num_threads(3) reduction(+ : sum)\n"
        '  sum += omp_get_thread_num();\n  printf("%d\\n", sum);\n  return 0;\n}\n'
    )
    serial = compiler.text(any_mpi, "sums.c", text, flags_of_llvm())
    run = watch(any_mpi, 1, [serial], tmp_path, status=None)
    alone = run_program([serial], env=any_mpi.environment()).stdout
    assert run.done.stdout == alone == "3\n"
    assert not run.path.exists()
