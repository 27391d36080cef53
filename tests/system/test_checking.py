"""compare and check on real runs: repetitions count alike, changes are found, slow runs are run again."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import haloscope as package
from support.applications import Application
from support.mpi import Mpi
from support.mpis import tools
from support.processes import run_program
from support.programs import Compiler
from support.watched import watch


@dataclass(frozen=True)
class Runs:
    """Two runs of a program that are alike, and one that does more iterations."""

    program: Path
    usual: list[str]
    alike: list[Path]
    other: Path


def run_three(
    mpi: Mpi, compiler: Compiler, name: str, arguments: list[str], directory: Path, options: list[str]
) -> Runs:
    """Run an application; the last of `arguments` is the number of iterations."""
    program = Application.build(compiler, mpi, name).program
    more = [*arguments[:-1], str(int(arguments[-1]) + 2)]
    paths = []
    for index, words in enumerate((arguments, arguments, more)):
        place = directory / str(index)
        place.mkdir()
        paths.append(watch(mpi, 2, [program, *words], place, options=options).path)
    return Runs(program, arguments, paths[:2], paths[2])


@pytest.fixture(scope="module")
def runs(any_mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Of cg, with traces."""
    size = ["--nx", "8", "--ny", "8", "--nz", "8", "--iterations", "3"]
    return run_three(any_mpi, compiler, "cg", size, tmp_path_factory.mktemp("runs"), ["--trace"])


def assert_changes_are_found(runs: Runs) -> None:
    first, second = runs.alike
    compared = package.compare(first, second)
    assert len(compared.structure) == 0, compared.describe()
    compared = package.compare(runs.alike, [runs.other])
    assert not compared.structure["varies"].any()
    changed = compared.structure.filter(quantity="sends_total")
    assert len(changed) > 0
    assert (changed["second_count"] > changed["first_count"]).all()
    rules = package.learn_rules(runs.alike)
    assert package.check(second, rules).exit_status == 0
    assert package.check(runs.other, rules).exit_status == 3


def test_repetitions_are_alike_and_changes_are_found(runs: Runs) -> None:
    assert_changes_are_found(runs)


@pytest.mark.long
def test_repetitions_of_sweeps_are_alike(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    size = ["--procs", "2,1,1", "--zones", "8,8,8", "--niter", "2"]
    assert_changes_are_found(run_three(mpi, compiler, "sweep", size, tmp_path, []))


def test_traces_tell_waiting_from_transfer(runs: Runs) -> None:
    parts = package.compare(*runs.alike).parts
    assert set(parts["part"]) == {"compute", "waiting", "transfer", "caused"}
    for path, column in zip(runs.alike, ("first_time", "second_time"), strict=True):
        with package.open(path) as profile:
            waits = profile.table("waits", region="<program>").filter(pl.col("kind") != "other")
            waited = float(np.sum(waits["time_total"].to_numpy()))
            program_time = profile.table("regions")["time_mean"][0]
        whole = parts.filter(parts["part"] != "caused")[column].sum()
        assert whole == pytest.approx(program_time)
        assert parts.filter(part="waiting")[column].sum() == pytest.approx(waited / 2, rel=1e-6)
        # The time that ranks cause is at most the time that ranks wait: collectives' ends have no cause.
        assert parts.filter(part="caused")[column].sum() <= waited / 2 * (1 + 1e-9)


def test_the_fixture_for_pytest(any_mpi: Mpi, runs: Runs, haloscope: Path, tmp_path: Path) -> None:
    words = [*any_mpi.launch(2), str(runs.program), *runs.usual]
    (tmp_path / "conftest.py").write_text(
        'pytest_plugins = ["haloscope.explain.checking.pytest_helper"]\n', encoding="utf-8"
    )
    test = tmp_path / "test_app.py"
    test.write_text(f"def test_it(haloscope_check):\n    haloscope_check({words!r}, 'r.toml')\n")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return run_program(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words, str(test)],
            env=tools(any_mpi) | {"PATH": f"{haloscope.parent}{os.pathsep}{tools(any_mpi)['PATH']}"},
            cwd=tmp_path,
            status=None,
        )

    written = run("--haloscope-write-rules=1")
    assert (written.returncode, (tmp_path / "r.toml").exists()) == (0, True), written.stdout
    changed = test.read_text().replace("test_it", "test_more").replace("'3'", "'4'")
    test.write_text(test.read_text() + changed)
    failed = run()
    assert failed.returncode == 1
    assert "1 failed, 1 passed" in failed.stdout
    assert "sends_total" in failed.stdout


def test_a_slow_time_is_measured_again(any_mpi: Mpi, runs: Runs, haloscope: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    package.learn_rules(runs.alike[0], rules)
    # A limit that every run exceeds, and one that none reaches, however quick the machine is.
    text = rules.read_text().replace("again = 5", "again = 2")
    place = '[regions."<program>"]\ntime = { at_most = LIMIT }\n\n[regions."<program>".regions]'
    text = text.replace('[regions."<program>".regions]', place)
    assert place in text
    again = shlex.join([*any_mpi.launch(2), str(runs.program), *runs.usual])
    for limit, status in (("1e-9", 3), ("1e6", 0)):
        rules.write_text(text.replace("LIMIT", limit))
        done = run_program(
            [haloscope, "check", runs.alike[0], rules, "--again", again, "--format", "json"],
            env=tools(any_mpi),
            status=status,
        )
        assert bool(re.search(r"; median \S+ \S+ of 2 repeated runs", done.stdout)) == (status == 3)
        assert done.stdout.startswith("[")  # the program's own output went to standard error
