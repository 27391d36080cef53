"""Programs without MPI_Init, by MPI's sessions: the same tables as of the same program with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.missing import impossible
from support.mpi import Mpi
from support.processes import run_program
from support.programs import Compiler
from support.watched import Traffic, Watched, program, watch

RANKS = 2
# Only in the one program or the other.
MANAGING = ("MPI_Group_", "MPI_Comm_", "MPI_Session_")


@pytest.fixture
def sessions(mpi: Mpi, compiler: Compiler) -> Path:
    if not mpi.declares("MPI_Session_init"):
        impossible(f"{mpi.name} has no sessions: it is of MPI 3")
    return program(compiler, mpi, "sessions.c")


def run(mpi: Mpi, sessions: Path, directory: Path, how: str) -> Watched:
    live = directory / "live"
    live.mkdir(exist_ok=True)
    watched = watch(mpi, RANKS, [sessions, how], directory, env={"HALOSCOPE_LIVE": str(live)})
    assert (watched.done.stdout, watched.done.stderr) == ("end\n", "")
    assert list(live.iterdir()) == []
    return watched


def facts(watched: Watched, table: str) -> list[dict[str, Any]]:
    """A table without what differs by nature: names of communicators, and calls that make them."""
    rows = watched.facts(table)
    if table == "communicators":
        name = {"MPI_COMM_WORLD/dup": "group/all", "MPI_COMM_WORLD/dup/split": "group/all/split"}
        rows = [{**row, "name": name.get(row["name"], row["name"])} for row in rows]
    return [row for row in rows if not str(row.get("call")).startswith(MANAGING)]


def check_times(watched: Watched, passes: int) -> None:
    """So often as much as in one pass through everything."""
    assert watched.traffic("ring") == Traffic(*(6 * passes, 168 * passes) * 2, 1, 1)
    assert watched.traffic("turned") == Traffic(*(2 * passes, 24 * passes) * 2, 1, 1)
    assert watched.region("ring")["instances"] == 3 * passes
    partners = {(row["rank"], row["partner"]) for row in watched.select("partners")}
    assert partners == {(0, 1), (1, 0)}
    assert (watched.info["partial"], watched.info["missing_ranks"]) == ("false", "[]")
    assert (watched.info["ranks"], watched.info["unmatched_begins"]) == ("2", "0")
    assert len(watched.rows("ranks")) == 3 * RANKS


def test_same_tables_as_with_mpi_init(mpi: Mpi, sessions: Path, tmp_path: Path) -> None:
    alone = run(mpi, sessions, tmp_path, "session")
    check_times(alone, 1)
    world = run(mpi, sessions, tmp_path, "world")
    for table in ("regions", "ranks", "calls", "sizes", "partners", "collectives", "communicators"):
        assert facts(alone, table) == facts(world, table), table
    different = {"run", "command", "start", "duration", "environment.HALOSCOPE_OUTPUT"}
    assert {k: v for k, v in alone.info.items() if k not in different} == {
        k: v for k, v in world.info.items() if k not in different
    }


@pytest.mark.parametrize(("how", "passes"), [("two", 1), ("around", 3), ("within", 3)])
def test_several_at_once(mpi: Mpi, sessions: Path, tmp_path: Path, how: str, passes: int) -> None:
    """Whatever begins first and ends last, everything counts once."""
    check_times(run(mpi, sessions, tmp_path, how), passes)


def test_one_after_the_other(mpi: Mpi, sessions: Path, tmp_path: Path) -> None:
    if mpi.name != "mpich-wheel":
        impossible(f"{mpi.name} can't begin again, once its last session has ended")
    for _ in range(5):  # in one of 40 bare runs MPICH 5 itself aborts in MPI_Comm_create_from_group
        watched = watch(mpi, RANKS, [sessions, "again"], tmp_path, status=None)
        if "internal_Comm_create_from_group" not in watched.done.stderr:
            break
    assert watched.done.returncode == 0, watched.done.stderr
    check_times(watched, 2)
    assert watched.region("<program>")["instances"] == 2


def test_a_rank_that_dies(mpi: Mpi, sessions: Path, tmp_path: Path) -> None:
    watched = watch(mpi, RANKS, [sessions, "die"], tmp_path, status=None)
    assert watched.done.returncode != 0
    assert (watched.info["partial"], watched.info["missing_ranks"]) == ("true", "[]")
    assert watched.traffic("ring") == Traffic(6, 168, 6, 168, 1, 1)


def test_two_launches_in_a_script(mpi: Mpi, sessions: Path, tmp_path: Path, haloscope: Path) -> None:
    """Each has a profile, also where a shell stands between launcher and rank."""
    launch = " ".join(mpi.launch(RANKS))
    script = tmp_path / "script.sh"
    script.write_text(f"#!/bin/sh\n{launch} {sessions}\n{launch} sh -c '{sessions}; true'\n")
    script.chmod(0o755)
    path = tmp_path / "run.halo"
    options = ["--quiet", "-o", str(path), "--mpi", mpi.abi]
    include = mpi.mpicc.parents[1] / "include"
    headers = {"HALOSCOPE_MPI_INCLUDE": str(include)} if (include / "mpi.h").exists() else {}
    done = run_program([str(haloscope), "run", *options, "--", str(script)], env=mpi.environment(headers))
    assert (done.stdout, done.stderr) == ("end\nend\n", "")
    (other,) = tmp_path.glob("run-*.halo")
    for profile in (path, other):
        check_times(Watched(done, profile), 1)


def test_records_that_cannot_be_left(mpi: Mpi, sessions: Path, tmp_path: Path) -> None:
    """Each rank says that its records are lost: there is no MPI_Finalize to send them in."""
    missing = tmp_path / "missing"
    watched = watch(mpi, RANKS, [sessions], tmp_path, env={"HALOSCOPE_LIVE": str(missing)})
    lost = [line for line in watched.done.stderr.splitlines() if "are lost: without MPI_Init" in line]
    assert len(lost) == RANKS
    assert all("HALOSCOPE_LIVE" in line for line in lost)
    assert not watched.path.exists()
