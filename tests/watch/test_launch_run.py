"""`haloscope.run` and `haloscope.env` on real launchers: where profiles go, statuses and remarks."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

import haloscope
from haloscope import LaunchError, OutputError, env, run
from support.missing import impossible, missing
from support.mpi import Mpi, find
from support.programs import Compiler

HELLO = """
#include <haloscope/region.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "no")) return 0;
  MPI_Init(&argc, &argv);
  HALOSCOPE_REGION_BEGIN("x y");
  HALOSCOPE_REGION_END("x y");
  if (argc > 1 && !strcmp(argv[1], "fail")) { MPI_Finalize(); return 5; }
  MPI_Finalize();
  return 0;
}
"""
OLD = b"\x89HALO\r\n\x1aof an earlier run"
STATIC = "int MPI_Init(int *a, char ***b) { return 0; } int main(void) { return MPI_Init(0, 0); }"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory whose name needs quoting, and looks like a pattern."""
    directory = tmp_path / "my 100%n [work], here %%"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


@pytest.fixture
def either(any_mpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> Mpi:
    """One MPI, in this process's environment."""
    for name, value in any_mpi.env.items():
        monkeypatch.setenv(name, value)
    return any_mpi


@pytest.fixture
def hello(mpi: Mpi, compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in mpi.env.items():
        monkeypatch.setenv(name, value)
    return compiler.text(mpi, "hello.c", HELLO)


def test_a_launcher_of_another_mpi_is_named(
    mpi: Mpi, hello: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts ranks that do not find each other."""
    other = find("mpich-system" if mpi.abi == "openmpi" else "openmpi-system")
    if other is None:
        missing("no second MPI is installed: apt-get install mpich openmpi-bin")
    for name, value in other.env.items():
        monkeypatch.setenv(name, value)
    outcome = run([*other.launch(2), str(hello)], output=Path("a.halo"))
    assert len(outcome.profiles) == 2
    (remark,) = outcome.remarks
    names = {"openmpi": "Open MPI", "mpich": "MPICH"}
    assert remark.startswith(f"hello uses {names[mpi.abi]}, but {other.mpiexec} is of {names[other.abi]}: ")
    assert remark.endswith(f"use the launcher of {names[mpi.abi]}")


def test_profile_is_found(mpi: Mpi, hello: Path, work: Path) -> None:
    command = [*mpi.launch(2), str(hello)]
    outcome = run(command, output=Path("a b.halo"), series=("x y", "z"))
    assert (outcome.status, outcome.remarks) == (0, [])
    assert outcome.profiles == [work / "a b.halo"]
    with haloscope.open("a b.halo") as profile:
        assert shlex.split(profile.info["command"]) == command
        assert profile.info["ranks"] == 2
        assert profile.table("series")["region"].to_list() == ["x y"] * 2
    assert [path.name for path in work.iterdir()] == ["a b.halo"]


def test_existing_profile_is_replaced(mpi: Mpi, hello: Path, work: Path) -> None:
    (work / "a.halo").write_bytes(OLD)
    outcome = run([*mpi.launch(2), str(hello)], output=Path("a.halo"))
    assert outcome.profiles == [work / "a.halo"]
    assert (work / "a.halo").read_bytes() != OLD


def test_existing_profile_is_not_taken_for_a_new_one(hello: Path, work: Path) -> None:
    (work / "a.halo").write_bytes(OLD)
    # Without a launcher: that of MPICH may die of SIGPIPE if its program ends at once.
    outcome = run([str(hello), "no"], output=Path("a.halo"))
    assert outcome.profiles == []
    assert "never called MPI_Init" in outcome.remarks[0]
    assert (work / "a.halo").read_bytes() == OLD


def test_a_file_that_is_no_profile_is_refused(work: Path) -> None:
    for content, refused in ((b"my thesis", True), (b"\x89HAL", True), (b"", False)):
        (work / "a.halo").write_bytes(content)
        with pytest.raises(OutputError, match="is not a profile") if refused else nullcontext():
            run(["touch", "started"], output=Path("a.halo"))
        assert (work / "a.halo").read_bytes() == content
        assert (work / "started").exists() != refused


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("kill -TERM $$", "SIGTERM ended job.sh before MPI_Init"),
        ("exit 3", "job.sh ended before MPI_Init, or could not be started (exit status 3)"),
        # Whether 132 is a signal's, only the program knows.
        ("exit 132", "job.sh ended before MPI_Init, or could not be started (exit status 132)"),
    ],
)
def test_what_ended_a_program(any_mpi: Mpi, work: Path, script: str, said: str) -> None:
    job = work / "job.sh"
    job.write_text(f"#!/bin/sh\n{script}\n")
    job.chmod(0o755)
    outcome = run([*any_mpi.launch(1), str(job)][3:], mpi=any_mpi.abi)  # type: ignore[arg-type]
    assert outcome.remarks == [f"no profile: {said}"]


def test_exit_status_is_the_programs(mpi: Mpi, hello: Path, work: Path) -> None:
    outcome = run([*mpi.launch(1), str(hello), "fail"], output=Path("a.halo"))
    assert os.waitstatus_to_exitcode(outcome.status) == 5
    assert outcome.profiles == [work / "a.halo"]


def test_one_process_without_a_launcher(mpi: Mpi, hello: Path, work: Path) -> None:
    outcome = run([str(hello)], output=Path("a.halo"))
    assert (outcome.status, outcome.profiles) == (0, [work / "a.halo"])


def test_a_script_that_launches(mpi: Mpi, hello: Path, work: Path) -> None:
    script = work / "job.sh"
    script.write_text(f"#!/bin/sh\nexec {shlex.join([*mpi.launch(2), str(hello)])}\n")
    script.chmod(0o755)
    outcome = run([str(script)], output=Path("a.halo"), mpi=mpi.abi)  # type: ignore[arg-type]
    assert (outcome.status, outcome.profiles) == (0, [work / "a.halo"])


def test_mpi4py_program(mpi: Mpi, hello: Path, work: Path) -> None:
    """mpi4py loads its library for itself alone; the recorder must find it all the same."""
    if mpi.library.name == "libmpich.so.12":
        impossible("mpi4py's wheel needs libmpi.so.12, which Debian calls otherwise")
    program = [sys.executable, "-c", "from mpi4py import MPI; print(MPI.COMM_WORLD.size)"]
    outcome = run([*mpi.launch(2), *program], output=Path("a.halo"))
    assert (outcome.status, outcome.profiles) == (0, [work / "a.halo"])


def test_exports_do_what_run_does(mpi: Mpi, hello: Path, work: Path) -> None:
    command = [*mpi.launch(2), str(hello)]
    variables = env(command, output=Path("it's.halo"), series=["x y"], live=work)
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    script = "\n".join([*lines, "export HALOSCOPE_RUN=x", shlex.join(command)])
    subprocess.run(["sh", "-c", script], check=True)
    assert [path.name for path in work.iterdir()] == ["it's.halo"]
    with haloscope.open("it's.halo") as profile:
        assert len(profile.table("series")) == 2


def test_program_without_mpi_runs(work: Path, capfd: pytest.CaptureFixture[str]) -> None:
    outcome = run(["sleep", "0"])
    assert (outcome.status, outcome.profiles) == (0, [])
    assert outcome.remarks == ["sleep links no MPI: it ran, and there was nothing to profile"]


def test_statically_linked_mpi_is_named(work: Path) -> None:
    (work / "static.c").write_text(STATIC)
    subprocess.run(["cc", "-static", "static.c", "-o", "static"], cwd=work, check=True)
    outcome = run([str(work / "static")])
    assert outcome.status == 0
    assert "statically" in outcome.remarks[0]


@pytest.mark.parametrize("place", ["nothere/a.halo", "/proc/a.halo", "/dev/null/a.halo"])
def test_unwritable_output_is_found_before_the_program_starts(work: Path, place: str) -> None:
    with pytest.raises(OutputError, match=r"a\.halo"):
        run(["touch", "started"], output=Path(place))
    assert not (work / "started").exists()


def test_unknown_command(work: Path) -> None:
    with pytest.raises(LaunchError, match="nothere: no such command"):
        run(["nothere"])


def test_a_default_name_replaces_nothing(mpi: Mpi, hello: Path, work: Path) -> None:
    """Runs of one second have one name."""
    (work / "there").mkdir()
    for _ in range(2):
        made = [run([str(hello)]), run([str(hello)], output=Path("there"))]
        assert all(len(outcome.profiles) == 1 for outcome in made)
    assert len(list(work.glob("*.halo"))) == len(list((work / "there").glob("*.halo"))) == 2


def test_profiles_of_others_are_not_the_runs(either: Mpi, compiler: Compiler, work: Path) -> None:
    """A job copies a profile of another day; a run inside it writes one that is the job's own, too."""
    program = compiler.text(either, "hello.c", HELLO)
    earlier = run([*either.launch(1), str(program)], output=Path("old.halo"))
    (old,) = earlier.profiles
    launch = shlex.join([*either.launch(2), str(program)])
    inner = shlex.join([sys.executable, "-m", "haloscope.cli", "run", "--quiet", "--", "sh", "-c", launch])
    job = work / "job.sh"
    job.write_text(f"#!/bin/sh\n{launch}\ncp {shlex.quote(str(old))} hello-2-copy.halo\n{inner}\n")
    job.chmod(0o755)
    outcome = run([str(job)], mpi=either.abi)  # type: ignore[arg-type]
    assert outcome.remarks == []
    assert len(list(work.glob("hello-2-*.halo"))) == 3
    assert len(outcome.profiles) == 2
    assert "hello-2-copy.halo" not in [path.name for path in outcome.profiles]


def test_ranks_name_their_programs(either: Mpi, compiler: Compiler, work: Path) -> None:
    ocean = compiler.text(either, "ocean.c", HELLO)
    air = compiler.text(either, "air.c", HELLO)
    command = [*either.launch(1), str(ocean), ":", "-n", "2", str(air)]
    (path,) = run(command, output=Path("a.halo")).profiles
    rows = haloscope.open(path).table("ranks", region="<program>")
    assert rows.select("rank", "program").rows() == [(0, ocean.name), (1, air.name), (2, air.name)]
