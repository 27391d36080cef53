"""Routings that SimGrid does not have: random up-links of a fat tree, Valiant's on a dragonfly."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import pytest

import haloscope
from haloscope import MachineError
from haloscope.predict.simulate import Change, Simulation, load_platform
from haloscope.predict.simulate.description import make_platform_xml
from haloscope.predict.simulate.platform import Dragonfly, FatTree
from haloscope.predict.simulate.routes import Hop, list_route

LINKS = "bandwidth: 1 GB/s\nlatency: 1 ms\n"
TREE = "topology: fat_tree\ndown: [2, 2, 2]\nup: [1, 2, 2]\nparallel: [1, 1, 2]\n" + LINKS
DRAGONFLY = "topology: dragonfly\ngroups: 3\nchassis: 2\nrouters: 3\nnodes: 2\n" + LINKS


def load(directory: Path, text: str) -> FatTree | Dragonfly:
    path = directory / "network.yaml"
    path.write_text(text)
    network = load_platform(path)
    assert isinstance(network, (FatTree, Dragonfly))
    return network


def routes(network: FatTree | Dragonfly, hosts: int) -> dict[tuple[int, int], list[Hop]]:
    pairs = [(one, other) for one, other in product(range(hosts), repeat=2) if one != other]
    return {(one, other): list_route(network, hosts, one, other) for one, other in pairs}


@pytest.mark.parametrize("text", [TREE + "routing: random\n", DRAGONFLY + "routing: valiant\n"])
def test_routes_are_paths_between_their_hosts(tmp_path: Path, text: str) -> None:
    network = load(tmp_path, text)
    hosts = network.hosts(1)
    found = routes(network, hosts)
    ends = {
        host: {route[0].source for pair, route in found.items() if pair[0] == host} for host in range(hosts)
    }
    assert all(len(sources) == 1 for sources in ends.values())
    for (_, target), route in found.items():
        assert all(before.target == after.source for before, after in pairwise(route))
        assert {route[-1].target} == ends[target]
        assert len(set(route)) == len(route)


def test_a_climb_ends_at_the_lowest_common_switch(tmp_path: Path) -> None:
    found = routes(load(tmp_path, TREE + "routing: random\n"), 8)
    for (source, target), route in found.items():
        # Hosts of one switch have the same number without its last bit, and so on.
        assert len(route) == 2 * (source ^ target).bit_length()
    # All four top switches are used, and both cables of their links.
    tops = {link.target for route in found.values() for link in route if link.target[0] == 3}
    assert len(tops) == 4
    assert {link.copy for route in found.values() for link in route} == {0, 1}


def test_a_third_group_is_between_two(tmp_path: Path) -> None:
    found = routes(load(tmp_path, DRAGONFLY + "routing: valiant\n"), 36)
    for (source, target), route in found.items():
        groups = [link.target[0] for link in route[:-1]]
        ends = (source // 12, target // 12)
        between = {0, 1, 2} - set(ends)
        assert set(groups) == (set(ends) if ends[0] == ends[1] else {*ends, *between})
        assert sum(link.width == 2 and link.source[0] != link.target[0] for link in route[1:-1]) == (
            0 if ends[0] == ends[1] else 2
        )


def times(directory: Path, network: str, ranks: int, pairs: list[tuple[int, int]], size: int) -> list[float]:
    """Return the seconds of the ranks if these pairs exchange a message at once."""
    traces = directory / "traces"
    traces.mkdir(exist_ok=True)
    for rank in range(ranks):
        lines = [f"isend {to} 0 {size} 6" for source, to in pairs if source == rank]
        lines += [f"irecv {source} 0 {size} 6" for source, to in pairs if to == rank]
        lines += [f"waitall {len(lines)}"] if lines else []
        text = "".join(f"{rank} {line}\n" for line in ("init", *lines, "finalize"))
        (traces / f"{rank}.txt").write_text(text)
    platform = directory / "network.yaml"
    platform.write_text(network)
    profile = Simulation(traces, str(platform)).run(directory / "simulated.halo")
    with haloscope.open(profile) as opened:
        return [float(time) for time in opened.table("ranks", region="<program>").sort("rank")["time"]]


@pytest.mark.usefixtures("simgrid")
def test_simgrid_takes_these_routes(tmp_path: Path) -> None:
    """The oracle for the fat tree is SimGrid's own routing: routes of one length have one latency."""
    for source, target in ((0, 1), (0, 2), (1, 6), (7, 0)):
        found = [
            times(tmp_path, f"{TREE}routing: {routing}\n", 8, [(source, target)], 1)[target]
            for routing in ("random", "d-mod-k")
        ]
        assert found[0] == pytest.approx(found[1], rel=1e-6)
        assert found[0] == pytest.approx(2e-3 * (source ^ target).bit_length(), rel=1e-3)
    # In one group Valiant's route is the minimal one.
    for source, target in ((0, 1), (0, 3), (1, 11)):
        one, other = (
            times(tmp_path, f"{DRAGONFLY}routing: {routing}\n", 36, [(source, target)], 1)[target]
            for routing in ("valiant", "minimal")
        )
        assert one == pytest.approx(other, rel=1e-6)


@pytest.mark.usefixtures("simgrid")
def test_valiant_spreads_what_one_link_would_have(tmp_path: Path) -> None:
    """All hosts of a group send to the next group: the minimal way is one link, Valiant's are four."""
    wide = DRAGONFLY.replace("groups: 3", "groups: 6").replace("routers: 3", "routers: 6")
    pairs = [(host, 24 + host) for host in range(24)]
    minimal, valiant = (
        max(times(tmp_path, f"{wide}routing: {routing}\n", 144, pairs, 10_000_000))
        for routing in ("minimal", "valiant")
    )
    assert minimal >= 24 * 10_000_000 / 2e9  # all that one link has
    assert valiant < minimal


def test_too_many_routes_are_refused(tmp_path: Path) -> None:
    network = load(tmp_path, "topology: dragonfly\nrouting: valiant\n" + LINKS)
    with pytest.raises(MachineError, match="of at most 256 hosts, not 300"):
        make_platform_xml(network, 300, Change())
