"""Fixtures for all rooms. What a machine lacks is a skipped test; in CI it is an error."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path

import pytest

from support.cluster import Cluster, cluster, obstacle
from support.missing import missing
from support.mpi import NAMES, REMEDY, Mpi, find
from support.programs import Compiler
from support.results import pytest_runtest_logreport, pytest_runtest_makereport
from support.turns import turn

__all__ = ["pytest_runtest_logreport", "pytest_runtest_makereport"]  # pytest finds them by name


@pytest.hookimpl(wrapper=True, tryfirst=True)  # the time spent waiting is not the test's
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Tests run two at a time; those marked `alone`, by themselves."""
    session: str | None = getattr(item.config, "workerinput", {}).get("testrunuid")
    if session is None:
        return (yield)
    with turn(session, item.get_closest_marker("alone") is not None):
        return (yield)


@cache
def _installed(name: str) -> Mpi | None:
    return find(name)


@pytest.fixture(scope="session", params=NAMES)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI in turn; `parametrize("mpi", ["openmpi-system"], indirect=True)` for some."""
    found = _installed(request.param)
    return found or missing(f"{request.param} is not installed: {REMEDY[request.param]}")


@pytest.fixture(scope="session")
def any_mpi() -> Mpi:
    """One MPI, where it does not matter which: Open MPI if possible."""
    found = next(filter(None, map(_installed, NAMES)), None)
    return found or missing(f"no MPI is installed: {REMEDY[NAMES[0]]}")


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    """`compiler(mpi, source, flags)` gives an executable."""
    base = tmp_path_factory.getbasetemp()
    session = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return Compiler(tmp_path_factory.mktemp("programs"), session / "compiled")


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[Cluster]:
    """Two emulated nodes of two ranks that do not inherit each other's environment."""
    reason = obstacle()
    if reason:
        missing(reason)
    with cluster(nodes=2, slots=2) as up:
        yield up


@pytest.fixture(scope="session")
def haloscope() -> Path:
    """The command, as installed beside the Python that runs the tests."""
    return Path(sys.executable).with_name("haloscope")
