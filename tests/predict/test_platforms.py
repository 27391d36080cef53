"""Platforms of `haloscope simulate`: valid files, errors, and generated networks."""

from __future__ import annotations

from pathlib import Path

import pytest

from haloscope import MachineError, UsageError
from haloscope.predict.simulate import Change, load_platform, name_hosts, platforms
from haloscope.predict.simulate.collectives import lower_collective
from haloscope.predict.simulate.description import count_capacity, make_platform_xml
from haloscope.predict.simulate.rank_grids import RankGrid, detect_grid

LINKS = "bandwidth: 10 GB/s\nlatency: 1 us\n"


def written(directory: Path, text: str) -> Path:
    path = directory / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("ranks", [1, 2, 7, 64, 100, 512, 1024, 4096])
@pytest.mark.parametrize("name", ["fat-tree", "torus", "dragonfly"])
def test_shipped_networks_hold_any_number(name: str, ranks: int) -> None:
    platform = load_platform(name)
    assert ranks <= count_capacity(platform, ranks) <= 8 * ranks + 16
    assert len(name_hosts(platform, ranks)) == ranks


def test_all_shipped_platforms_are_read() -> None:
    assert {"fat-tree", "torus", "dragonfly", "orfeo"} <= set(platforms())
    assert all(load_platform(name).name for name in platforms())


def test_factors_change_links_only(tmp_path: Path) -> None:
    text = "topology: torus\ndimensions: [2, 3]\nloopback_latency: 1 us\ncores: 2\n" + LINKS
    platform = load_platform(written(tmp_path, text))
    assert count_capacity(platform, 1) == 12
    assert name_hosts(platform, 5) == ["n-0", "n-0", "n-1", "n-1", "n-2"]
    xml = make_platform_xml(platform, 12, Change(2, 0.5))
    assert 'bw="5000000000Bps" lat="2e-06s"' in xml
    assert 'topo_parameters="2,3"' in xml
    assert 'lat="0s"' in make_platform_xml(platform, 12, Change.ideal())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("topology: ring\n" + LINKS, "topology: must be one of"),
        ("topology: torus\nlatency: 1 us\n", "bandwidth: Field required"),
        ("topology: torus\nbandwidth: 9 parsecs\nlatency: 1 us\n", "bandwidth: '9 parsecs'"),
        ("topology: torus\ndimensions: [0]\n" + LINKS, "dimensions.0"),
        ("topology: torus\ndimensions: [1000, 1000]\n" + LINKS, "1000000 hosts"),
        ("topology: fat_tree\ndown: [4]\n" + LINKS, "both down and up"),
        ("topology: fat_tree\ndown: [4, 4]\nup: [1]\n" + LINKS, "one number per level"),
        ("topology: dragonfly\ngroups: 4\n" + LINKS, "or none of them"),
        (
            "topology: dragonfly\ngroups: 4\nchassis: 2\nrouters: 2\nnodes: 2\n" + LINKS,
            "at least one router per chassis",
        ),
        ("topology: fat_tree\nrouting: adaptive\n" + LINKS, "routing: Input should be 'd-mod-k'"),
        ("topology: torus\ncolour: red\n" + LINKS, "colour: Extra inputs"),
        ("- 1\n", "not a platform"),
        ("a: [\n", ":2: not YAML"),
    ],
)
def test_one_line_for_a_bad_platform(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(MachineError) as error:
        load_platform(path)
    assert str(error.value).startswith(str(path))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_too_many_ranks(tmp_path: Path) -> None:
    platform = load_platform(written(tmp_path, "topology: torus\ndimensions: [4]\n" + LINKS))
    with pytest.raises(UsageError, match="cores for 4 ranks, not 5"):
        name_hosts(platform, 5)


def test_a_machine_model_is_a_platform(tmp_path: Path) -> None:
    text = "name: m\nlevels: [{name: node, cores: 4, latency: 1 us, bandwidth: 8 GB/s}]\n"
    platform = load_platform(written(tmp_path, text))
    xml = make_platform_xml(platform, 4, Change())
    assert count_capacity(platform, 4) == 4
    assert xml.count("<host ") == 4
    assert 'bandwidth="8000000000Bps" latency="1e-06s"' in xml


def test_grids_are_found() -> None:
    import numpy as np

    grid = RankGrid((3, 2, 2), (False, False, False))
    pairs = [
        (rank, to)
        for rank in range(12)
        for z in (-1, 0, 1)
        for y in (-1, 0, 1)
        for x in (-1, 0, 1)
        if (to := grid.neighbour(rank, (x, y, z))) is not None
    ]
    senders, partners = np.array(pairs).T
    found = detect_grid(12, senders, partners)
    assert found == grid
    assert found.scale(96) == RankGrid((6, 4, 4), (False, False, False))
    ring = np.arange(8)
    closed = detect_grid(8, ring, (ring + 1) % 8)
    assert closed == RankGrid((8, 1, 1), (True, False, False))
    assert closed.scale(32).dims == (32, 1, 1)
    assert detect_grid(7, np.array([0]), np.array([2])) is None


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_lowered_collectives_reach_all(size: int) -> None:
    """What each place has heard of, after the rounds in order."""

    def known(operation: str) -> list[set[int]]:
        sets = [{place} for place in range(size)]
        for one in lower_collective(operation, size, 8):
            before = [set(heard) for heard in sets]
            for source, to, _ in one:
                sets[to] |= before[source]
        return sets

    everything = set(range(size))
    assert known("Allreduce") == known("Barrier") == [everything] * size
    assert known("Allgather") == known("Alltoall") == [everything] * size
    assert known("Reduce")[0] == known("Gather")[0] == everything
    assert all(0 in heard for heard in known("Bcast"))
    assert known("Scan")[-1] == everything
