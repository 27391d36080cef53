"""`run --trace`, then `export`: what readers find is what the tables of the same profile count."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import haloscope as package
from support.applications import Application
from support.goal import finish_times, read_goal
from support.mpi import Mpi
from support.otf2_tools import check_order, matrix, need_otf2, read_archive
from support.perfetto import read_perfetto
from support.processes import run_program
from support.programs import Compiler
from support.watched import watch


@dataclass(frozen=True)
class Recorded:
    """The trace of a run, and the counts in its tables: messages by sender and receiver, calls by name."""

    path: Path
    sent: dict[tuple[int, int], int]
    received: dict[tuple[int, int], int]
    calls: dict[str, int]
    visits: int


@pytest.fixture(scope="module")
def recorded(any_mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    program = Application.build(compiler, any_mpi, "cg").program
    command: list[str | Path] = [program, "--nx", "8", "--ny", "8", "--nz", "8", "--iterations", "3"]
    path = watch(any_mpi, 4, command, tmp_path_factory.mktemp("recorded"), options=["--trace"]).path
    with package.open(path) as profile:
        partners = profile.table("partners", region="<program>")
        calls = profile.frame("calls", ["call", "calls"]).group_by("call").sum()
        ranks = profile.frame("ranks", ["instances", "path"])
        visits = int(ranks.filter(pl.col("path") > 0)["instances"].sum())
    found = Recorded(
        path,
        {(me, to): count for me, to, count in partners.select("rank", "partner", "sends").iter_rows()},
        {(of, me): count for me, of, count in partners.select("rank", "partner", "recvs").iter_rows()},
        dict(calls.iter_rows()),
        visits,
    )
    assert sum(found.sent.values()) == sum(found.received.values()) > 0
    assert found.visits > 0
    return found


def export(haloscope: Path, path: Path, to: str, output: Path) -> None:
    words: list[str | Path] = [haloscope, "export", path, "--to", to, "-o", output]
    done = run_program(words, status=None)
    said = [line for line in done.stderr.splitlines() if not line.startswith("haloscope: building ")]
    assert (done.returncode, said) == (0, [f"haloscope: {output} is written"])


def test_an_archive_agrees_with_the_profile(recorded: Recorded, haloscope: Path, tmp_path: Path) -> None:
    need_otf2()
    export(haloscope, recorded.path, "otf2", tmp_path / "otf2")
    found = read_archive(tmp_path / "otf2")
    check_order(found)
    for sending, expected in ((True, recorded.sent), (False, recorded.received)):
        messages: Counter[tuple[int, int]] = Counter()
        for (sender, receiver, _), count in matrix(found, sending).items():
            messages[sender, receiver] += count
        assert dict(messages) == {pair: count for pair, count in expected.items() if count}
    entered = Counter(
        event["region"] for events in found["events"] for event in events if event["type"] == "Enter"
    )
    assert {name: count for name, count in entered.items() if name.startswith("MPI_")} == recorded.calls


def test_slices_agree_with_the_profile(recorded: Recorded, haloscope: Path, tmp_path: Path) -> None:
    export(haloscope, recorded.path, "perfetto", tmp_path / "perfetto")
    slices = [one for track in read_perfetto(tmp_path / "perfetto") for one in track.slices]
    assert Counter(one.name for one in slices if one.category == "MPI") == recorded.calls
    assert sum(one.category == "region" for one in slices) == recorded.visits
    assert sum(len(one.into) for one in slices) == sum(recorded.received.values())


def test_a_schedule_has_all_ranks(recorded: Recorded, haloscope: Path, tmp_path: Path) -> None:
    export(haloscope, recorded.path, "goal", tmp_path / "goal")
    times = finish_times(read_goal(tmp_path / "goal"), 1000)
    assert len(times) == 4
    assert min(times) > 0
