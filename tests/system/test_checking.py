"""compare and check on real runs: repetitions count alike, changes are found, slow runs are run again."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import haloscope as package
from support.applications import Application
from support.mpi import Mpi
from support.mpis import tools
from support.programs import Compiler
from support.watched import watch

SIZES = ["--nx", "8", "--ny", "8", "--nz", "8", "--iterations"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mpi", "application"), [("openmpi-system", "cg"), ("mpich-system", "sweep")], indirect=["mpi"]
)
def test_repetitions_are_alike_and_changes_are_found(
    mpi: Mpi, compiler: Compiler, application: str, tmp_path: Path
) -> None:
    program = Application.build(compiler, mpi, application).program
    usual = [*SIZES, "3"] if application == "cg" else ["--procs", "2,1,1", "--zones", "8,8,8", "--niter", "2"]
    other = [*usual[:-1], "5"]
    paths = []
    for index, arguments in enumerate((usual, usual, other)):
        directory = tmp_path / str(index)
        directory.mkdir()
        paths.append(watch(mpi, 2, [program, *arguments], directory).path)
    compared = package.compare(paths[0], paths[1])
    assert len(compared.structure) == 0, compared.told()
    compared = package.compare(paths[:2], paths[2:])
    assert not compared.structure["varies"].any()
    changed = compared.structure.filter(quantity="sends_total")
    assert len(changed) > 0
    assert (changed["second_count"] > changed["first_count"]).all()
    rules = package.learn_rules(paths[:2])
    assert package.check(paths[1], rules).exit_status == 0
    assert package.check(paths[2], rules).exit_status == 3


@pytest.mark.slow
def test_traces_tell_waiting_from_transfer(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    program = Application.build(compiler, any_mpi, "cg").program
    paths = []
    for index in range(2):
        directory = tmp_path / str(index)
        directory.mkdir()
        paths.append(watch(any_mpi, 2, [program, *SIZES, "3"], directory, options=["--trace"]).path)
    parts = package.compare(*paths).parts
    assert set(parts["part"]) == {"compute", "waiting", "transfer", "caused"}
    for path, column in zip(paths, ("first_time", "second_time"), strict=True):
        with package.open(path) as profile:
            waits = profile.table("waits", region="<program>").filter(pl.col("kind") != "other")
            waited = float(np.sum(waits["time_total"].to_numpy()))
            program_time = profile.table("regions")["time_mean"][0]
        whole = parts.filter(parts["part"] != "caused")[column].sum()
        assert whole == pytest.approx(program_time)
        assert parts.filter(part="waiting")[column].sum() == pytest.approx(waited / 2, rel=1e-6)
        # What is caused is what is waited, but for the ends of collectives, which nobody caused.
        assert parts.filter(part="caused")[column].sum() <= waited / 2 * (1 + 1e-9)


@pytest.mark.slow
def test_the_fixture_for_pytest(any_mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path) -> None:
    program = Application.build(compiler, any_mpi, "cg").program
    command = [*any_mpi.launch(2), str(program), *SIZES, "3"]
    (tmp_path / "conftest.py").write_text(
        'pytest_plugins = ["haloscope.explain.checking.pytest_helper"]\n', encoding="utf-8"
    )
    test = tmp_path / "test_app.py"
    words = list(map(str, command))
    test.write_text(f"def test_it(haloscope_check):\n    haloscope_check({words!r}, 'r.toml')\n")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words, str(test)],
            cwd=tmp_path,
            env=tools(any_mpi) | {"PATH": f"{haloscope.parent}{os.pathsep}{tools(any_mpi)['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )

    written = run("--haloscope-write-rules=1")
    assert (written.returncode, (tmp_path / "r.toml").exists()) == (0, True), written.stdout
    assert run().returncode == 0
    test.write_text(test.read_text().replace("'3'", "'4'"))
    failed = run()
    assert failed.returncode == 1
    assert "sends_total" in failed.stdout


@pytest.mark.slow
def test_a_slow_time_is_measured_again(
    any_mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path
) -> None:
    program = Application.build(compiler, any_mpi, "cg").program
    watched = watch(any_mpi, 2, [program, *SIZES, "3"], tmp_path)
    rules = tmp_path / "rules.toml"
    package.learn_rules(watched.path, rules)
    # A limit that every run is over by far, and one that none reaches, however quick the machine is.
    text = rules.read_text().replace("again = 5", "again = 2")
    place = '[regions."<program>"]\ntime = { at_most = LIMIT }\n\n[regions."<program>".regions]'
    text = text.replace('[regions."<program>".regions]', place)
    again = shlex.join(map(str, [*any_mpi.launch(2), program, *SIZES, "3"]))
    for limit, status in (("1e-9", 3), ("1e6", 0)):
        rules.write_text(text.replace("LIMIT", limit))
        done = subprocess.run(
            [haloscope, "check", watched.path, rules, "--again", again, "--format", "json"],
            env=tools(any_mpi),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        assert ("middle of 2 runs again" in done.stdout) == (status == 3)
        assert done.stdout.startswith("[")  # the program's own output went to standard error
