"""The Python package as it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import pytest

import haloscope
import prebuild
from haloscope.base import paths
from haloscope.base.headers import find_headers
from haloscope.hide import build_injector, build_placer
from haloscope.watch import build_recorder
from support.missing import missing
from support.mpi import CHECKOUT, REMEDY, Mpi, find
from support.programs import Compiler
from support.watched import Watched, program, watch


def test_importing_loads_no_table_library() -> None:
    script = "import haloscope, sys; print({'numpy', 'polars', 'plotly'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_every_public_name_exists() -> None:
    for name in haloscope.__all__:
        assert getattr(haloscope, name) is not None


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'haloscope' has no attribute 'oepn'"):
        haloscope.oepn  # type: ignore[attr-defined]  # noqa: B018 - the access is what fails


def test_missing_sources_are_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"no-such-room.*git status"):
        paths.source("src", "no-such-room")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, any_mpi: Mpi, mpich: Mpi) -> Path:
    """Built from a copy of the checkout, which is gone afterwards; with the recorders that tests use."""
    directory = tmp_path_factory.mktemp("wheel")
    checkout, prebuilt = directory / "checkout", directory / "prebuilt"
    for name in _tracked("."):
        if (CHECKOUT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, checkout / name)
    for mpi in (any_mpi, mpich):
        prebuild.make(prebuilt, prebuild.library(mpi.library), [build_recorder])
    prebuild.add_script(prebuilt)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    more = ["--no-build-isolation", "--config-settings", f"cmake.define.HALOSCOPE_PREBUILT={prebuilt}"]
    subprocess.run([*pip, *more, "--wheel-dir", directory, checkout], check=True)
    shutil.rmtree(checkout)
    (built,) = directory.glob("haloscope-*-py3-none-linux_*.whl")
    return built


@pytest.fixture(scope="module")
def mpich() -> Mpi:
    found = next(filter(None, map(find, ("mpich-system", "mpich-wheel"))), None)
    return found or missing(f"no MPICH is installed: {REMEDY['mpich-system']}")


@pytest.mark.timeout(300)  # the builds
def test_what_is_made_for_older_systems_can_be_loaded(
    any_mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a wheel: functions of an older C library stand in the place of all that they call."""
    monkeypatch.setenv("HALOSCOPE_OLDER_GLIBC", "1")
    monkeypatch.setenv("HALOSCOPE_CACHE", str(tmp_path / "cache"))
    made = prebuild.make(tmp_path, prebuild.library(any_mpi.library), [build_injector, build_placer])
    assert {"injector.tar.xz", "placer.tar.xz"} < {path.name for path in made.iterdir()}
    (injector,) = tmp_path.glob("cache/injector-*/libhaloscope-inject.so")
    assert prebuild.needed_glibc(injector) < (2, 28)


