"""Programs that have run with a trace: every export and all that is said of waiting, on both kinds of MPI."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import haloscope
from haloscope.explain import Profile
from haloscope.explain.trace import Trace
from support.analysed import check_sums, check_tables
from support.exported import check_cali, check_goal, check_otf2, check_perfetto
from support.goal import finish_times
from support.mpi import Mpi
from support.otf2_tools import need_otf2
from support.programs import Compiler
from support.traced import check_trace
from support.watched import watch

ASSORTED = Path(__file__).parent / "programs" / "assorted.c"
RANKS = 3


@pytest.fixture(scope="module")
def profile(mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Profile]:
    folder = tmp_path_factory.mktemp("assorted")
    watched = watch(mpi, RANKS, [compiler(mpi, ASSORTED)], folder, options=["--trace"])
    with haloscope.open(watched.path) as opened:
        yield opened


@pytest.fixture(scope="module")
def trace(profile: Profile) -> Trace:
    found = check_trace(profile)
    assert len(found.sends)
    assert len(found.collectives)
    return found


def test_readers_of_otf2_find_all_messages(profile: Profile, trace: Trace, tmp_path: Path) -> None:
    need_otf2()
    check_otf2(profile, trace, tmp_path / "run")


def test_perfetto_has_slices_and_arrows(profile: Profile, trace: Trace, tmp_path: Path) -> None:
    check_perfetto(profile, trace, tmp_path / "run")


def test_a_schedule_ends_and_takes_longer_with_latency(
    profile: Profile, trace: Trace, tmp_path: Path
) -> None:
    ranks = check_goal(profile, trace, tmp_path / "run")
    assert 0 < max(finish_times(ranks, 0)) < max(finish_times(ranks, 1_000_000))


def test_regions_come_back_from_cali(profile: Profile, tmp_path: Path) -> None:
    check_cali(profile, tmp_path / "run.cali")


def test_what_is_said_of_waiting_adds_up(profile: Profile, trace: Trace) -> None:
    assert check_sums(trace).remarks == []
    check_tables(profile)
