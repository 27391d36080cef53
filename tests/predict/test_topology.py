"""Levels of the topology from hwloc's own synthetic machines, and pairs of cores across them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from haloscope.base.errors import MachineError, UsageError
from haloscope.base.toolchain import Toolchain
from haloscope.predict.bench._mpi_library import OtherLibrary
from haloscope.predict.bench._system import Shared, System, Topology, leaf_switches, parse, topology
from support.missing import missing

Synthetic = Callable[[str], str]
# One node of the paper's: two sockets of 4 NUMA domains of 2 dies of 2 shared caches of 4 cores.
ORFEO = "pack:2 numa:4 die:2 l3:2 core:4 pu:2"


@pytest.fixture
def synthetic() -> Synthetic:
    """`synthetic(text)` is hwloc's XML of a machine that there need not be."""
    tool = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if tool is None:
        missing("no hwloc: apt-get install hwloc")

    def made(text: str) -> str:
        command = [str(tool), "-i", text, "--of", "xml", "-"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    return made


def system(nodes: int, found: Topology, switches: tuple[str, ...] = ()) -> System:
    none = OtherLibrary("none", Toolchain(Path("mpicxx"), Path("mpiexec")))
    return System(found, none, nodes, (), switches)


def test_the_papers_nodes(synthetic: Synthetic) -> None:
    """Cores 1, 4, 8, 64 and 128 are those of its section 3.3; for 32 it could have taken 16."""
    two = system(2, parse(synthetic(ORFEO)))
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
    found = parse(synthetic(text))
    assert [level.cores for level in found.levels] == levels
    assert found.remarks == ()


def test_a_container_has_fewer_cores(synthetic: Synthetic) -> None:
    whole = synthetic("pack:2 l3:2 core:4 pu:1")
    assert [level.cores for level in parse(whole, range(4, 8)).levels] == [4]
    uneven = parse(whole, range(6))
    assert [level.cores for level in uneven.levels] == [6]
    assert "not shared by equally many" in uneven.remarks[0]
    with pytest.raises(MachineError, match="no cores that may be used"):
        parse(whole, [99])


def test_a_file_of_hwlocs(synthetic: Synthetic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "node.xml"
    file.write_text(synthetic(ORFEO))
    monkeypatch.setenv("HWLOC_XMLFILE", str(file))
    monkeypatch.setenv("HWLOC_THISSYSTEM", "0")
    assert len(topology().cores) == 128
    file.write_text("<topology>")
    with pytest.raises(MachineError, match=r"node.xml: hwloc cannot read it"):
        topology()


def test_without_hwloc_all_cores_are_equals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 5})
    found = topology()
    assert found.cores == ((0,), (1,), (5,))
    assert found.levels == (Shared("node", 3),)
    assert "apt-get install hwloc" in found.remarks[0]


def test_leaf_switches_are_slurms() -> None:
    ranks = [{"address": f"spine.leaf{node // 2}.cg{node}"} for node in range(4)]
    switches = leaf_switches(ranks)
    flat = Topology(((0,), (1,)), (Shared("L3", 2),))
    levels = [(level.name, level.cores) for level in system(4, flat, switches).levels]
    assert levels == [("node", 2), ("leaf switch", 4), ("network", 8)]
    assert [pair.second for pair in system(4, flat, switches).representatives()] == [1, 2, 4]
    assert leaf_switches([{"address": ""}, {"address": "cg1"}]) == ()
    assert [one.name for one in system(4, flat).levels] == ["node", "network"]
    assert [one.name for one in system(3, flat, switches[:3]).levels] == ["node", "network"]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [(0, 4, "no core 4: this node has cores 0 to 1"), (1, 1, "core 1 with itself")],
)
def test_pairs_that_are_none(first: int, second: int, words: str) -> None:
    flat = Topology(((0,), (1,)), (Shared("node", 2),))
    with pytest.raises(UsageError, match=words):
        system(1, flat).pair(first, second)


def test_one_core_is_too_few() -> None:
    with pytest.raises(UsageError, match="messages need two"):
        system(1, Topology(((0,),), ())).representatives()
