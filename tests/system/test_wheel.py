"""What a wheel brings ready-made: for this machine, for older systems, and for another processor."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
import pytest

import prebuild
from haloscope.base.headers import Headers, find_headers
from haloscope.base.objects import MpiLibrary
from haloscope.base.prebuilt import SOURCES, find_prebuilt, source_mark, unpack_prebuilt
from haloscope.base.version import own_version
from haloscope.hide import build_injector, build_placer
from haloscope.watch import build_recorder
from support.missing import missing
from support.mpi import CHECKOUT, REMEDY, Mpi, find
from support.processes import run_program
from support.programs import Compiler
from support.small_mpi import FUNCTIONS, small_header, small_open_mpi
from support.watched import Watched, program, watch


@dataclass(frozen=True)
class Small:
    """What a build leaves in the cache."""

    directory: Path


def shared_library(file: Path, functions: Sequence[str]) -> None:
    text = "".join(f"void {name}(void) {{}}\n" for name in functions)
    words = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(file)]
    subprocess.run(words, input=text, text=True, check=True)


def test_what_is_made_ready_is_found_and_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorder of three functions, for an MPI of four."""
    mpi = MpiLibrary("openmpi", small_open_mpi(tmp_path / "site" / "lib", "4.1.4"))
    small_header(tmp_path / "site" / "include", "4.1.4")
    source = tmp_path / "source.cpp"
    source.write_text("int zero;\n")

    def build(headers: Headers, quiet: bool) -> Small:
        assert (headers.product, quiet) == ("Open MPI 4.1.4", True)
        directory = tmp_path / "recorder-1"
        directory.mkdir()
        shared_library(directory / "libhaloscope-watch.so", [*FUNCTIONS[:3], "MPI_Unknown"])
        (directory / SOURCES).write_text(source_mark("recorder", [source]))
        return Small(directory)

    made = prebuild.make(tmp_path / "prebuilt", mpi, [build])
    assert made.name == "openmpi-open-mpi-4.1.4"
    monkeypatch.setattr("haloscope.base.paths.prebuilt", lambda: tmp_path / "prebuilt")
    monkeypatch.setenv("HALOSCOPE_CACHE", str(tmp_path / "cache"))
    ready = find_prebuilt("recorder", mpi, [source])
    assert ready is not None
    assert (ready.archive, ready.product, ready.unseen) == (made / "recorder.tar.xz", "Open MPI 4.1.4", ())
    assert (unpack_prebuilt("recorder", ready) / "libhaloscope-watch.so").is_file()
    other = MpiLibrary("openmpi", tmp_path / "libmpi.so.40")
    shared_library(other.path or Path(), [f"P{name}" for name in FUNCTIONS[1:]])
    assert find_prebuilt("recorder", other, [source]) is None


def test_an_archive_is_of_its_files_alone(tmp_path: Path) -> None:
    """Not of when, in which order, by whom and with which umask they were made."""
    files = {"lib/a.so": 0o755, "lib/always/a.so": 0o755, "notes": 0o644, "tool": 0o755}
    for name, order, mask in (("one", list(files), 0o022), ("other", [*reversed(files)], 0o077)):
        for at, file in enumerate(order):
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file)
            path.chmod(files[file] & ~mask)
            os.utime(path, (at, at))
        (tmp_path / name / "link").symlink_to("lib/a.so")
        (tmp_path / name / "lib").chmod(0o777 & ~mask)
        prebuild.pack(tmp_path / name, tmp_path / f"{name}.tar.xz")
    assert (tmp_path / "one.tar.xz").read_bytes() == (tmp_path / "other.tar.xz").read_bytes()


