"""Taking launch commands apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from haloscope.base.launch import parse


@pytest.fixture
def bin_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of empty executables that is all of PATH; some are called as words are."""
    for name in """
        mpiexec mpirun mpiexec.hydra mpirun_rsh orterun prterun srun flux jsrun aprun env timeout nice app
        other ls PATH hosts run 4
    """.split():
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "mpiexec -n 4 app x y",
        "mpirun -np 4 ./app",
        "mpiexec.hydra -genv PATH value -n 4 app",
        "mpirun_rsh -np 4 app",
        "orterun -x PATH -hostfile hosts -n 4 app other",
        "prterun --prtemca plm_ssh_agent ls -n 4 app",
        "mpiexec --mca plm_rsh_agent ./ls -- app ls",
        "mpiexec --mca plm_rsh_agent ./ls app other",
        "mpiexec -launcher-exec ./ls app",
        "srun -J ls -n 4 --mpi pmix app",
        "srun -n4 -- app",
        "flux run -n 4 app",
        "flux run app other",
        "jsrun -n 4 -r 2 app",
        "aprun -n 4 app",
        "env A=b mpiexec -n 4 app",
        "timeout 60 nice -n 5 mpirun -n 4 app",
    ],
)
def test_program_of_a_launcher(bin_path: Path, command: str) -> None:
    launch = parse(command.split())
    assert launch.launcher is not None
    assert [program.path.name for program in launch.programs] == ["app"]


def test_options_end_at_the_program(bin_path: Path) -> None:
    launch = parse(["mpiexec", "-n", "2", "app", "-x", "PATH"])
    assert launch.options == ("-n", "2")
    assert launch.kind == "mpiexec"


def test_several_programs(bin_path: Path) -> None:
    launch = parse("mpiexec -n 1 app a : -n 2 -x PATH other : -n 1 app".split())
    assert [p.path.name for p in launch.programs] == ["app", "other", "app"]


def test_one_process(bin_path: Path) -> None:
    launch = parse(["./app", "mpiexec"])
    assert launch.launcher is None
    assert [p.path for p in launch.programs] == [bin_path / "app"]


def test_unknown_command_has_no_program(bin_path: Path) -> None:
    assert parse(["nothere", "app"]).programs == ()
    assert parse(["mpiexec", "-n", "2", "nothere"]).programs == ()


def test_paths_with_spaces(bin_path: Path) -> None:
    program = bin_path / "my app"
    program.write_text("")
    program.chmod(0o755)
    assert parse(["mpiexec", "-n", "2", "./my app"]).programs[0].path == program


def test_directories_are_no_programs(bin_path: Path) -> None:
    (bin_path / "folder").mkdir()
    launch = parse(["mpiexec", "folder", "app"])
    assert [p.path.name for p in launch.programs] == ["app"]


def test_environment_goes_before_each_program(bin_path: Path) -> None:
    launch = parse("mpiexec -n 1 app : other".split())
    command = launch.with_environment({"A": "b; c", "D": ""}).command
    words = ("/usr/bin/env", "A=b; c", "D=")
    assert command == ("mpiexec", "-n", "1", *words, "app", ":", *words, "other")
