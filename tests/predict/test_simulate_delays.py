"""Delays of `haloscope simulate`: latencies, factors of computing, and memory that ranks share."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import haloscope
from haloscope import MachineError, UsageError
from haloscope.explain import ensembles
from haloscope.predict.simulate import Simulation, load_platform

pytestmark = pytest.mark.usefixtures("simgrid")

Times = Callable[..., list[float]]
NETWORK = "topology: torus\ndimensions: [4]\nbandwidth: 1 GB/s\nlatency: 1 us\n"
MESSAGE, SECOND = 6, 1_000_000_000  # SimGrid's number of MPI_BYTE; flops of a second of computing


@pytest.fixture
def times(tmp_path: Path) -> Times:
    """`times(["compute 5", …], …)` are the seconds of ranks with these actions."""

    def run(*ranks: Sequence[str], network: str = NETWORK, **options: Any) -> list[float]:
        traces, platform = tmp_path / "traces", tmp_path / "network.yaml"
        traces.mkdir(exist_ok=True)
        for file in traces.iterdir():
            file.unlink()
        platform.write_text(network)
        for rank, actions in enumerate(ranks):
            lines = [f"{rank} {action}\n" for action in ("init", *actions, "finalize")]
            (traces / f"{rank}.txt").write_text("".join(lines))
        profile = Simulation(traces, str(platform), **options).run(tmp_path / "simulated.halo")
        with haloscope.open(profile) as opened:
            return [float(time) for time in opened.table("ranks", region="<program>").sort("rank")["time"]]

    return run


def send(to: int, size: int = 1000) -> str:
    return f"send {to} 0 {size} {MESSAGE}"


def receive(source: int, size: int = 1000) -> str:
    return f"recv {source} 0 {size} {MESSAGE}"


RING = [[send(1), receive(3)], *([receive(rank - 1), send((rank + 1) % 4)] for rank in (1, 2, 3))]


def test_no_delay_changes_nothing(times: Times) -> None:
    work = [
        [f"compute {SECOND * (rank + 1)}", *actions, "allreduce 1 0 0"] for rank, actions in enumerate(RING)
    ]
    plain = times(*work)
    assert times(*work, latency=["none"], seed=3) == plain
    assert times(*work, compute_factor=[1, 1]) == pytest.approx(plain, rel=1e-12)
    enough = NETWORK + "memory_bandwidth: 10 GB/s\ncore_bandwidth: 10 GB/s\n"
    assert times(*work, network=enough) == plain


def test_each_message_takes_its_latency(times: Times) -> None:
    """Around the ring of four, the message waits four times; each rank's own route takes far less."""
    assert times(*RING, latency="constant:1s")[0] == pytest.approx(4.0, abs=1e-9)
    assert times(*RING, latency="0.5*constant:1s")[0] == pytest.approx(2.0, abs=1e-9)
    # Of a message that takes longer by itself, nothing is left to wait for.
    large = [[send(1, 2 * SECOND)], [receive(0, 2 * SECOND)]]
    assert times(*large, latency="constant:1s") == times(*large)
    posted = [
        [f"irecv 1 0 8 {MESSAGE}", f"isend 1 0 8 {MESSAGE}", "waitall 2"],
        [
            f"irecv 0 0 8 {MESSAGE}",
            f"isend 0 0 8 {MESSAGE}",
            "compute 3000000000",
            "wait 0 1 0",
            "wait 1 0 0",
        ],
    ]
    # A latency passes while the receiver computes.
    assert times(*posted, latency="constant:2s") == pytest.approx([2.0, 3.0], abs=1e-4)


def test_links_within_and_between_nodes(times: Times) -> None:
    two_a_host = NETWORK + "cores: 2\n"
    delayed = {"latency": ["intra=constant:1s", "inter=constant:10s"]}
    assert times(*RING, network=two_a_host, **delayed)[0] == pytest.approx(22.0, abs=1e-4)
    assert times(*RING, network=two_a_host, latency="inter=constant:10s")[0] == pytest.approx(20.0, abs=1e-4)


def test_ranks_that_receive_in_a_collective_wait(times: Times) -> None:
    one = ["bcast 8 0 6"]
    first, *others = times(one, one, one, latency="constant:1s")
    assert first < 0.1
    assert others == pytest.approx([1.0, 1.0], abs=0.1)
    assert times(["barrier"], ["barrier"], latency="constant:1s") == pytest.approx([1.0, 1.0], abs=0.1)


def test_factors_multiply_computing(times: Times) -> None:
    work = [[f"compute {SECOND}"]] * 4
    assert times(*work, compute_factor=[1, 2.5]) == pytest.approx([1, 2.5, 1, 2.5], rel=1e-9)
    assert times(*work, compute_factor=[0, 0, 3, 1]) == pytest.approx([0, 0, 3, 1], rel=1e-9, abs=1e-9)
    assert times(*work, compute_factor=2) == pytest.approx([2] * 4, rel=1e-9)


