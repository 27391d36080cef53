"""`--ranks`: some ranks record, all take part in the reduction."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.mpi import Mpi
from support.programs import Compiler
from support.recorder import join, library
from support.watched import Traffic, Watched, program, watch


@pytest.fixture
def during(mpi: Mpi, compiler: Compiler) -> Path:
    return program(compiler, mpi, "during.c")


def check(watched: Watched) -> None:
    """Of three ranks in a ring, 0 and 2 record."""
    assert watched.info["ranks"] == "3"
    assert (watched.info["partial"], watched.info["missing_ranks"]) == ("false", "[]")
    assert watched.info["unwatched_ranks"] == "[1]"
    # What the two send and receive; the third is among their partners.
    assert watched.traffic("before") == Traffic(20, 240, 20, 240, 1, 1)
    partners = {(row["rank"], row["partner"]) for row in watched.select("partners", region="after")}
    assert partners == {(0, 1), (0, 2), (2, 0), (2, 1)}
    region = watched.region("before")
    assert (region["ranks"], region["sends_min"], region["sends_max"]) == (2, 10, 10)


def test_other_ranks_only_take_part(mpi: Mpi, during: Path, tmp_path: Path) -> None:
    live = tmp_path / "live"
    live.mkdir()
    variables = {"HALOSCOPE_LIVE": str(live)}
    watched = watch(mpi, 3, [during], tmp_path, options=["--ranks", "0,2-5"], env=variables)
    assert (watched.done.stdout, watched.done.stderr) == ("end\n", "")
    assert list(live.iterdir()) == []
    check(watched)


def test_rank_0_need_not_record(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    during = program(compiler, any_mpi, "during.c")
    watched = watch(any_mpi, 2, [during], tmp_path, options=["--ranks", "1"])
    assert watched.info["unwatched_ranks"] == "[0]"
    assert [row["rank"] for row in watched.select("ranks", region="before")] == [1]


def test_joined_records_know_who_did_not_record(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    during = program(compiler, any_mpi, "during.c")
    recorder = library(any_mpi)
    # The directory is read-only, so the records stay.
    words = [f"LD_PRELOAD={recorder}", f"HALOSCOPE_LIVE={tmp_path}", "HALOSCOPE_RUN=run"]
    words += ["HALOSCOPE_RANKS=0,2", f"HALOSCOPE_OUTPUT={tmp_path}/missing/run.halo"]
    assert any_mpi.run(3, ["env", *words, during]).stdout == "end\n"
    profile = tmp_path / "joined.halo"
    check(Watched(join(recorder, tmp_path / "haloscope-run", profile), profile))


def test_ranks_that_the_world_has_not(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    during = program(compiler, any_mpi, "during.c")
    watched = watch(any_mpi, 2, [during], tmp_path, options=["--ranks", "2-9"])
    (line,) = [line for line in watched.done.stderr.splitlines() if "haloscope:" in line]
    assert "--ranks '2-9' (HALOSCOPE_RANKS)" in line
    assert "2 ranks" in line
    assert line.endswith("using the default")
    assert (watched.info["unwatched_ranks"], watched.region("before")["ranks"]) == ("[]", 2)
