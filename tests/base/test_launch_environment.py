"""What the ranks are given, and how launchers are made to pass it on."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from haloscope import UsageError
from haloscope.base.environment import (
    earlier_preload,
    forward_variables,
    prepare_launch,
    recorder_environment,
)
from haloscope.base.headers import Headers
from haloscope.base.launch import parse
from haloscope.base.mpi import Mpi, Origin
from haloscope.base.objects import Abi, MpiLibrary
from haloscope.base.settings import Value, to_environment
from haloscope.watch import SETTINGS, Recorder

LIST = "OMPI_MCA_mca_base_env_list"
RECORDER = Recorder(Path("/cache/recorder"))
VARIABLES = {"LD_PRELOAD": "/cache/recorder/lib.so", "HALOSCOPE_OUTPUT": "/my data/a,b.halo"}


def mpi(abi: Abi = "openmpi", origin: Origin = "linked") -> Mpi:
    headers = Headers(abi, (Path("/mpi/include"),), "Open MPI 4.1.4", (3, 1))
    return Mpi(MpiLibrary(abi, Path("/mpi/lib/libmpi.so.40")), headers, origin)


@pytest.fixture(autouse=True)
def executables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mpiexec", "srun", "app"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_recorder_is_first() -> None:
    environment = recorder_environment(mpi(), RECORDER, {}, "/a/tcmalloc.so /b/other.so")
    assert environment["LD_PRELOAD"].split(":") == [str(RECORDER.library), "/a/tcmalloc.so", "/b/other.so"]


@pytest.mark.parametrize("origin", ["linked", "mpicc", "chosen"])
def test_no_library_is_preloaded_on_a_guess(origin: Origin) -> None:
    environment = recorder_environment(mpi(origin=origin), RECORDER, {}, "")
    assert environment["LD_PRELOAD"] == str(RECORDER.library)


@pytest.mark.parametrize("origin", ["mpi4py", "launcher"])
def test_library_follows_for_programs_that_load_it_themselves(origin: Origin) -> None:
    environment = recorder_environment(mpi(origin=origin), RECORDER, {}, "/a/tcmalloc.so")
    assert environment["LD_PRELOAD"].split(":") == [
        str(RECORDER.library),
        "/a/tcmalloc.so",
        "/mpi/lib/libmpi.so.40",
    ]


@pytest.mark.parametrize("runtime", ["/a/libasan.so.8", "libtsan.so", "/a/libclang_rt.asan-x86_64.so"])
def test_runtimes_that_must_be_first_stay_first(runtime: str) -> None:
    environment = recorder_environment(mpi(), RECORDER, {}, f"/a/counter.so:{runtime}")
    assert environment["LD_PRELOAD"].split(":") == [runtime, str(RECORDER.library), "/a/counter.so"]


def test_another_recorder_is_not_kept() -> None:
    environment = recorder_environment(mpi(), RECORDER, {}, "/old/libhaloscope-watch.so:/a.so")
    assert environment["LD_PRELOAD"].split(":") == [str(RECORDER.library), "/a.so"]


@pytest.mark.parametrize("name", ["a b", "a:b", "a$b"])
def test_paths_that_preload_cannot_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/tmp")
    recorder = Recorder(tmp_path / name)
    recorder.directory.mkdir()
    recorder.library.write_text("library")
    for _ in range(2):
        preload = recorder_environment(mpi(), recorder, {}, "")["LD_PRELOAD"]
        assert not set(" :$") & set(preload)
        assert Path(preload).read_text() == "library"
    Path(preload).unlink()


@pytest.mark.parametrize("variable", ["LD_PRELOAD", "HALOSCOPE_OUTPUT"])
def test_open_mpi_list_names_every_variable(variable: str) -> None:
    assert variable in forward_variables(VARIABLES, {})[LIST].split(";")


def test_open_mpi_list_is_merged() -> None:
    given = {LIST: "OMP_NUM_THREADS;LD_PRELOAD=/a.so;X=1 2"}
    names = forward_variables(VARIABLES, given)[LIST].split(";")
    assert names == ["OMP_NUM_THREADS", "X=1 2", "LD_PRELOAD", "HALOSCOPE_OUTPUT"]


def test_slurm_list_is_extended() -> None:
    assert forward_variables(VARIABLES, {"SLURM_EXPORT_ENV": "PATH,HOME"})["SLURM_EXPORT_ENV"] == (
        "PATH,HOME,LD_PRELOAD,HALOSCOPE_OUTPUT"
    )
    assert "SLURM_EXPORT_ENV" not in forward_variables(VARIABLES, {"SLURM_EXPORT_ENV": "ALL"})


@pytest.mark.parametrize(
    ("command", "environment"),
    [
        ("mpiexec -x OMP_NUM_THREADS -n 2 app", {}),
        ("mpiexec --mca mca_base_env_list A -n 2 app", {}),
        ("mpiexec -genvnone -n 2 app", {}),
        ("mpiexec -genvlist PATH -n 2 app", {}),
        ("srun --export=NONE -n 2 app", {}),
        ("srun --export PATH -n 2 app", {}),
        ("srun -n 2 app", {"SLURM_EXPORT_ENV": "NONE"}),
    ],
)
def test_command_carries_what_the_environment_cannot(command: str, environment: dict[str, str]) -> None:
    launch, complete = prepare_launch(parse(command.split()), mpi(), VARIABLES, environment)
    assert launch.command[-2:] == ("HALOSCOPE_OUTPUT=/my data/a,b.halo", "app")
    assert LIST not in complete


@pytest.mark.parametrize("command", ["mpiexec -n 2 app -x A", "srun --export=ALL -n 2 app"])
def test_command_is_left_alone_otherwise(command: str) -> None:
    launch, complete = prepare_launch(parse(command.split()), mpi(), VARIABLES, {"A": "b"})
    assert launch.command == tuple(command.split())
    assert complete.items() >= (VARIABLES | {"A": "b"}).items()


def test_values_with_semicolons_go_into_the_command() -> None:
    values = {"HALOSCOPE_OUTPUT": "/a;b.halo"}
    launch, _ = prepare_launch(parse(["mpiexec", "app"]), mpi(), values, {})
    assert launch.command == ("mpiexec", "/usr/bin/env", "HALOSCOPE_OUTPUT=/a;b.halo", "app")


def test_scripts_that_use_x_are_not_given_the_list(tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\nmpirun -n 2 -x OMP_NUM_THREADS ./app\n")
    script.chmod(0o755)
    _, complete = prepare_launch(parse([str(script)]), mpi(), VARIABLES, {})
    assert LIST not in complete


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("mpiexec -n 2 app", "/user.so"),
        ("mpiexec -x LD_PRELOAD=/mine.so app", "/mine.so"),
        ("mpiexec -genv LD_PRELOAD /mine.so app", "/mine.so"),
    ],
)
def test_what_the_user_preloads(command: str, expected: str) -> None:
    launch = parse(command.split())
    assert earlier_preload(launch, {"LD_PRELOAD": "/user.so"}) == expected


def test_settings_become_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    values: dict[str, Value | None] = {
        "output": Path("a b.halo"),
        "series": ("halo", "main/solve x"),
        "exact_times": True,
        "memory": 32,
        "live": None,
    }
    assert to_environment(values, {"HALOSCOPE_LIVE": "/scratch", "HALOSCOPE_MEMORY": "8"}, SETTINGS) == {
        "HALOSCOPE_OUTPUT": f"{tmp_path}/a b.halo",
        "HALOSCOPE_SERIES": "halo\nmain/solve x",
        "HALOSCOPE_EXACT_TIMES": "1",
        "HALOSCOPE_MEMORY": "32",
        "HALOSCOPE_LIVE": "/scratch",
    }


@pytest.mark.parametrize(
    "values", [{"memory": 0}, {"series": ("a\nb",)}, {"series": ("",)}, {"ranks": "3-1"}]
)
def test_settings_are_checked(values: dict[str, Value]) -> None:
    with pytest.raises(UsageError):
        to_environment(values, {}, SETTINGS)


def test_settings_are_documented() -> None:
    """The page of the recorder's interface has each variable."""
    page = (Path(__file__).parents[2] / "docs" / "design-environment.md").read_text()
    for setting in SETTINGS:
        assert f"`{setting.variable}`" in page


def test_link_directory_of_someone_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    private = tmp_path / f"haloscope-{os.getuid()}"
    private.mkdir()
    private.chmod(0o777)
    with pytest.raises(Exception, match="a different user"):
        recorder_environment(mpi(), Recorder(Path("/a b")), {}, "")
    shutil.rmtree(private)
