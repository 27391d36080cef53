"""`run --trace`, then `export`: what readers find is what the tables of the same profile count."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from haloscope.explain import open as open_profile
from support.applications import Application
from support.goal import finish_times, read_goal
from support.mpi import Mpi
from support.otf2_tools import check_order, matrix, need_otf2, read_archive
from support.perfetto import read_perfetto
from support.programs import Compiler
from support.watched import watch


@pytest.mark.parametrize("mpi", ["openmpi-system", "mpich-system"], indirect=True)
def test_an_export_agrees_with_the_profile(
    mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path
) -> None:
    need_otf2()
    program = Application.build(compiler, mpi, "cg").program
    command: list[str | Path] = [program, "--nx", "8", "--ny", "8", "--nz", "8", "--iterations", "3"]
    watched = watch(mpi, 4, command, tmp_path, options=["--trace"])
    for to in ("otf2", "perfetto", "goal"):
        words: list[str | Path] = [haloscope, "export", watched.path, "--to", to, "-o", tmp_path / to]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        said = [line for line in done.stderr.splitlines() if not line.startswith("haloscope: building ")]
        assert (done.returncode, said) == (0, [f"haloscope: {tmp_path / to} is written"])
    with open_profile(watched.path) as profile:
        partners = profile.table("partners").filter(pl.col("region") == "<program>")
        calls = profile.frame("calls", ["call", "calls"]).group_by("call").sum()
        visits = int(
            profile.frame("ranks", ["instances", "path"]).filter(pl.col("path") > 0)["instances"].sum()
        )
    sent = {
        (rank, other): count for rank, other, count in partners.select("rank", "partner", "sends").iter_rows()
    }
    came = {
        (other, rank): count for rank, other, count in partners.select("rank", "partner", "recvs").iter_rows()
    }
    counted = dict(calls.iter_rows())

    found = read_archive(tmp_path / "otf2")
    check_order(found)
    for sending, expected in ((True, sent), (False, came)):
        messages: Counter[tuple[int, int]] = Counter()
        for (sender, receiver, _), count in matrix(found, sending).items():
            messages[sender, receiver] += count
        assert dict(messages) == {pair: count for pair, count in expected.items() if count}
    entered = Counter(
        event["region"] for events in found["events"] for event in events if event["type"] == "Enter"
    )
    assert {name: count for name, count in entered.items() if name.startswith("MPI_")} == counted

    slices = [one for track in read_perfetto(tmp_path / "perfetto") for one in track.slices]
    assert Counter(one.name for one in slices if one.category == "MPI") == counted
    assert sum(one.category == "region" for one in slices) == visits
    assert sum(len(one.into) for one in slices) == sum(came.values())

    times = finish_times(read_goal(tmp_path / "goal"), 1000)
    assert len(times) == 4
    assert min(times) > 0
