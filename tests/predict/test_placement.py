"""Mappings of ranks to nodes: how good they are, how they are written, and what cannot be mapped."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import haloscope
from haloscope import ComponentError, HaloscopeError
from haloscope.predict import load_machine
from haloscope.predict.placement import (
    Proposal,
    Traffic,
    make_mapping_text,
    propose,
    read_nodes,
    write_placement,
)
from support.command import Command
from support.placed import halo, messages_between

pytestmark = pytest.mark.usefixtures("scotch")

NODE = """\
name: pair
levels:
  - {name: node, cores: 4, latency: 1 us, bandwidth: 10 GB/s}
  - {name: network, cores: 64, latency: 5 us, bandwidth: 1 GB/s}
"""
LEVELS = """\
name: nested
levels:
  - {name: NUMA, cores: 2, latency: 0.5 us, bandwidth: 20 GB/s}
  - {name: node, cores: 4, latency: 1 us, bandwidth: 10 GB/s}
  - {name: switch, cores: 8, latency: 3 us, bandwidth: 2 GB/s}
  - {name: network, cores: 16, latency: 5 us, bandwidth: 1 GB/s}
"""


def _halo(tmp_path: Path, dims: tuple[int, int, int], zones: tuple[int, int, int], nodes: int) -> Proposal:
    ranks = int(np.prod(dims))
    hosts = [f"n{rank * nodes // ranks}" for rank in range(ranks)]
    return propose(halo(dims, zones, hosts).write(tmp_path / "halo.halo"))


@pytest.mark.parametrize(
    ("dims", "zones", "nodes", "before", "after"),
    [
        ((4, 4, 4), (32, 32, 32), 8, 0.444, 1 / 3),
        ((8, 8, 8), (32, 32, 32), 16, 0.381, 0.28),
        ((16, 8, 8), (32, 32, 32), 32, 0.465, 0.3),
    ],
)
def test_halos_on_grids(
    tmp_path: Path,
    dims: tuple[int, int, int],
    zones: tuple[int, int, int],
    nodes: int,
    before: float,
    after: float,
) -> None:
    """Shares of bytes between nodes, in block order and as proposed."""
    found = _halo(tmp_path, dims, zones, nodes)
    total = found.traffic.total
    assert found.bytes_before / total == pytest.approx(before, abs=0.001)
    assert found.bytes_after / total <= after + 1e-9
    assert found.is_worth_it
    assert sorted(chain(*found.groups)) == list(range(found.traffic.ranks))
    assert [len(group) for group in found.groups] == list(found.nodes.ranks)


def test_nothing_is_proposed_where_the_order_is_right(tmp_path: Path) -> None:
    found = _halo(tmp_path, (8, 8, 8), (16, 32, 64), 16)
    assert found.bytes_before / found.traffic.total == pytest.approx(0.184, abs=0.001)
    assert not found.is_worth_it
    assert "nothing is proposed" in found.describe()[-1]


_EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.integers(1, 1000)), min_size=1)
_SIZES = st.lists(st.integers(1, 5), min_size=2, max_size=12).filter(lambda sizes: sum(sizes) <= 12)


@given(edges=_EDGES, sizes=_SIZES, seed=st.integers(0, 100))
@settings(max_examples=12)
def test_nodes_keep_their_ranks_and_proposals_are_never_worse(
    tmp_path_factory: pytest.TempPathFactory, edges: list[tuple[int, int, int]], sizes: list[int], seed: int
) -> None:
    sizes = [*sizes, 12 - sum(sizes)] if sum(sizes) < 12 else sizes
    random = np.random.default_rng(seed)
    node = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    sent: dict[tuple[int, int], int] = {}
    for sender, receiver, size in edges:
        sent[sender, receiver] = sent.get((sender, receiver), 0) + size
    messages = [(*pair, size) for pair, size in sent.items()]
    file = tmp_path_factory.getbasetemp() / "random.halo"
    found = propose(messages_between(messages, [f"n{number:02}" for number in node]).write(file))
    counts = dict(zip(found.nodes.names, found.nodes.ranks, strict=True))
    assert counts == {f"n{number:02}": size for number, size in enumerate(sizes)}
    assert sorted(chain(*found.groups)) == list(range(12))
    assert [len(group) for group in found.groups] == list(found.nodes.ranks)
    # Bytes between nodes by their definition, now and as proposed.
    proposed = {rank: place for place, group in enumerate(found.groups) for rank in group}
    assert found.bytes_before == sum(size for one, other, size in messages if node[one] != node[other])
    assert found.bytes_after == sum(size for one, other, size in messages if proposed[one] != proposed[other])
    assert found.bytes_after <= found.bytes_before


def test_bytes_between_nodes_are_those_of_the_regions_table(tmp_path: Path) -> None:
    hosts = [f"n{rank % 3}" for rank in range(12)]
    path = halo((2, 3, 2), (8, 4, 2), hosts).write(tmp_path / "cyclic.halo")
    found = propose(path)
    with haloscope.open(path) as profile:
        rows = profile.table("partners").filter(pl.col("region") == "halo")
    apart = rows.filter(~pl.col("same_node"))
    assert found.traffic.total == rows["bytes_sent"].sum()
    assert found.bytes_before == apart["bytes_sent"].sum()
    assert found.figures()["bytes_offnode_proposed"] == found.bytes_after < found.bytes_before


def test_files_of_all_launchers_agree(tmp_path: Path) -> None:
    """What each launcher makes of its file is the same mapping; uneven nodes."""
    hosts = ["a", "b", "c", "a", "b", "c", "a"]
    ring = [(rank, (rank + 2) % 7, 1000) for rank in range(7)]
    found = propose(messages_between(ring, hosts).write(tmp_path / "ring.halo"))
    assert found.is_worth_it
    write_placement(found, tmp_path / "placement")
    write_placement(found, tmp_path / "placement")  # in place of the older one
    ranked = (tmp_path / "placement" / "rankfile").read_text().splitlines()
    by_rankfile = dict(re.findall(r"rank (\d+)=(\w+) slot=\d+", "\n".join(ranked)))
    by_hosts = (tmp_path / "placement" / "hosts").read_text().split()
    order = [*map(int, (tmp_path / "placement" / "MPICH_RANK_ORDER").read_text().split(","))]
    in_slots = [
        name for name, ranks in zip(found.nodes.names, found.nodes.ranks, strict=True) for _ in range(ranks)
    ]
    assert [by_rankfile[str(rank)] for rank in range(7)] == by_hosts
    assert [in_slots[order.index(rank)] for rank in range(7)] == by_hosts
    groups = [word.split(",") for word in make_mapping_text(found).split()]
    counted = [sum(1 + int(r.split("-")[-1]) - int(r.split("-")[0]) for r in group) for group in groups]
    assert counted == list(found.nodes.ranks) == [3, 2, 2]
    assert len(set(re.findall(r"slot=\d+", "".join(ranked)))) == 3


def test_a_model_gives_times_and_levels(tmp_path: Path) -> None:
    """Times are sums of the model's message times; partners share the deepest level that has room."""
    machine = tmp_path / "nested.yaml"
    machine.write_text(LEVELS)
    hosts = [f"n{rank // 4}" for rank in range(16)]
    pairs = [(rank, rank ^ 8, 4096) for rank in range(16)] + [(rank, rank ^ 4, 64) for rank in range(16)]
    path = messages_between(pairs, hosts).write(tmp_path / "pairs.halo")
    found = propose(path, machine=str(machine))
    model = load_machine(machine)
    received = {rank: [0.0, 0.0] for rank in range(16)}
    for sender, receiver, size in pairs:
        for which, slots in enumerate((found.before, found.after)):
            level = model.level(int(slots[sender]), int(slots[receiver]))
            received[receiver][which] += level.message_time(size)
    assert found.times == pytest.approx(tuple(max(times) for times in zip(*received.values(), strict=True)))
    assert found.times is not None
    assert found.times[1] < found.times[0] / 3
    # The large messages stay in a NUMA domain, the small ones in a node.
    slots = found.after
    assert all(slots[rank] // 2 == slots[rank ^ 8] // 2 for rank in range(16))
    assert all(slots[rank] // 4 == slots[rank ^ 4] // 4 for rank in range(16))


@pytest.mark.parametrize(
    ("text", "ranks", "expected"),
    [
        ("3", 8, {"node0": 3, "node1": 3, "node2": 2}),
        ("a:4,b:4,c:4", 6, {"a": 4, "b": 2}),
        ("a,b,a", 3, {"a": 2, "b": 1}),
    ],
)
def test_hosts_are_filled_in_order(text: str, ranks: int, expected: dict[str, int]) -> None:
    nodes = read_nodes(text, ranks)
    assert dict(zip(nodes.names, nodes.ranks, strict=True)) == expected


def test_a_host_file(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# mine\nn1 slots=2 max_slots=4\nn2:2\n\nn3\n")
    assert read_nodes(str(file), 5).ranks == (2, 2, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0", "1 to 4 nodes"),
        ("9", "1 to 4 nodes"),
        ("a:1,b:1", "2 slots for 4 ranks"),
        ("a;rm -rf", "host"),
        (",", "host"),
    ],
)
def test_hosts_that_make_no_sense(text: str, said: str) -> None:
    with pytest.raises(HaloscopeError, match=said):
        read_nodes(text, 4)


def test_what_cannot_be_placed_is_one_line(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = tmp_path / "pair.yaml"
    machine.write_text(NODE)
    four = ["a", "a", "b", "b"]
    messages_between([], ["a"]).write(tmp_path / "alone.halo")
    messages_between([], four).write(tmp_path / "silent.halo")
    messages_between([(0, 0, 8)], four).write(tmp_path / "self.halo")
    messages_between([(0, 2, 8), (1, 3, 8)], four).write(tmp_path / "good.halo")
    halo((8, 1, 1), (1, 1, 1), ["a"] * 8).write(tmp_path / "full.halo")
    lacking = messages_between([(0, 2, 8)], four)
    lacking.info["ranks"] = 6
    lacking.write(tmp_path / "lacking.halo")
    for name, hosts, model, said in (
        ("alone.halo", None, None, "one rank"),
        ("silent.halo", None, None, "ranks send no messages"),
        ("lacking.halo", None, None, "has 4 of 6 ranks"),
        ("absent.halo", None, None, "absent.halo"),
        ("good.halo", "a:1", None, "1 slot"),
        ("full.halo", None, str(machine), "16 nodes of 4 cores"),
        ("good.halo", None, "nowhere", "does not exist; give one of"),
    ):
        with pytest.raises(HaloscopeError, match=said):
            propose(tmp_path / name, hosts, model)
    for words in ([], ["--hosts", "2", "--", "mpiexec"], ["alone.halo"]):
        done = command("place", *words, status=None)
        assert done.returncode in {1, 2}, (words, done.stdout)
        assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "nothing is proposed" in propose(tmp_path / "self.halo").describe()[-1]
    told = json.loads(command("place", "good.halo", "--format", "json").stdout)
    assert told["proposed"]
    assert told["bytes_offnode_proposed"] == 0
    monkeypatch.setenv("PATH", "/nowhere")
    bare = command("place", "good.halo", status=ComponentError.exit_status)
    assert "apt-get install scotch" in bare.stderr


def test_traffic_is_added_up(tmp_path: Path) -> None:
    path = messages_between([(0, 1, 5), (1, 0, 7), (0, 0, 100)], ["a", "b"]).write(tmp_path / "two.halo")
    with haloscope.open(path) as profile:
        traffic = Traffic.of(profile)
    assert traffic.total == 112
    assert traffic.count_remote_bytes(np.array([0, 1])) == 12