def test_what_cannot_be_loaded_is_not_packed(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int nowhere(void); int here(void) { return nowhere(); }")
    lacking = compiler(any_mpi, tmp_path / "a.c", ["-shared", "-fPIC"])
    with pytest.raises(SystemExit, match="nowhere"):
        prebuild.require_loadable(lacking)


@pytest.mark.slow
@pytest.mark.timeout(600)  # the build of the wheel
def test_wheel_carries_what_the_recorder_is_built_from(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"haloscope/py.typed", "haloscope/explain/libhaloscope-explain.so"} <= names
    assert {"haloscope/predict/machines/orfeo.yaml", "haloscope/predict/page/model.js"} <= names
    assert any(name.endswith(".dist-info/sboms/haloscope.cdx.json") for name in names)
    recorders = [name for name in names if name.endswith("/recorder.tar.xz")]
    assert len(recorders) == 2
    for tree in ("include", "src", "apps"):
        tracked = _tracked(tree)
        assert tracked, f"no {tree}/ in this checkout"
        assert {f"haloscope/_share/{path}" for path in tracked} <= names


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Path:
    """The command of an environment with the wheel in it, and what it depends on from here."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(python), "install"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    # Not the editable Haloscope there: the files that bring it are not read from here.
    (packages / "others.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n")
    for tool in ("cmake", "ninja"):
        (environment / "bin" / tool).symlink_to(Path(sys.executable).with_name(tool))
    return environment / "bin" / "haloscope"


@pytest.mark.slow
@pytest.mark.timeout(600)  # the first one builds the recorder
def test_an_installed_wheel_needs_no_checkout(
    installed: Path, any_mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    (include,) = find_headers(prebuild.library(any_mpi.library)).directories

    def command(*words: str | Path) -> str:
        done = subprocess.run(
            [installed, *words],
            cwd=tmp_path,
            # Headers that somebody names are built for.
            env=any_mpi.environment({"HALOSCOPE_MPI_INCLUDE": str(include)}),
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    where = "import haloscope; print(haloscope.__file__)"
    done = subprocess.run(
        [installed.with_name("python"), "-c", where], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(str(installed.parents[1]))
    twin = program(compiler, any_mpi, "twin.c")
    command("run", "--quiet", "-o", "twin.halo", "--", *any_mpi.launch(2), twin)
    assert "<program>" in command("show", "twin.halo")
    command("report", "twin.halo", "-o", "twin.html")
    assert "</html>" in (tmp_path / "twin.html").read_text()
    assert Path(command("where", "cg").strip()).is_file()


# What makes programs, or brings sources; and packages of extras.
_TOOLS = re.compile(
    r"(.*-)?(c\+\+|g\+\+|cc|gcc|cpp|clang|cmake|ninja|git|make|ld|as|gfortran|mpi(cc|c\+\+|cxx|f))[-.\d\w]*"
)
_EXTRAS = ("plotly", "scipy", "symbolic", "pympistandard")


@pytest.fixture
def plain_path(mpi: Mpi, tmp_path: Path) -> str:
    """All commands of the system but those, and the launcher of an MPI."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for command in Path("/usr/bin").iterdir():
        if not _TOOLS.fullmatch(command.name):
            (directory / command.name).symlink_to(command)
    (directory / "mpiexec").unlink(missing_ok=True)
    (directory / "mpiexec").symlink_to(mpi.mpiexec)
    assert not any(shutil.which(name, path=str(directory)) for name in ("c++", "mpicc", "cmake", "git"))
    return str(directory)


@pytest.mark.slow
@pytest.mark.timeout(600)  # the build of the wheel
@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)
def test_watching_needs_no_compiler(
    installed: Path, plain_path: str, mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    """The wheel's recorder counts what a built one counts, in an environment without any extra."""
    for tool in ("cmake", "ninja"):
        installed.with_name(tool).unlink()
    (packages,) = installed.parents[1].glob("lib/python*/site-packages")
    (packages / "bare.pth").write_text(f"import sys; sys.modules.update(dict.fromkeys({_EXTRAS}))\n")
    environment = mpi.environment() | {"PATH": plain_path, "HALOSCOPE_CACHE": str(tmp_path / "cache")}

    def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [installed, *words],
            cwd=tmp_path,
            env=environment,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    twin = program(compiler, mpi, "twin.c")
    done = command("run", "-o", "twin.halo", "--", "mpiexec", *mpi.launch(2)[1:], twin)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "building" not in done.stderr
    (unpacked,) = tmp_path.glob("cache/ready-recorder-*")
    assert mpi.abi in unpacked.name
    built = watch(mpi, 2, [twin], tmp_path)
    for table in ("regions", "calls", "partners", "sizes"):
        assert Watched(done, tmp_path / "twin.halo").facts(table) == built.facts(table), table
    for words in (
        "show twin.halo",
        "findings twin.halo",
        "report twin.halo -o twin.html",
        "export twin.halo --to cali",
        "doctor",
    ):
        done = command(*words.split())
        assert done.returncode == 0, done.stdout + done.stderr
    assert "recorder ready" in done.stdout
    told = command("regimes", "twin.halo")
    assert told.returncode == 1
    assert told.stderr == "haloscope: this needs scipy: pip install 'haloscope[statistics]'\n"


def _tracked(tree: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", tree], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    return listed.stdout.splitlines()
