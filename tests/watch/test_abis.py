"""One source, every binary interface: a program leaves the same profile whichever MPI runs it.

`HALOSCOPE_TEST_MPI=DIR` adds one more MPI, whose `mpicc` and `mpiexec` are in DIR.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.missing import impossible, missing
from support.mpi import NAMES, REMEDY, Mpi, find
from support.programs import Compiler
from support.watched import Watched, program, watch

TABLES = ("regions", "ranks", "calls", "sizes", "partners", "collectives")
SOURCES = ("p2p.c", "collectives.c", "twin.c")
EXTRA = os.environ.get("HALOSCOPE_TEST_MPI")
MPIS = (*NAMES, "standard-wheel", "intelmpi-wheel", *(["extra"] if EXTRA else []))
PRODUCTS = {"openmpi": "Open MPI", "intelmpi": "Intel(R) MPI"}
Run = Callable[[str, str], Watched]


@cache
def installed(name: str) -> Mpi | None:
    if name != "extra":
        return find(name)
    compiler, launcher = (Path(EXTRA or "") / tool for tool in ("mpicc", "mpiexec"))
    wheel = find("mpich-wheel")
    return wheel and replace(wheel, name=name, mpicc=compiler, mpiexec=launcher)


@pytest.fixture(scope="module")
def run(compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The profile of a source on an MPI; on two ranks, as MPICH does not yield."""
    directory = tmp_path_factory.mktemp("abis")

    @cache
    def run(name: str, source: str) -> Watched:
        mpi = installed(name)
        assert mpi
        return watch(mpi, 2, [program(compiler, mpi, source)], directory)

    return run


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=MPIS)
def mpi_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if installed(name) is None:
        if name == "intelmpi-wheel" and platform.machine() != "x86_64":
            impossible("Intel has no MPI for this processor")
        missing(f"{name} is not installed: {REMEDY.get(name, 'make setup-long')}")
    return name


def facts(run: Watched, table: str, regions: set[str]) -> list[dict[str, Any]]:
    return [row for row in run.facts(table) if row["region"] in regions]


def check_equal(run: Run, names: tuple[str, str], source: str) -> None:
    pair = [run(name, source) for name in names]
    first, second = ({row["region"] for row in each.rows("regions")} for each in pair)
    # MPI 3 has no persistent collectives.
    assert all(region.endswith("_init") for region in first ^ second)
    assert first == second or names[0].startswith("openmpi")
    for table in TABLES:
        old, new = (facts(each, table, first & second) for each in pair)
        assert old
        assert new == old, table


def check_interface(run: Run, mpi_name: str) -> None:
    found = run(mpi_name, "p2p.c")
    product = mpi_name.partition("-")[0]
    assert found.info["mpi_abi"] == ("mpich" if product == "intelmpi" else product)
    assert found.info["mpi_library"].startswith(PRODUCTS.get(product, "MPICH"))


@pytest.fixture
def pair() -> tuple[str, str]:
    """An Open MPI and an MPICH: those that most tests use."""
    openmpi, mpich = (
        next((name for name in NAMES if name.startswith(product) and installed(name)), None)
        for product in ("openmpi", "mpich")
    )
    if openmpi is None or mpich is None:
        missing(f"needs both: {REMEDY['openmpi-system']}; {REMEDY['mpich-system']}")
    return openmpi, mpich


def test_tables_do_not_depend_on_the_mpi(run: Run, pair: tuple[str, str], source: str) -> None:
    check_equal(run, pair, source)


def test_interfaces_are_named(run: Run, pair: tuple[str, str]) -> None:
    for name in pair:
        check_interface(run, name)


@pytest.mark.long
@pytest.mark.parametrize("mpi_name", MPIS[1:], indirect=True)
def test_tables_are_those_of_the_mpi_before(run: Run, mpi_name: str, source: str) -> None:
    """One after the other, so that all are equal."""
    before = [name for name in MPIS[: MPIS.index(mpi_name)] if installed(name)]
    if not before:
        missing(f"{MPIS[0]} is not installed: {REMEDY[MPIS[0]]}")
    check_equal(run, (before[-1], mpi_name), source)


# It is unknown which one an extra MPI has.
@pytest.mark.long
@pytest.mark.parametrize("mpi_name", [name for name in MPIS if name != "extra"], indirect=True)
def test_interface_is_the_one_meant(run: Run, mpi_name: str) -> None:
    check_interface(run, mpi_name)