def test_what_cannot_be_loaded_is_not_packed(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int nowhere(void); int here(void) { return nowhere(); }")
    lacking = compiler(any_mpi, tmp_path / "a.c", ["-shared", "-fPIC"])
    with pytest.raises(SystemExit, match="nowhere"):
        prebuild.require_loadable(lacking)


@pytest.mark.long
def test_what_is_made_for_older_systems_can_be_loaded(
    any_mpi: Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a wheel, the libraries call only functions of older C libraries."""
    monkeypatch.setenv("HALOSCOPE_OLDER_GLIBC", "1")
    monkeypatch.setenv("HALOSCOPE_CACHE", str(tmp_path / "cache"))
    made = prebuild.make(tmp_path, prebuild.library(any_mpi.library), [build_injector, build_placer])
    assert {"injector.tar.xz", "placer.tar.xz"} < {path.name for path in made.iterdir()}
    (injector,) = tmp_path.glob("cache/injector-*/libhaloscope-inject.so")
    assert prebuild.needed_glibc(injector) < (2, 28)


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


@pytest.mark.long
def test_wheel_carries_what_the_recorder_is_built_from(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"haloscope/py.typed", "haloscope/profile/kernels/libhaloscope-explain.so"} <= names
    assert {"haloscope/predict/machines/orfeo.yaml", "haloscope/predict/page/model.js"} <= names
    data = f"haloscope-{own_version()}.data/data/share"
    assert {f"{data}/man/man1/haloscope-run.1", f"{data}/bash-completion/completions/haloscope"} <= names
    recorders = [name for name in names if name.endswith("/recorder.tar.xz")]
    assert len(recorders) == 2
    for tree in ("include", "src", "apps"):
        tracked = _tracked(tree)
        assert tracked, f"no {tree}/ in this checkout"
        assert {f"haloscope/_share/{path}" for path in tracked} <= names


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Path:
    """The command in an environment with the wheel, which uses the dependencies of this environment."""
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


@pytest.mark.long
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
    done = run_program([installed.with_name("python"), "-c", where], cwd=tmp_path)
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
_EXTRAS = ("plotly", "psij", "scipy", "symbolic", "pympistandard")


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


@pytest.mark.long
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
        return run_program([installed, *words], env=environment, cwd=tmp_path, status=None)

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
    assert told.returncode == 69
    assert told.stderr == "haloscope: this needs scipy: pip install 'haloscope[statistics]'\n"


def _tracked(tree: str) -> list[str]:
    return run_program(["git", "ls-files", tree], cwd=CHECKOUT).stdout.splitlines()


COMPILER, QEMU, ROOT = "aarch64-linux-gnu-g++", "qemu-aarch64-static", "/usr/aarch64-linux-gnu"
# The headers of an MPI are those of any processor of 64 bits.
ARM_BUILD = """
import sys
from pathlib import Path
from haloscope.base.headers import find_headers
from haloscope.hide import build_placer
from haloscope.watch import build_recorder
from prebuild import library
headers = find_headers(library(Path(sys.argv[1])))
print(build_recorder(headers, True).directory / "libhaloscope-watch.so")
print(build_placer(headers, True).directory / "libhaloscope-place.so")
"""
# An MPI of which only the version is asked; by PMPI_Init it is known as one.
ARM_MPI = """
int PMPI_Init(int *count, char ***words) { return !count && !words; }
int PMPI_Get_version(int *major, int *minor) { *major = 3; *minor = 1; return 0; }
int MPI_Get_version(int *major, int *minor) { return PMPI_Get_version(major, minor); }
int ompi_mpi_comm_world; /* by which Open MPI is known */
int MPI_Send(void) { return 0; }
void mpi_send_(void) {}
"""
ARM_PROGRAM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int MPI_Get_version(int *, int *);
int main(int count, char **names) {
  int major = 0, minor = 0;
  MPI_Get_version(&major, &minor);
  printf("%d.%d\\n", major, minor);
  for (int i = 1; i < count; i++) {
    Dl_info where;
    void *function = dlsym(RTLD_DEFAULT, names[i]);
    if (!function || !dladdr(function, &where)) return 1;
    puts(where.dli_fname);
  }
  return 0;
}
"""


def debian_mpi() -> Path:
    """Debian's Open MPI, of this machine's processor."""
    found = sorted(Path("/usr/lib").glob("*-linux-gnu/libmpi.so.40"))
    if not (found and shutil.which(COMPILER) and shutil.which(QEMU)):
        missing("no cross-compiler, QEMU or Open MPI: apt-get install g++-aarch64-linux-gnu qemu-user-static")
    return found[0]


@pytest.fixture(scope="module")
def built_for_arm(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The recorder and the placer for Open MPI, built for an ARM processor."""
    place = tmp_path_factory.mktemp("aarch64")
    environment = {
        **os.environ,
        "CXX": COMPILER,
        "HALOSCOPE_OLDER_GLIBC": "1",
        "HALOSCOPE_CACHE": str(place / "cache"),
        "PYTHONPATH": str(CHECKOUT / "tools"),
    }
    done = run_program([sys.executable, "-c", ARM_BUILD, str(debian_mpi())], env=environment)
    return [Path(line) for line in done.stdout.splitlines()]


@pytest.mark.long
def test_an_arm_program_has_the_recorder_before_its_mpi(built_for_arm: list[Path], tmp_path: Path) -> None:
    (tmp_path / "mpi.c").write_text(ARM_MPI)
    (tmp_path / "program.c").write_text(ARM_PROGRAM)
    gcc = COMPILER.replace("g++", "gcc")
    for words in (
        [gcc, "-shared", "-fPIC", "mpi.c", "-o", "libmpi.so.40"],
        [gcc, "program.c", "-o", "program", "-L.", "-l:libmpi.so.40", "-Wl,-rpath,$ORIGIN"],
    ):
        subprocess.run(words, cwd=tmp_path, check=True)
    for library in built_for_arm:
        assert prebuild.needed_glibc(library) <= (2, 28)
        words = [QEMU, "-L", ROOT, "-E", f"LD_PRELOAD={library}", "./program", "MPI_Send", "mpi_send_"]
        done = run_program(words, cwd=tmp_path)
        assert done.stderr == ""
        assert done.stdout.split() == ["3.1", str(library), str(library)]
