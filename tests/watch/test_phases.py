"""Iterations that are found in the calls of programs which mark nothing."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from haloscope import explain
from support.missing import missing
from support.mpi import CHECKOUT, Mpi
from support.processes import run_program
from support.programs import Compiler
from support.repeating import BUNDLED, LAMMPS, LAMMPS_IN_A_ROW, UNMARKED, lammps_deck
from support.watched import Watched, watch

Calls = Sequence[tuple[int, ...]]  # function and bytes, and which of the program's functions calls it
Find = Callable[[Calls], tuple[int, int]]
MESSAGE = 100  # functions from here on are those of messages (phases/find.cpp)

PHASES = {"HALOSCOPE_PHASES": "1"}
PATTERNLESS = """
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
static double in[1024], out[1024];
static void choose(int calls) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < calls; i++) {
    const int choice = rand() % 4, count = 1 << (rand() % 8), by = 1 + rand() % size;
    if (choice == 0) MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (choice == 1) MPI_Bcast(in, count, MPI_DOUBLE, by % size, MPI_COMM_WORLD);
    else if (choice == 2) MPI_Barrier(MPI_COMM_WORLD);
    else MPI_Sendrecv(in, count, MPI_DOUBLE, (rank + by) % size, 0, out, count, MPI_DOUBLE,
                      (rank - by + size) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}
static void farm(int tasks) {
  int rank, size, out_there = 0;
  MPI_Status status;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    for (int i = 1; i < size; i++, tasks--, out_there++) MPI_Send(in, 1, MPI_DOUBLE, i, 1, MPI_COMM_WORLD);
    for (; out_there > 0; tasks--) {
      MPI_Recv(out, 1024, MPI_DOUBLE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
      if (tasks <= 0) out_there--;
      MPI_Send(in, 1, MPI_DOUBLE, status.MPI_SOURCE, tasks > 0, MPI_COMM_WORLD);
    }
    return;
  }
  for (;;) {
    MPI_Recv(out, 1024, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == 0) return;
    MPI_Send(in, 1 + rand() % 5, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
  }
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  srand(7);
  if (!strcmp(argv[1], "random")) choose(1500);
  if (!strcmp(argv[1], "farm")) farm(600);
  MPI_Bcast(in, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Gather(in, 8, MPI_DOUBLE, out, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""
# Steps whose messages change with their lists, more than are remembered; in a periodic box of one rank.
STEPS = 1600
ROW = f"""
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
static double in[64], out[64];
static int self;
#define FAR __attribute__((noinline)) static void
#define EXCHANGE(count) MPI_Sendrecv(out, count, MPI_DOUBLE, self, 0, in, 64, MPI_DOUBLE, self, 0, \\
                                     MPI_COMM_WORLD, MPI_STATUS_IGNORE)
FAR forward(int n, int count) {{ for (int i = 0; i < n; i++) EXCHANGE(count); }}
FAR back(int n, int count) {{ for (int i = 0; i < n; i++) EXCHANGE(count); }}
FAR build(int n) {{
  MPI_Request request;
  for (int i = 0; i < n; i++) {{
    MPI_Irecv(in, 64, MPI_DOUBLE, self, 1, MPI_COMM_WORLD, &request);
    MPI_Send(out, 3, MPI_DOUBLE, self, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }}
}}
int main(int argc, char **argv) {{
  int n = 2, count = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  srand(7);
  build(3);
  back(n, count);
  for (int step = 1; step <= {STEPS}; step++) {{
    if (step % 7) {{
      forward(n, count);
    }} else {{
      n = 2 + rand() % 3;
      count = 1 + rand() % 60;
      build(n);
    }}
    usleep(20);
    back(n, count);
  }}
  MPI_Finalize();
  return 0;
}}
"""


@pytest.fixture(scope="session")
def find(tmp_path_factory: pytest.TempPathFactory) -> Find:
    made = tmp_path_factory.mktemp("phases") / "find"
    watched = CHECKOUT / "src" / "watch"
    sources = [Path(__file__).parent / "phases" / "find.cpp"]
    sources += [watched / "phases" / f"{name}.cpp" for name in ("pattern", "iterations", "views", "visits")]
    subprocess.run(["c++", "-std=c++20", "-O1", f"-I{watched.parent}", *sources, "-o", made], check=True)

    def found(calls: Calls) -> tuple[int, int]:
        lines = ((*call, 0)[:3] for call in calls)
        text = "".join(f"{function} {size} 10 {code}\n" for function, size, code in lines)
        iterations, length = run_program([made], text=text).stdout.split()
        return int(iterations), int(length)

    return found


def body_of(chance: random.Random, length: int) -> list[tuple[int, int]]:
    return [(chance.randrange(1, 6), 8 * chance.randrange(1, 20)) for _ in range(length - 1)] + [(7, 8)]


@pytest.mark.parametrize("seed", range(12))
def test_a_planted_period_is_found(find: Find, seed: int) -> None:
    chance = random.Random(seed)
    body = body_of(chance, chance.randrange(4, 40))
    times = chance.randrange(8, 60)
    start = [(chance.randrange(20, 30), n) for n in range(chance.randrange(3, 40))]
    assert find([*start, *(body * times), *[(40 + n, n) for n in range(9)]]) == (times, len(body))


@pytest.mark.parametrize("seed", range(12))
def test_what_is_done_now_and_then_ends_no_iteration(find: Find, seed: int) -> None:
    chance = random.Random(seed)
    body = body_of(chance, chance.randrange(6, 30))
    output = [(31, 8), (32, 8), (33, 8)]
    every, times = chance.randrange(7, 13), chance.randrange(30, 90)
    calls = [(20, n) for n in range(5)]
    for step in range(times):
        calls += output * (step > 0 and step % every == 0) + body
    assert find([*calls, (41, 1), (42, 1)]) == (times, len(body))


@pytest.mark.parametrize("seed", range(6))
def test_sizes_that_change_between_stretches_are_no_matter(find: Find, seed: int) -> None:
    chance = random.Random(seed)
    functions = [function for function, _ in body_of(chance, 10)]
    calls: list[tuple[int, int]] = [(20, n) for n in range(7)]
    for _ in range(8):
        sizes = [8 * chance.randrange(1, 4000) for _ in functions]
        exchange = [(11, 8 * chance.randrange(1, 4000)), (12, 8)]
        body = list(zip(functions, sizes, strict=True))
        calls += [*exchange, *(body * 12)]
    assert find([*calls, (41, 1), (42, 1)]) == (96, 10)


@pytest.mark.parametrize("messages", ["none", "of odd functions", "of most functions"])
def test_random_calls_have_no_iterations(find: Find, messages: str) -> None:
    for seed in range(60):
        chance = random.Random(seed)
        kinds = chance.randrange(3, 9)
        sizes = chance.choice([1, 4, 64])
        calls = []
        for _ in range(600):
            function = chance.randrange(1, kinds)
            is_message = function % 2 == 1 if messages == "of odd functions" else function > 2
            calls.append(
                (function + MESSAGE * (is_message and messages != "none"), 8 * chance.randrange(sizes))
            )
        assert find(calls) == (0, 0), seed


@pytest.mark.parametrize("seed", range(8))
def test_a_check_that_comes_and_goes_is_no_matter(find: Find, seed: int) -> None:
    chance = random.Random(seed)
    size = 0
    calls: list[tuple[int, int]] = [(20, n) for n in range(7)]
    every, times = chance.randrange(3, 6), chance.randrange(60, 150)
    for step in range(times):
        calls += [(1, 8)] * (step % 2 == 1)
        is_rebuilt = step % (4 * every) == 3
        size = chance.randrange(99) if is_rebuilt or step == 0 else size
        calls += [(MESSAGE + 1, size), (MESSAGE + 2, size), (MESSAGE + 2, 2 * size)] * 4 if is_rebuilt else []
        calls += [(MESSAGE + 1, size + i) if i % 2 else (MESSAGE + 3, 8) for i in range(9)]
        calls += [(2, 48), (2, 8)] * (step % 10 == 9)
    assert find([*calls, (41, 1), (42, 1)])[0] == times


@pytest.mark.parametrize("seed", range(8))
def test_neighbours_that_change_are_no_matter(find: Find, seed: int) -> None:
    chance = random.Random(seed)
    calls: list[tuple[int, int]] = [(20, n) for n in range(7)]
    variables, every, times = chance.randrange(2, 6), chance.randrange(4, 8), chance.randrange(40, 80)
    neighbours = [3, 4, 5]
    for step in range(times):
        for number in neighbours:
            calls += [(MESSAGE + 1, 8 * number)] * number
        calls += [(1, 8)] * variables
        if step % every == every - 1:
            neighbours = [chance.randrange(1, 20) for _ in range(3)]
            calls += [(2, 4), (MESSAGE + 2, 8), (MESSAGE + 3, 8), (2, 24)] * chance.randrange(1, 5)
    assert find([*calls, (41, 1), (42, 1)])[0] == times


@pytest.mark.parametrize("seed", range(8))
def test_exchanges_that_change_are_told_by_who_makes_them(find: Find, seed: int) -> None:
    """Positions go to neighbours and forces come back; building lists takes other functions."""
    chance = random.Random(seed)
    forward, back, atoms, ghosts, output = range(1, 6)
    calls: list[tuple[int, int, int]] = [(20, n, output) for n in range(7)]
    every, times = chance.randrange(3, 12), chance.randrange(60, 150)
    swaps = [(MESSAGE + 1, 8, 1)]
    for step in range(times + 1):
        if step % every == 0:
            swaps = [(MESSAGE + chance.randrange(2), 8 * chance.randrange(99), 0)] * chance.randrange(2, 9)
            calls += [(MESSAGE + 2, size, atoms) for _, size, _ in swaps] + [(MESSAGE + 3, 8, ghosts)] * 3
        else:
            calls += [(function, size, forward) for function, size, _ in swaps]
        calls += [(function, size, back) for function, size, _ in reversed(swaps)]
        calls += [(2, 48, output), (2, 8, output)] * (step % 13 == 12)
    assert find([*calls, (41, 1, output), (42, 1, output)])[0] == times


@pytest.mark.parametrize("seed", range(8))
def test_checksums_are_told_from_the_collectives_of_a_refinement(find: Find, seed: int) -> None:
    """Most bytes are sent in a step; what refines has loops of its own, of exchanges and collectives."""
    chance = random.Random(seed)
    step_of, check, refine, agree, move = range(1, 6)
    calls: list[tuple[int, int, int]] = [(20, n, refine) for n in range(9)] + [(1, 8, check)] * 4
    every, times = chance.randrange(1, 3), chance.randrange(30, 60)
    messages = 5
    for step in range(times):
        sent = chance.randrange(500, 900)
        calls += [(MESSAGE + 1, 8 * (sent + i), step_of) for i in range(messages)] + [(1, 8, check)] * 4
        if step % every == 0:
            messages = chance.randrange(3, 12)
            for _ in range(chance.randrange(1, 4)):
                calls += [(MESSAGE + 1, 4, refine)] * chance.randrange(1, 9) + [(1, 4, agree)]
            calls += [(MESSAGE + 1, 8 * chance.randrange(9), move)] * chance.randrange(4) + [(2, 4, refine)]
    assert find([*calls, (41, 1, refine), (42, 1, refine)])[0] == times


def test_random_functions_have_no_iterations(find: Find) -> None:
    for seed in range(60):
        chance = random.Random(seed)
        functions = chance.randrange(2, 9)
        calls = [
            (MESSAGE + chance.randrange(3), 8 * chance.randrange(64), chance.randrange(functions))
            for _ in range(600)
        ]
        assert find(calls) == (0, 0), seed


def iterations_of(watched: Watched) -> set[int]:
    assert watched.done.returncode == 0, watched.done.stderr
    rows = watched.rows("phases")
    assert all(row["found_after"] <= row["iterations"] and 0 < row["share"] <= 1 for row in rows)
    return {row["iterations"] for row in rows}


def unmarked(compiler: Compiler, mpi: Mpi, name: str, tmp_path: Path) -> Path:
    header = tmp_path / "unmarked.hpp"
    header.write_text(UNMARKED)
    sources = sorted((CHECKOUT / "apps" / name).glob("*.cpp"))
    # In place of the real one, which has the same guard.
    flags = ["-std=c++20", "-O1", "-include", str(header)]
    return compiler(mpi, sources[0], [*flags, *map(str, sources[1:])])


@pytest.mark.long
@pytest.mark.parametrize(("name", "arguments", "expected"), BUNDLED)
def test_the_iterations_of_an_application_are_counted(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, name: str, arguments: str, expected: int
) -> None:
    program = unmarked(compiler, any_mpi, name, tmp_path)
    watched = watch(any_mpi, 4, [program, *arguments.split()], tmp_path, env=PHASES)
    assert iterations_of(watched) == {expected}
    assert len(watched.rows("phases")) == 4
    region = watched.region("phase 1/iteration")
    late = {row["found_after"] for row in watched.rows("phases")}
    assert expected - max(late) - 1 <= region["instances"] <= expected - min(late) + 1


@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)  # Debian's LAMMPS is Open MPI's
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("every 20 steps", 87287),
        # Other atoms move to other ranks, as on other machines.
        *(
            pytest.param(name, seed, marks=pytest.mark.long)
            for name in (*LAMMPS, "every 15 steps, in a row", "if it has to, in a row")
            for seed in (87287, 500369)
            if (name, seed) != ("every 20 steps", 87287)
        ),
    ],
)
def test_the_steps_of_lammps_are_counted(mpi: Mpi, tmp_path: Path, name: str, seed: int) -> None:
    program = shutil.which("lmp")
    if program is None:
        missing("apt-get install lammps")
    deck = {**LAMMPS, **LAMMPS_IN_A_ROW}[name]
    (tmp_path / "in.steps").write_text(lammps_deck(deck, seed))
    command = [str(program), "-in", str(tmp_path / "in.steps"), "-log", "none"]
    watched = watch(mpi, deck.ranks or 2, command, tmp_path, env=PHASES)
    assert iterations_of(watched) == {deck.steps}
    assert {row["phase"] for row in watched.rows("phases")} == {1}


def test_steps_whose_messages_change_are_counted(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    watched = watch(mpi, 2, [compiler.text(mpi, "row.c", ROW)], tmp_path, env=PHASES)
    assert iterations_of(watched) == {STEPS}
    assert {row["phase"] for row in watched.rows("phases")} == {1}


LATER = """
#include <haloscope/region.h>
#include <mpi.h>
#include <string.h>
#include <unistd.h>
static void step(int to, int from) {
  double in[64], out[64] = {0};
  MPI_Sendrecv(out, 64, MPI_DOUBLE, to, 0, in, 64, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  usleep(50);
  MPI_Allreduce(out, in, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(in, 4, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 200; i++) step((rank + 1) % size, (rank + size - 1) % size);
  if (!strcmp(argv[1], "abort")) MPI_Abort(MPI_COMM_WORLD, 3);
  if (!strcmp(argv[1], "marker")) {
    HALOSCOPE_REGION_BEGIN("rest");
    for (int i = 0; i < 5000; i++) MPI_Barrier(MPI_COMM_WORLD);
    HALOSCOPE_REGION_END("rest");
  }
  MPI_Finalize();
  return 0;
}
"""


@pytest.mark.parametrize("end", ["whole", "marker", "abort"])
def test_only_iterations_of_the_whole_run_are_in_the_summary(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, end: str
) -> None:
    """A marker or an abort ends the search: the part that was seen says nothing about the rest."""
    program = compiler.text(any_mpi, "later.c", LATER)
    watched = watch(any_mpi, 2, [program, end], tmp_path, env=PHASES, status=None)
    lines = [line for line in explain.summary(explain.open(watched.path)) if line.startswith("phase ")]
    assert len(lines) == (end == "whole")
    assert all("phase 1: 200 iterations of 3 calls" in line for line in lines)
    assert all((row["share"] is None) == (end != "whole") for row in watched.rows("phases"))


@pytest.mark.parametrize("kind", ["random", "farm", "short"])
def test_a_program_without_a_pattern_has_no_phase(
    mpi: Mpi, compiler: Compiler, tmp_path: Path, kind: str
) -> None:
    watched = watch(mpi, 4, [compiler.text(mpi, "patternless.c", PATTERNLESS), kind], tmp_path, env=PHASES)
    assert iterations_of(watched) == set()
    assert {row["path"] for row in watched.rows("regions")} == {"<program>"}