def test_memory_is_shared_by_ranks_that_compute(times: Times) -> None:
    network = NETWORK + "cores: 4\nmemory_bandwidth: 15 GB/s\ncore_bandwidth: 10 GB/s\n"
    assert times(*[[f"compute {SECOND}"]] * 4, network=network) == pytest.approx([4 / 1.5] * 4, rel=1e-9)
    # Alone, a rank has the speed of a core, not that of the memory.
    assert times([f"compute {SECOND}"], [], network=network)[0] == pytest.approx(1.0, rel=1e-9)
    # Three ranks share until the first two end: 1.5 / 3 of a core each, 2 s. One second is left.
    work = [[f"compute {SECOND}"], [f"compute {SECOND}"], [f"compute {2 * SECOND}"]]
    assert times(*work, network=network) == pytest.approx([2.0, 2.0, 3.0], rel=1e-9)
    # The other host has its own memory.
    two = network.replace("cores: 4", "cores: 2")
    assert times(*[[f"compute {SECOND}"]] * 3, network=two) == pytest.approx([2 / 1.5] * 2 + [1.0], rel=1e-9)


def test_latencies_of_a_regime_model(times: Times, tmp_path: Path) -> None:
    """A rank of two regimes that alternate: 1 s, 3 s, 1 s, …"""
    regimes = [{"mean": mean, "std": 1e-9, "share": 0.5, "log_mean": 0, "log_std": 1} for mean in (1.0, 3.0)]
    model = {
        "format": "haloscope-regimes",
        "version": 1,
        "unit": "s",
        "family": "gaussian",
        "regimes": regimes,
        "start": [1, 0],
        "transition": [[0, 1], [1, 0]],
    }
    (tmp_path / "model.json").write_text(json.dumps(model))
    work = [[send(1)] * 5, [receive(0), "compute 10000000000"] * 5]
    # All five are sent at once, as the first send waits for its receiver: each later one is there already.
    latency = f"model:{tmp_path / 'model.json'}"
    turns = [[send(1), receive(1)] * 2, [receive(0), send(0)] * 2]
    assert times(*turns, latency=latency)[0] == pytest.approx(1 + 1 + 3 + 3, abs=1e-3)
    assert times(*work, latency=latency)[1] == times(*work, latency=latency)[1]
    drawn = [times(*turns, latency="lognormal:1s,1", seed=seed)[0] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_speed_of_a_message_is_below_that_of_the_link(
    times: Times, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages that share a link, and wait for each other in one call, have speeds all the same."""
    monkeypatch.setenv("HALOSCOPE_TRACE", "1")
    many = [f"isend 1 {tag} {size} {MESSAGE}" for tag, size in enumerate((1_000_000, 10, 500_000))]
    back = [f"irecv 0 {tag} {size} {MESSAGE}" for tag, size in enumerate((1_000_000, 10, 500_000))]
    times([*many, "waitall 3", send(1, 2_000_000)], [*back, "waitall 3", receive(0, 2_000_000)])
    with haloscope.open(tmp_path / "simulated.halo") as opened:
        timed = ensembles.time_messages(opened).sort("bytes")
    assert timed["bytes"].to_list() == [10, 500_000, 1_000_000, 2_000_000]
    assert max((timed["bytes"] / timed["seconds"]).to_list()) <= 1e9
    # 1.5 MB share the link, and the call ends with the last byte. Each route has a latency of 1 us.
    assert timed["seconds"].to_list()[:3] == pytest.approx([1.501e-3] * 3, rel=1e-3)
    assert timed["seconds"][3] == pytest.approx(2.001e-3, rel=1e-3)
    view = ensembles.size_classes(haloscope.open_all([tmp_path / "simulated.halo"]))
    assert max(view.frame["speed"].to_list()) <= 1e9


def test_what_cannot_be_delayed(times: Times, tmp_path: Path) -> None:
    platform = tmp_path / "network.yaml"
    platform.write_text(NETWORK + "cores: 2\nmemory_bandwidth: 10 GB/s\ncore_bandwidth: 10 GB/s\n")
    for options in ({"latency": "constant:1ms"}, {"compute_factor": [1, 2]}):
        with pytest.raises(UsageError, match="replay of a profile or trace"):
            Simulation(["cg"], "torus", 2, **options).run(tmp_path / "never.halo")
    with pytest.raises(UsageError, match="replay of a profile or trace"):
        Simulation(["cg"], str(platform), 2).run(tmp_path / "never.halo")
    with pytest.raises(UsageError, match="not one of none"):
        times([], latency="uniform:1ms")
    with pytest.raises(UsageError, match="must not be negative"):
        times([], compute_factor=[1, -1])
    platform.write_text(NETWORK + "memory_bandwidth: 10 GB/s\n")
    with pytest.raises(MachineError, match="both memory_bandwidth and core_bandwidth"):
        load_platform(platform)
