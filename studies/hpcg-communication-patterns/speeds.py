"""Table 2: the speed of single messages, simulated on Orac and measured on two emulated nodes.

    .venv/bin/python studies/hpcg-communication-patterns/speeds.py DIR

Emulated nodes need root for network namespaces, and `tools/cluster.sh` of a checkout. Without them their
column is empty.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from common import ENVIRONMENT, HALOSCOPE, into, simulated
from orac import PLATFORM

from haloscope import explain
from haloscope.base.units import noun_text
from haloscope.explain.ensembles import Speeds
from haloscope.predict.simulate import load_platform
from haloscope.reproduce.study import Reproduced, Tested, write_reproduced

SIZES = tuple(1 << power for power in range(23))
ROUNDS = 10
EAGER = 1000  # bytes: the time of a smaller message is mostly latency
# A published speed is a mean of speeds in 0.01 MB/s, of the powers of two of its class: 7, 3, 4 and 8 times
# the four are multiples of that. So are 4 times the last one, up to 128 KiB, but not 9 times, up to 4 MiB.
CLASSES = {
    "less than 100 bytes": SIZES[:7],
    "100-1000 bytes": SIZES[7:10],
    "1000-10000 bytes": SIZES[10:14],
    "greater than 10000 bytes": SIZES[14:22],
}
PUBLISHED = (416491.42, 5865413.33, 28215160.0, 70963500.0)  # kbit/s
CLUSTER = Path(__file__).resolve().parents[2] / "tools" / "cluster.sh"
SETTINGS = {"CLUSTER_NAME": f"hpcg{os.getpid()}n", "CLUSTER_NET": "10.77.8"}


def ping_pong() -> Speeds:
    """Return the times of messages between two nodes of Orac, simulated one by one."""
    traces = Path("ping-pong")
    traces.mkdir(exist_ok=True)
    for rank in range(2):
        other, lines = 1 - rank, [f"{rank} init"]
        for size in SIZES:
            there, back = f"{rank} send {other} 0 {size} 6", f"{rank} recv {other} 0 {size} 6"
            turns = (there, back) if rank == 0 else (back, there)
            lines += [f"{rank} location size{size} 1", *turns * ROUNDS, f"{rank} location size{size} 0"]
        (traces / f"{rank}.txt").write_text("\n".join([*lines, f"{rank} finalize\n"]), encoding="ascii")
    platform = Path("orac-nodes.yaml")
    text = PLATFORM.read_text("utf-8").replace("cores: 28", "cores: 1")
    platform.write_text("".join(f"{line}\n" for line in text.splitlines() if "_bandwidth:" not in line))
    profile = simulated(Path("ping-pong.halo"), 2, platform, [traces])
    with explain.open(profile) as opened:
        rows = opened.table("ranks").filter(rank=0)
        names = {f"size{size}": size for size in SIZES}
        times = {
            names[name]: time / (2 * ROUNDS)
            for name, time in rows.select("region", "time").iter_rows()
            if name in names
        }
    return Speeds("Orac as simulated, node to node", lambda size: _between(times, size))


def _between(times: dict[int, float], size: float) -> float:
    """Return the time of a message, interpolated between measured sizes."""
    sizes = sorted(times)
    below = max((one for one in sizes if one <= size), default=sizes[0])
    above = min((one for one in sizes if one >= size), default=sizes[-1])
    if below == above:
        return times[below]
    return times[below] + (times[above] - times[below]) * (size - below) / (above - below)


def on_emulated_nodes() -> Speeds | str:
    """Return the times of `bench p2p` between two emulated nodes, or why there are none."""
    if not CLUSTER.is_file():
        return "emulated nodes need a checkout of Haloscope, for tools/cluster.sh"
    if os.geteuid() != 0:
        return "emulated nodes are network namespaces, which need root"
    cores = len(os.sched_getaffinity(0))
    words = ["bench", "p2p", "latency", "--nodes", "2", "--pair", f"0,{cores}", "--format", "json"]
    environment = ENVIRONMENT | SETTINGS

    def cluster(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(CLUSTER), *arguments], env=environment, capture_output=True, text=True, check=False
        )

    try:
        started = cluster("up", "2", str(cores))
        if started.returncode:
            return started.stderr.strip() or "emulated nodes do not start"
        done = cluster("exec", "0", str(HALOSCOPE), *words, "--", "mpiexec")
    finally:
        cluster("down")
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    medians = {int(point["bytes"]): float(point["median"]) for point in json.loads(done.stdout)}
    return Speeds("two emulated nodes", lambda size: _between(medians, size))


def kilobits(machine: Speeds) -> list[float]:
    """Return the mean speed of the sizes of each class, kbit/s."""
    return [fmean(8e-3 * size / machine.seconds(size) for size in sizes) for sizes in CLASSES.values()]


def explain_difference(machine: Speeds, sizes: Sequence[int], published: float, link: float) -> str:
    """Return why the speed of a class differs; `published` and `link` are in kbit/s."""
    if sizes[0] < EAGER:
        microseconds = 8e3 * fmean(sizes) / published
        return (
            f"the mean of {len(sizes)} sizes is the published speed if each message takes "
            f"{microseconds:.2f} µs; a message of {noun_text(sizes[0], 'byte')} is simulated with "
            f"{1e6 * machine.seconds(sizes[0]):.2f} µs, because the latency of a link is chosen"
        )
    ours = fmean(8e-3 * size / machine.seconds(size) for size in sizes)
    return (
        f"published: {100 * published / link:.0f} % of the link; simulated: {100 * ours / link:.0f} %, "
        "without the work of an MPI library per message"
    )


def main() -> None:
    """Measure, and write the table and the results."""
    orac = ping_pong()
    ours, emulated = kilobits(orac), on_emulated_nodes()
    there = [None] * len(ours) if isinstance(emulated, str) else kilobits(emulated)
    if isinstance(emulated, str):
        print(f"no column of emulated nodes: {emulated}")
    columns = {"bytes": list(CLASSES), "published": PUBLISHED, "simulated": ours, "emulated_nodes": there}
    pl.DataFrame(columns, strict=False).write_csv("table-2.csv", float_precision=0)
    network = load_platform(PLATFORM)
    limit = float(network.bandwidth) * 8e-3 if network.topology != "machine" else 0.0
    write_reproduced(
        "speeds",
        [
            Reproduced(name, value, "simulated", why=explain_difference(orac, sizes, published, limit))
            for (name, sizes), value, published in zip(CLASSES.items(), ours, PUBLISHED, strict=True)
        ],
        [
            Tested(
                "speed grows with size",
                ours == sorted(ours),
                f"{ours[0] / 1e6:.2f} to {ours[-1] / 1e6:.1f} Gbit/s of {limit / 1e6:.0f} of the link",
                "simulated",
            )
        ],
    )


if __name__ == "__main__":
    into()
    main()
