"""Fixtures of the tests of the injector, the shm library and finite elements."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from haloscope import ComponentError
from haloscope.hide import build_fem
from support.injected import PROGRAMS, Inject, Injected
from support.missing import missing
from support.mpi import REMEDY, Mpi, find
from support.processes import run_program
from support.programs import Compiler
from support.shm import Shm, build_shm


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` builds the shm library for Open MPI alone: that takes 20 seconds per MPI."""
    for item in items:
        if "shm" not in getattr(item, "fixturenames", ()) or not hasattr(item, "callspec"):
            continue
        if not str(item.callspec.params.get("mpi", "openmpi")).startswith("openmpi"):
            item.add_marker("long")


@pytest.fixture
def inject(haloscope: Path, compiler: Compiler, tmp_path: Path) -> Inject:
    """`inject(mpi, ranks, program, *arguments, options=[…])` runs one of tests/hide/programs.

    With `keywords` it calls `haloscope.inject` instead of the command.
    """

    def run(
        mpi: Mpi,
        ranks: int,
        program: str,
        *arguments: str,
        options: Sequence[str] = (),
        around: Sequence[str | Path] = (),
        flags: Sequence[str] = ("-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow"),
        env: Mapping[str, str] | None = None,
        keywords: Mapping[str, object] | None = None,
    ) -> Injected:
        executable = compiler(mpi, PROGRAMS / program, flags)
        record = tmp_path / "injected.csv"
        verb: list[str | Path] = [haloscope, "inject", "-o", record, *options, "--"]
        if keywords is not None:
            given = {"output": str(record), **keywords}
            verb = [sys.executable, "-c", f"import sys, haloscope; haloscope.inject(sys.argv[1:], **{given})"]
        done = run_program(
            [*map(str, [*verb, *around, *mpi.launch(ranks)]), str(executable), *arguments],
            env=mpi.environment(env),
            cwd=tmp_path,
        )
        return Injected(done, record)

    return run


@pytest.fixture(scope="session")
def fem(compiler: Compiler) -> Callable[[str], Path]:
    """`fem("name.cpp")` is the executable of a program of tests/hide/programs/fem."""
    mpi = find("openmpi-system") or missing(REMEDY["openmpi-system"])
    try:
        made = build_fem(quiet=True)
    except ComponentError as error:
        missing(str(error))

    def program(name: str) -> Path:
        flags = [*made.compile_flags, "-g0", "-Wall", "-Wextra", *made.link_flags]
        return compiler(mpi, PROGRAMS / "fem" / name, flags)

    return program


@pytest.fixture(scope="session")
def shm_of(haloscope: Path) -> Callable[[Mpi], Shm]:
    """`shm_of(mpi)` is the shm library for an MPI."""
    return cache(lambda mpi: build_shm(haloscope, mpi))


@pytest.fixture
def shm(shm_of: Callable[[Mpi], Shm], mpi: Mpi) -> Shm:
    return shm_of(mpi)
