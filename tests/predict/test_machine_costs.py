"""What a machine model says of messages and of the place of ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from haloscope import MachineError, UsageError, predict

MEASURED = """
name: measured
levels:
  - name: node
    cores: 2
    latency: 0.25 us
    latency_interval: [0.24 us, 0.26 us]
    bandwidth: 10 GB/s
    bandwidth_interval: [9 GB/s, 11 GB/s]
    loggp: {L: 0.1 us, o: 50 ns, g: 60 ns, G: 0.1 ns, L_interval: [0, 0.2 us]}
    protocols:
      - {from: 0, latency: 0.2 us}
      - {from: 4096, name: rendezvous, latency: 1 us, bandwidth: 10 GB/s}
    plogp:
      - {bytes: 1, g: 0.1 us, os: 0.05 us, or: 0.04 us}
smt: {latency: 0.1 us}
matrix: {cores: [0, 1], microseconds: [[0, 0.25], [null, 0]]}
"""


def load(directory: Path, text: str) -> predict.Machine:
    path = directory / "measured.yaml"
    path.write_text(text)
    return predict.load_machine(path)


def test_messages_cost_what_their_protocol_says(tmp_path: Path) -> None:
    link = load(tmp_path, MEASURED).level(0, 1)
    assert link.message_time(0) == link.message_time(4095) == 0.2e-6
    assert link.message_time(4096) == pytest.approx(1e-6 + 4096 / 10e9)


def test_without_protocols_they_cost_latency_and_bandwidth() -> None:
    link = predict.Level(name="box", cores=2, latency="1 us", bandwidth="1 GB/s")  # type: ignore[arg-type]
    assert link.message_time(1000) == pytest.approx(2e-6)
    assert predict.load_machine("orfeo").level(0, 255).message_time(1000) == 1.82e-6


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("from: 0,", "from: 1,", "first protocol must begin at 0"),
        ("from: 4096", "from: 0", "each later one at a larger size"),
        ("[[0, 0.25], [null, 0]]", "[[0, 0.25]]", "one row and one column"),
        ("os: 0.05 us, ", "", r"plogp.0.os: Field required"),
        ("g: 60 ns", "g: -60 ns", "is not a time"),
    ],
)
def test_what_is_wrong(tmp_path: Path, before: str, after: str, words: str) -> None:
    with pytest.raises(MachineError, match=words):
        load(tmp_path, MEASURED.replace(before, after))


@pytest.mark.parametrize(
    ("mapping", "cores"),
    [
        ("core", [0, 1, 2, 3, 4]),
        ("node", [0, 128, 1, 129, 2]),
        ("socket", [0, 64, 1, 65, 2]),
        ("numa", [0, 16, 32, 48, 64]),
    ],
)
def test_ranks_are_placed_as_launchers_do(mapping: str, cores: list[int]) -> None:
    orfeo = predict.load_machine("orfeo")
    assert orfeo.ranks_on_cores(mapping, 5) == cores
    assert sorted(orfeo.ranks_on_cores(mapping)) == list(range(256))


def test_one_node_is_filled_before_the_next() -> None:
    orfeo = predict.load_machine("orfeo")
    assert {core // 128 for core in orfeo.ranks_on_cores("socket", 128)} == {0}
    with pytest.raises(UsageError, match="256 cores: too few for 257"):
        orfeo.ranks_on_cores("core", 257)
    with pytest.raises(UsageError, match="unknown mapping 'bridge'; choose from core, node, CCX"):
        orfeo.ranks_on_cores("bridge", 2)
