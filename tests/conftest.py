"""Fixtures for all rooms. What a machine lacks is a skipped test; in CI it is an error."""

from __future__ import annotations

import os
import shutil
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.cluster import Cluster, cluster, obstacle
from support.idle import polling
from support.missing import missing
from support.mpi import CHECKOUT, NAMES, REMEDY, Mpi, find
from support.pages import Look, chromium
from support.programs import Compiler
from support.results import pytest_runtest_logreport, pytest_runtest_makereport, pytest_runtest_setup
from support.turns import turn

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# pytest finds them by name.
__all__ = ["pytest_runtest_logreport", "pytest_runtest_makereport", "pytest_runtest_setup"]


@pytest.hookimpl(wrapper=True, tryfirst=True)  # the time spent waiting is not the test's
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Tests of several workers run at a time; those marked `alone`, by themselves."""
    session: str | None = getattr(item.config, "workerinput", {}).get("testrunuid")
    alone = item.get_closest_marker("alone") is not None
    with nullcontext() if session is None else turn(session, alone), polling(alone):
        return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test that asks for any MPI runs under one Open MPI and one MPICH of those that are there.

    Its name says which versions. With HALOSCOPE_TEST_EVERY_MPI=1 it runs under all of them.
    """
    if os.environ.get("HALOSCOPE_TEST_EVERY_MPI") == "1":
        return
    left = [item for item in items if not _has_its_mpi(item)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if _has_its_mpi(item)]


def _has_its_mpi(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    name = callspec.params.get("mpi") if callspec else None
    chosen_here = any("mpi" in mark.args[0] for mark in item.iter_markers("parametrize"))
    if name not in NAMES or chosen_here:
        return True
    alike = [other for other in NAMES if other.partition("-")[0] == name.partition("-")[0]]
    there = [other for other in alike if _installed(other)] or alike
    test = item.nodeid.partition("[")[0]
    return bool(name == there[zlib.crc32(test.encode()) % len(there)])


@cache
def _installed(name: str) -> Mpi | None:
    return find(name)


@pytest.fixture(scope="session", params=NAMES)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI in turn; `parametrize("mpi", ["openmpi-system"], indirect=True)` for some."""
    found = _installed(request.param)
    return found or missing(f"{request.param} is not installed: {REMEDY[request.param]}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    with chromium() as started:
        yield started


@pytest.fixture
def look(browser: Browser) -> Iterator[Look]:
    """`look(file)` opens a page of ours; at the end, nothing may have gone wrong."""
    opened = Look(browser)
    yield opened
    opened.check()


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
def simgrid() -> None:
    """SimGrid's SMPI, for what asks for it."""
    if not all(map(shutil.which, ("smpirun", "smpicc", "smpicxx"))):
        missing("SimGrid is not installed: apt-get install libsimgrid-dev")


@pytest.fixture(scope="session")
def haloscope() -> Path:
    """The command, as installed beside the Python that runs the tests."""
    return Path(sys.executable).with_name("haloscope")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """`script("crossover", "benchmarks/overlap", "benchmarks")` imports a module that needs both.

    After the test it is forgotten: other folders have modules of the same names.
    """
    before = set(sys.modules)

    def imported(name: str, *folders: str) -> Any:
        for folder in reversed(folders):
            monkeypatch.syspath_prepend(str(CHECKOUT / folder))
        return import_module(name)

    yield imported
    own = tuple(str(CHECKOUT / folder) for folder in ("benchmarks", "studies"))
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(own):
            del sys.modules[name]
