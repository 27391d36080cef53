"""What `haloscope run` loads and starts besides the program: by names and numbers, not by times."""

from __future__ import annotations

import json
import os
import shutil
import sys
import sysconfig
import time
from pathlib import Path

import pytest

import haloscope
from support.mpi import Mpi
from support.processes import run_program
from support.programs import Compiler

EMPTY = """
#include <mpi.h>
int main(int argc, char **argv) { MPI_Init(&argc, &argv); MPI_Finalize(); }
"""
# Runs the command; then its standard output has the modules that it has loaded, and what it has started.
COMMAND = """
import json, os, sys
started = []
def note(event, arguments):
    if event in {"subprocess.Popen", "os.posix_spawn"}:
        started.append(os.fsdecode(arguments[0]))
    if event in {"os.fork", "os.forkpty", "os.system"}:
        started.append(event)
sys.addaudithook(note)
from haloscope.cli import main
try:
    main()
finally:
    print(json.dumps({"loaded": sorted(sys.modules), "started": started}))
"""
HEAVY = {
    "numpy",
    "polars",
    "scipy",
    "plotly",
    "rich",
    "yaml",
    "pydantic",
    "tarfile",
    "haloscope.watch.recovery",
}


def run_noting(environment: dict[str, str], *words: object) -> tuple[set[str], list[str], str]:
    """Run the command. Return modules, the names of the programs that it has started, and its own output."""
    done = run_program([sys.executable, "-c", COMMAND, *map(str, words)], env=environment)
    noted = json.loads(done.stdout.splitlines()[-1])
    return set(noted["loaded"]), [Path(name).name for name in noted["started"]], done.stderr


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_run_loads_no_tables_and_starts_few_programs(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, quiet: list[str]
) -> None:
    """The summary comes from one more process, which loads tables while the program runs."""
    program = compiler.text(any_mpi, "empty.c", EMPTY)
    environment = {**os.environ, **any_mpi.env}
    words = ["run", *quiet, "-o", tmp_path / "a.halo", "--", *any_mpi.launch(2), program]
    run_noting(environment, *words)
    time.sleep(2.1)  # a build is remembered when its files are old enough to be distinguished
    run_noting(environment, *words)
    begin = time.monotonic()
    loaded, started, printed = run_noting(environment, *words)
    is_long = time.monotonic() - begin > 50  # that process does not wait for longer than a minute
    assert is_long or not loaded & HEAVY
    assert ("empty: 2 ranks" in printed) == (not quiet)
    python = [Path(sys.executable).name] * (not quiet)
    launcher = Path(any_mpi.launch(2)[0]).name
    assert [name for name in started if not name.startswith("ld-linux")] == [*python, launcher, "cat"]
    assert sum(name.startswith("ld-linux") for name in started) <= 1


COMPILED = """
import sys
from haloscope.cli import main
try:
    main()
finally:
    print(sys.modules["haloscope.cli.command"].__cached__)
"""


def test_modules_are_compiled_once_where_the_installation_cannot_be_written(tmp_path: Path) -> None:
    package = Path(haloscope.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, tmp_path / "lib" / "haloscope", ignore=ignored)
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    # With -S nothing finds the package of this checkout, which is installed in place.
    places = os.pathsep.join([str(tmp_path / "lib"), sysconfig.get_path("purelib")])
    environment |= {"PYTHONPATH": places, "HALOSCOPE_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-S", "-c", COMPILED, "--version"]

    def compiled(**more: str) -> Path:
        return Path(run_program(command, env=environment | more).stdout.splitlines()[-1])

    beside = tmp_path / "lib" / "haloscope" / "cli" / "__pycache__"
    assert compiled().parent == beside
    shutil.rmtree(beside)
    beside.touch()  # not even root can write a file below it
    assert not compiled(PYTHONDONTWRITEBYTECODE="1").exists()
    assert not (tmp_path / "cache").exists()
    kept = compiled()
    assert kept.is_relative_to(tmp_path / "cache" / "python")
    assert kept.is_file()
    assert not compiled(HALOSCOPE_CACHE="/proc/self/none").exists()
