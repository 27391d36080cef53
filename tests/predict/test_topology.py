"""Levels of the topology from hwloc's own synthetic machines, and pairs of cores across them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import pytest

from haloscope import MachineError, UsageError
from haloscope.predict import bench
from haloscope.predict.bench import BenchSystem, Library, Shared, Topology, topology
from support.emulated_mpi import emulated_mpi
from support.missing import missing

Synthetic = Callable[..., Topology]
# One node of the paper's: two sockets of 4 NUMA domains of 2 dies of 2 shared caches of 4 cores.
ORFEO = "pack:2 numa:4 die:2 l3:2 core:4 pu:2"


@pytest.fixture
def synthetic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Synthetic:
    """`synthetic(text, processors)` is the topology of a machine of which these may be used, or all."""
    tool = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if tool is None:
        missing("no hwloc: apt-get install hwloc")
    file, here = tmp_path / "node.xml", tmp_path / "bin"

    def made(text: str, processors: Iterable[int] | None = None) -> Topology:
        words = [str(tool), "-i", text, "--of", "xml", "-f", str(file)]
        subprocess.run(words, capture_output=True, check=True)
        if processors is None:
            monkeypatch.setenv("HWLOC_XMLFILE", str(file))
            return topology()
        # As on that machine: what its lstopo prints is of the machine itself.
        here.mkdir(exist_ok=True)
        (here / "lstopo-no-graphics").write_text(f"#!/bin/sh\ncat {file}\n")
        (here / "lstopo-no-graphics").chmod(0o755)
        with monkeypatch.context() as patch:
            patch.setenv("PATH", f"{here}{os.pathsep}{os.environ['PATH']}")
            patch.setattr(os, "sched_getaffinity", lambda _: set(processors))
            patch.delenv("HWLOC_XMLFILE", raising=False)
            return topology()

    return made


def system(nodes: int, found: Topology, switches: tuple[str, ...] = ()) -> BenchSystem:
    return BenchSystem(found, cast(Library, None), nodes, (), switches)


def test_the_papers_nodes(synthetic: Synthetic) -> None:
    """Cores 1, 4, 8, 64 and 128 are those of its section 3.3; for 32 it could have taken 16."""
    two = system(2, synthetic(ORFEO))
    assert [(level.name, level.cores) for level in two.levels] == [
        ("L3", 4),
        ("die", 8),
        ("NUMA domain", 16),
        ("socket", 64),
        ("node", 128),
        ("network", 256),
    ]
    pairs = [(pair.first, pair.second, pair.level) for pair in two.representatives()]
    assert pairs == [
        (0, 0, "SMT"),
        (0, 1, "L3"),
        (0, 4, "die"),
        (0, 8, "NUMA domain"),
        (0, 16, "socket"),
        (0, 64, "node"),
        (0, 128, "network"),
    ]
    assert two.pair(32, 0).level == "socket"
    assert two.topology.cores[:2] == ((0, 1), (2, 3))


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("pack:1 core:3 pu:1", [3]),
        ("numa:1 core:1 pu:2", []),
        ("pack:2 l3:1 core:8 pu:1", [8, 16]),
        ("pack:1 l2:4 core:2 pu:1", [2, 8]),
    ],
)
def test_what_is_shared_by_the_same_cores_is_one_level(
    synthetic: Synthetic, text: str, levels: list[int]
) -> None:
    found = synthetic(text)
    assert [level.cores for level in found.levels] == levels
    assert found.remarks == ()


def test_a_container_has_fewer_cores(synthetic: Synthetic) -> None:
    whole = "pack:2 l3:2 core:4 pu:1"
    assert [level.cores for level in synthetic(whole, range(4, 8)).levels] == [4]
    uneven = synthetic(whole, range(6))
    assert [level.cores for level in uneven.levels] == [6]
    assert "not shared by equal numbers" in uneven.remarks[0]
    with pytest.raises(MachineError, match="no usable cores"):
        synthetic(whole, [99])


def test_a_file_of_hwlocs(synthetic: Synthetic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWLOC_THISSYSTEM", "0")
    assert len(synthetic(ORFEO).cores) == 128
    (tmp_path / "node.xml").write_text("<topology>")
    with pytest.raises(MachineError, match=r"node.xml: hwloc cannot read it"):
        topology()


def test_without_hwloc_all_cores_are_equals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 5})
    found = topology()
    assert found.cores == ((0,), (1,), (5,))
    assert found.levels == (Shared("node", 3),)
    assert "apt-get install hwloc" in found.remarks[0]


FLAT = Topology(((0,), (1,)), (Shared("L3", 2),))
SWITCHES = tuple(f"spine.leaf{node // 2}" for node in range(4))


def test_leaf_switches_are_a_level() -> None:
    levels = [(level.name, level.cores) for level in system(4, FLAT, SWITCHES).levels]
    assert levels == [("node", 2), ("leaf switch", 4), ("network", 8)]
    assert [pair.second for pair in system(4, FLAT, SWITCHES).representatives()] == [1, 2, 4]
    assert [one.name for one in system(4, FLAT).levels] == ["node", "network"]
    assert [one.name for one in system(3, FLAT, SWITCHES[:3]).levels] == ["node", "network"]


# A launcher of which each rank says where it is, once; then it starts nothing more.
PLACED = """
mkdir {here}/called || exit 1
node=0
for address in {addresses}; do
  echo '{{"record":"rank","rank":'$node',"host":"cg'$node'","address":"'$address'","error":""}}'
  node=$((node + 1))
done
"""


@pytest.mark.parametrize(
    ("addresses", "switches"),
    [("spine.leaf0.cg0 spine.leaf0.cg1 spine.leaf1.cg2 spine.leaf1.cg3", SWITCHES), ("cg0 cg1 cg2 cg3", ())],
)
def test_switches_are_those_of_slurms_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, addresses: str, switches: tuple[str, ...]
) -> None:
    launcher = PLACED.format(here=tmp_path, addresses=addresses)
    for name, value in emulated_mpi(tmp_path / "mpi", mpiexec=launcher).items():
        monkeypatch.setenv(name, value)
    made = bench.p2p(["latency"], bench.P2pMethod((1,)), pairs=[(0, 1)], nodes=4)
    assert made.system.switches == switches
    assert not made.points
    assert [failure.test for failure in made.failures] == ["latency"]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [(0, 4, "core 4 does not exist: this node has the usable cores 0 to 1"), (1, 1, "core 1 with itself")],
)
def test_pairs_that_are_none(first: int, second: int, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        system(1, FLAT).pair(first, second)


def test_one_core_is_too_few() -> None:
    with pytest.raises(UsageError, match="messages need two"):
        system(1, Topology(((0,),), ())).representatives()
