"""Processes that a program spawns: a world and a profile of their own."""

from __future__ import annotations

from pathlib import Path

from support.missing import impossible
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Traffic, Watched, program, watch

# MPICH 5's UCX loses a first message between two worlds now and then, in bare programs too.
NETWORK = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}


def test_each_world_has_its_profile(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """Partners in the other world have no rank in this one."""
    if mpi.name == "mpich-system":
        impossible("Debian's MPICH can't spawn")
    parents = watch(mpi, 2, [program(compiler, mpi, "spawn.c")], tmp_path, env=NETWORK)
    (path,) = tmp_path.glob(f"{parents.path.stem}-spawned-*.halo")
    children = Watched(parents.done, path)
    assert parents.traffic("down") == Traffic(4, 160, 0, 0, 1, 0)
    assert children.traffic("down") == Traffic(0, 0, 4, 160, 0, 1)
    assert {row["partner"] for row in parents.select("partners", region="down")} == {None}
    assert children.traffic("among") == Traffic(2, 40, 2, 40, 1, 1)
    assert parents.traffic("merged") == Traffic(1, 12, 1, 12, 1, 1)
    assert [(row["rank"], row["partner"]) for row in parents.select("partners", region="merged")] == [
        (0, 1),
        (1, 0),
    ]
    assert parents.info["ranks"] == children.info["ranks"] == "2"
