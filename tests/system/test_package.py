"""The Python package as it is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import pytest

import haloscope
from haloscope.base import paths
from support.mpi import CHECKOUT, Mpi
from support.programs import Compiler
from support.watched import program


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
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of the checkout, which is gone afterwards."""
    directory = tmp_path_factory.mktemp("wheel")
    checkout = directory / "checkout"
    for name in _tracked("."):
        if (CHECKOUT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, checkout / name)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--no-build-isolation", "--wheel-dir", directory, checkout], check=True)
    shutil.rmtree(checkout)
    (built,) = directory.glob("haloscope-*-py3-none-linux_*.whl")
    return built


@pytest.mark.slow
def test_wheel_carries_what_the_recorder_is_built_from(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"haloscope/py.typed", "haloscope/explain/libhaloscope-explain.so"} <= names
    assert {"haloscope/predict/machines/orfeo.yaml", "haloscope/predict/page/model.js"} <= names
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
    def command(*words: str | Path) -> str:
        done = subprocess.run(
            [installed, *words],
            cwd=tmp_path,
            env=any_mpi.environment(),
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


def _tracked(tree: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", tree], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    return listed.stdout.splitlines()
