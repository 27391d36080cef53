"""Findings of real programs: problems that benchmarks/explain/planted.c has planted, and clean programs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import haloscope
from haloscope.explain.findings import Finding
from support.mpi import CHECKOUT, Mpi
from support.programs import Compiler
from support.watched import watch

PLANTED = CHECKOUT / "benchmarks" / "explain" / "planted.c"
# Problem, ranks, iterations, and the rule that names its cause.
PROBLEMS = [
    ("unequal_work", 2, 15, "imbalance"),
    ("many_small", 2, 40, "small_messages"),
    ("chain", 2, 15, "serial_chain"),
    ("new_communicators", 2, 30, "communicators_made"),
]
pytestmark = pytest.mark.alone  # times decide
BOTH = pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)


def found_in(path: Path) -> list[Finding]:
    """The findings, which never are more than the run."""
    found = haloscope.findings(path)
    with haloscope.open(path) as profile:
        whole = profile.table("regions")["time_max"][0]
    assert sum(finding.gain for finding in found) <= whole
    return found


@BOTH
@pytest.mark.parametrize(("problem", "ranks", "times", "rule"), PROBLEMS)
def test_a_planted_problem_is_found(
    mpi: Mpi, compiler: Compiler, tmp_path: Path, problem: str, ranks: int, times: int, rule: str
) -> None:
    program = compiler(mpi, PLANTED)
    done = watch(mpi, ranks, [program, problem, "on", str(times)], tmp_path)
    found = found_in(done.path)
    assert rule in [finding.rule for finding in found], found
    assert any(line.startswith("finding: ") for line in haloscope.explain.summary(haloscope.open(done.path)))


def test_ranks_on_one_cpu_are_found(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    program = compiler(any_mpi, PLANTED)
    bound: list[str | Path] = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    (finding,) = found_in(watch(any_mpi, 2, [*bound, program, "one_cpu", "on", "20"], tmp_path).path)
    assert (finding.rule, finding.ranks) == ("shared_cpu", (0, 1))


CLEAN = [("unequal_work", 2, 15), ("many_small", 2, 40), ("late_send", 2, 15)]


@pytest.mark.parametrize(("program", "ranks", "times"), CLEAN)
def test_the_same_without_it_has_no_finding_of_it(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, program: str, ranks: int, times: int
) -> None:
    """What else is found is the machine's: tests run beside others."""
    path = watch(any_mpi, ranks, [compiler(any_mpi, PLANTED), program, "off", str(times)], tmp_path).path
    causes = {
        "small_messages",
        "serial_chain",
        "late_sender",
        "late_receiver",
        "communicators_made",
        "polling",
    }
    assert not causes & {finding.rule for finding in found_in(path)}


@pytest.mark.parametrize("problem", ["late_send", "late_receive"])
def test_a_trace_says_who_is_late(any_mpi: Mpi, compiler: Compiler, tmp_path: Path, problem: str) -> None:
    rules = {"late_send": "late_sender", "late_receive": "late_receiver"}
    program = compiler(any_mpi, PLANTED)
    done = watch(any_mpi, 4, [program, problem, "on", "15"], tmp_path, options=["--trace"])
    (finding,) = [finding for finding in found_in(done.path) if finding.rule == rules[problem]]
    assert finding.evidence[-1].table == "waits"
