"""Fixtures for all packages, and which tests a command runs.

A missing component skips the test; in CI it is an error (`support.missing`).
"""

from __future__ import annotations

import gc
import shutil
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import hypothesis
import pytest
from playwright.sync_api import Browser

from support.budget import pytest_runtest_makereport, pytest_runtest_setup, pytest_terminal_summary
from support.cluster import Cluster, cluster, obstacle
from support.limits import LONG
from support.missing import missing
from support.mpi import CHECKOUT, NAMES, REMEDY, Mpi, find
from support.pages import Look, chromium
from support.programs import Compiler
from support.recorder import library

# pytest finds them by name.
__all__ = ["pytest_runtest_makereport", "pytest_runtest_setup", "pytest_terminal_summary"]

# Fixtures that start other programs: `make check` runs no test that uses one of them.
_SLOW = {"any_mpi", "browser", "compiler", "haloscope", "look", "mpi", "simgrid", "two_nodes"}

hypothesis.settings.register_profile("fixed", deadline=None, derandomize=True, database=None)
hypothesis.settings.register_profile("random", deadline=None)


def pytest_configure(config: pytest.Config) -> None:
    """`make test` tries the same random cases each time, `make test-long` new ones.

    What a test starts can be interrupted, although a shell's background job ignores INT and QUIT.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    hypothesis.settings.load_profile("random" if _is_long(config) else "fixed")


def _is_long(config: pytest.Config) -> bool:
    return bool(config.option.markexpr == "long")


def _skip_before_a_program_starts(event: str, _: tuple[object, ...]) -> None:
    if event in {"subprocess.Popen", "os.fork", "os.posix_spawn"} and current_thread() is main_thread():
        pytest.skip("starts a program: make test runs it")  # noqa: TID251 # nothing is missing


@pytest.fixture(scope="session", autouse=True)
def _unit_tests_alone(request: pytest.FixtureRequest) -> None:
    """`make check` has the tests that start no other program: it skips a test that is about to start one."""
    if "not slow" in request.config.option.markexpr:
        sys.addaudithook(_skip_before_a_program_starts)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark slow tests, and tests that only `make test-long` runs.

    `make test` uses the first Open MPI and the first MPICH of `NAMES` that are installed. With all
    others, and with random cases (Hypothesis), a test is `long`.
    """
    chosen = {_first(product) for product in ("openmpi", "mpich")}
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & _SLOW:
            item.add_marker("slow")
        callspec = getattr(item, "callspec", None)
        name = callspec.params.get("mpi") if callspec else None
        if isinstance(name, str) and name in {*NAMES, "standard-wheel"} and name not in chosen:
            item.add_marker("long")
        if _is_long(config) and hypothesis.is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("long")
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.timeout(LONG))


@cache
def _first(product: str) -> str:
    names = [name for name in NAMES if name.startswith(product)]
    return next(filter(_installed, names), names[0])


@cache
def _installed(name: str) -> Mpi | None:
    return find(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Charge a leak to the test that leaks: its garbage ends, and warns, with it."""
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()  # the next collection looks only at newer objects


@pytest.fixture(scope="session", params=NAMES)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI in turn; `parametrize("mpi", ["openmpi-system"], indirect=True)` for some."""
    return _ready(request.param)


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
    return _ready(next(filter(_installed, NAMES), NAMES[0]))


@cache
def _ready(name: str) -> Mpi:
    """Return an MPI whose recorder is built: no test waits for that, or finds a line about it."""
    found = _installed(name) or missing(f"{name} is not installed: {REMEDY[name]}")
    if name in NAMES:
        library(found)
    return found


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    """`compiler(mpi, source, flags)` gives an executable."""
    return Compiler(tmp_path_factory.mktemp("programs"))


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
def scotch() -> None:
    """Scotch's mapper, which proposes placements."""
    if shutil.which("scotch_gmap") is None and shutil.which("gmap") is None:
        missing("Scotch's gmap is not installed: apt-get install scotch")


@pytest.fixture(scope="session")
def haloscope() -> Path:
    """The command, in the folder of the Python that runs the tests."""
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
