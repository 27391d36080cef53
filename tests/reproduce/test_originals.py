"""A paper's own programs count only if they ran to their end, and printed a version that the study knows."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from haloscope.reproduce.study import PartOutcome, judge_study, read_study, run_study, studies
from support.mpi import CHECKOUT, Mpi
from support.programs import Compiler

STUDIES = CHECKOUT / "studies"
STUDY = """
title = "Study"
paper = "Paper"
[[part]]
name = "ours"
title = "Table IV"
script = "ours.py"
large = true
minutes = 1
[[part]]
name = "original"
title = "Kripke"
script = "script.py"
originals = ["kripke"]
tables = ["original.csv"]
minutes = 1
"""
PUBLISHED = """
[[numbers]]
part = "ours"
where = "Table IV"
reason = "counts are exact"
[numbers.values]
"Kripke 2: sends" = "3"
"""
SCRIPT = """
import sys
sys.path.insert(0, "{studies}")
import original_runs
from original_runs import Original, Run, fitting, record, write_originals
original_runs.LIMIT = {limit}
kripke = Original("kripke", "Kripke", r"Version (\\S+)", ("1.2",))
for run in fitting(kripke, [Run("Kripke 2", 2, "--niter 1", {memory})]):
    ended = record(kripke, run)
    whole = ended.profile.table("regions").row(0, named=True)
    write_originals("original", kripke, ended.version, {{"Kripke 2: sends": whole["sends_total"]}})
"""
MESSAGES = """
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, size, data = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 3 && size == 2; ++i) {
        if (rank == 0) MPI_Send(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else MPI_Recv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
"""
VERSION = "echo Version 1.2.7"
Try = Callable[..., PartOutcome]


@pytest.fixture
def attempt(tmp_path: Path, any_mpi: Mpi, haloscope: Path, monkeypatch: pytest.MonkeyPatch) -> Try:
    """`attempt("echo hello")` runs a study with a shell script for Kripke."""
    assert haloscope.exists()
    for name, value in any_mpi.environment().items():
        monkeypatch.setenv(name, value)

    def run(text: str, *, limit: float = 300, memory: float = 0) -> PartOutcome:
        folder, program = tmp_path / "study", tmp_path / "kripke.exe"
        folder.mkdir()
        (folder / "study.toml").write_text(STUDY)
        (folder / "published.toml").write_text(PUBLISHED)
        (folder / "script.py").write_text(SCRIPT.format(studies=STUDIES, limit=limit, memory=memory))
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        study = read_study(folder)
        outcomes = run_study(study, tmp_path / "out", originals={"kripke": program})
        (number,), outcome = judge_study(study, tmp_path / "out", outcomes).numbers, outcomes[1]
        assert number.original == (3 if outcome.state == "done" else None)
        assert "Traceback" not in (tmp_path / "out" / "original.log").read_text()
        return outcome

    return run


def test_a_known_version_has_its_counts(
    attempt: Try, compiler: Compiler, any_mpi: Mpi, tmp_path: Path
) -> None:
    program = compiler.text(any_mpi, "messages.c", MESSAGES)
    outcome = attempt(f"{VERSION}\nexec {program}")
    assert outcome.state == "done", outcome.why
    (row,) = csv.DictReader((tmp_path / "out" / "original.csv").read_text().splitlines())
    assert (row["name"], row["value"]) == ("Kripke 2: sends", "3")
    assert (row["program"], row["version"]) == ("Kripke", "1.2.7")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("echo Version 1.1", "kripke: printed version 1.1; this study knows 1.2 of Kripke"),
        ("echo hello", "kripke: printed nothing that Kripke prints: it is another program or version"),
        (
            f"{VERSION}\nexit 7",
            "kripke: Kripke 2 ended with status 7; see originals/kripke/kripke-2/output.txt",
        ),
        (VERSION, "kripke: no call of MPI was recorded: link it with the shared library of an MPI"),
    ],
)
def test_other_programs_give_no_numbers(attempt: Try, text: str, reason: str) -> None:
    outcome = attempt(text)
    assert outcome.state == "failed"
    assert outcome.why.startswith(f"{reason} (exit status 1")


def test_a_program_that_hangs_is_ended(attempt: Try) -> None:
    outcome = attempt(f"{VERSION}\nexec sleep 1000", limit=2)
    assert outcome.why.startswith("kripke: Kripke 2 did not end within 2 s; see originals/")


def test_a_program_without_enough_memory_is_not_run(attempt: Try) -> None:
    outcome = attempt("exit 1", memory=1e9)
    assert (outcome.state, outcome.why) == (
        "not run",
        "Kripke needs more memory or cores than this machine has",
    )


def test_kept_results_are_of_published_numbers() -> None:
    for study in studies().values():
        names = {name for group in study.published.numbers for name in group.values}
        file = study.folder / "originals.csv"
        if file.exists() and names:
            kept = list(csv.DictReader(file.read_text("utf-8").splitlines()))
            assert {row["name"] for row in kept} <= names
            assert len({row["name"] for row in kept}) == len(kept)
            assert all(row["version"] and row["date"] and float(row["value"]) >= 0 for row in kept)
