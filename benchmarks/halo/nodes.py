"""Stencils on two emulated nodes whose links are shaped: inter-node and intra-node at once.

Reno, no slow start after idle, bounded socket buffers, and a pause before every exchange that lets
the links' buckets fill: without these, shaped times vary two- to threefold.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import amr
import numpy as np
from common import emit, estimate
from programs import CHECKOUT, Floats, Library, output, row
from stolen import stolen

sys.path.insert(0, str(CHECKOUT / "tests"))

from support.cluster import Cluster, cluster, obstacle
from support.mpi import Mpi, find

Record = dict[str, Any]
Settings = dict[str, Any]
LINK = "4gbit"
# Links are slower if a computation shall hide an exchange. The system's work per byte takes processor time
# from the computation, and on a slower link this is a smaller part.
SLOW_LINKS = {"1 Gbit/s": "1gbit", "250 Mbit/s": "250mbit", "100 Mbit/s": "100mbit"}
AMR_LINK = "1 Gbit/s"
SETTINGS = ("net.ipv4.tcp_congestion_control=reno", "net.ipv4.tcp_slow_start_after_idle=0")
SOCKETS = {"OMPI_MCA_btl_tcp_sndbuf": "1048576", "OMPI_MCA_btl_tcp_rcvbuf": "1048576"}
SIZES = {"256 KiB": 256 << 10, "2 MiB": 2 << 20}
IDEAL = 1.05  # total over ideal
HIDDEN = 94.0  # % of the exchange
REACHED = 0.90  # of the processor time that the kernel's network leaves
# Share of the time of Open MPI's exchange.
LATENCY = {"256 KiB": 0.68, "2 MiB": 0.62}
# Memory of the program. NULL buffers, which the shm library provides, are the scheme of the slides.
MEMORY: dict[str, Settings] = {
    "alloc": {"memory": "alloc"},
    "NULL buffers": {"memory": "alloc", "null_buffers": True},
    "share-heap": {"memory": "share-heap"},
}
# Measures with the settings in its first argument, and prints the records.
PROGRAM = """\
import json, sys
from haloscope.hide import build_shm_library_for
from haloscope.predict.bench import HaloMethod, halo, write_halo
method = HaloMethod(shm=("off", "on"), **json.loads(sys.argv[1]))
result = halo(method, launcher=sys.argv[2:], build_shm=build_shm_library_for)
write_halo(result, "json", False, sys.stdout)
"""
LEAST_INTRA = 0.15  # share of inter-only below which the ideal is trivial


def measure(library: Library, rounds: int) -> None:
    """Print rows of the 7-point stencil, overlap and amr, alternately with and without the shm library."""
    one_node = json.loads(output(_command("halo", 2, rounds, iterations=40, warmup=5)))
    _latency(one_node, "two ranks on one node: shm, alloc", aimed=True)
    mpi = _found()
    if mpi is None:
        return
    with shaped(LINK) as nodes:
        for memory, settings in MEMORY.items():
            times = rounds // 2 if memory == "share-heap" else rounds
            _ideal(_bench(nodes, mpi, "halo", times, **settings), memory)
    for speed, link in SLOW_LINKS.items():
        with shaped(link) as nodes:
            _overlap(nodes, mpi, rounds, speed)
            if speed == AMR_LINK:
                _amr(nodes, mpi, library, rounds)


def _overlap(nodes: Cluster, mpi: Mpi, rounds: int, speed: str) -> None:
    lost = median(stolen(nodes.hosts, SIZES["2 MiB"], rounds))
    kinds = ((2, 1e-4, False), (2, 1e-4, True), (2, 0.0, False), (4, 1e-4, False))
    for ranks, every, late in kinds if speed == "1 Gbit/s" else kinds[:2]:
        settings = {"null_buffers": True, "test_every": every, "late": late, "sizes": [2097152]}
        found = _bench(nodes, mpi, "overlap", rounds // 2, ranks, **settings)
        calls = "a Test every 100 us" if every else "no calls"
        calls += ", receives posted after the computation" if late else ""
        case = f"overlap of 2 MiB over {speed}, 3-D stencil, ranks: {ranks // 2} a node, {calls}"
        _hidden(found, case, HIDDEN / 100 if every and not late else None)
        if not late and every:
            _exchange(found, f"exchange of 2 MiB over {speed}, ranks: {ranks // 2} a node")
        if ranks == 2 and every and not late:
            _limit(found, case, lost)


def _amr(nodes: Cluster, mpi: Mpi, library: Library, rounds: int) -> None:
    def run(prefix: Sequence[str], words: Sequence[str]) -> str:
        launch = [str(mpi.mpiexec), "--bind-to", "none", "-n", "4"]
        return _output(nodes, mpi, [*prefix, *launch, *words])

    case = f"communication-bound, two nodes over {AMR_LINK}"
    amr.measure_bound(case, library, run, rounds, ranks=4, stages=30)


def _found() -> Mpi | None:
    """Return the MPI that runs on nodes; if there is none, print the reason and return None."""
    mpi = find("openmpi-system")
    reason = obstacle() or ("" if mpi else "no Open MPI")
    if reason:
        print(f"no rows of emulated nodes: {reason}", file=sys.stderr)
    return None if reason else mpi


@contextmanager
def on_nodes(speed: str) -> Iterator[Callable[[Sequence[str]], str] | None]:
    """Yield a function that runs an Open MPI command on two nodes of two ranks; None without nodes."""
    mpi = _found()
    if mpi is None:
        yield None
        return
    with shaped(SLOW_LINKS[speed]) as nodes:
        yield lambda command: _output(nodes, mpi, command)


@contextmanager
def shaped(link: str) -> Iterator[Cluster]:
    """Yield two nodes of two ranks, with shaped links and the settings for stable times."""
    os.environ["CLUSTER_NIC"] = link
    with cluster(nodes=2, slots=2) as up:
        for host in up.hosts:
            inside = ["nsenter", f"--net=/run/netns/{host}", "sysctl", "-qw"]
            subprocess.run([*inside, *SETTINGS], check=True)
        yield up


def _command(test: str, ranks: int, rounds: int, **more: Any) -> list[str]:
    settings = {"test": test, "ranks": ranks, "rounds": rounds, "sizes": list(SIZES.values()), **more}
    return [sys.executable, "-c", PROGRAM, json.dumps(settings)]


def _bench(nodes: Cluster, mpi: Mpi, test: str, rounds: int, ranks: int = 4, **settings: Any) -> list[Record]:
    few = {"pause": 0.02, "iterations": 15, "warmup": 3}
    launcher = [str(mpi.mpiexec), "--bind-to", "none", *(["--map-by", "node"] if ranks == 2 else [])]
    command = [*_command(test, ranks, rounds, **few, **settings), *launcher]
    found: list[Record] = json.loads(_output(nodes, mpi, command))
    return found


def _output(nodes: Cluster, mpi: Mpi, command: Sequence[str]) -> str:
    return nodes.run(mpi, command, env=SOCKETS).stdout


def _medians(record: Record, part: str) -> Floats:
    return np.asarray(np.median(np.array(record["samples"][part]), axis=1))


def _ideal(records: list[Record], memory: str) -> None:
    by_shm = {shm: {one["bytes"]: one for one in records if one["shm"] == shm} for shm in ("off", "on")}
    for size, count in SIZES.items():
        # Without the shm library, the kind of memory has no effect.
        kinds = (("on", f"shm, {memory}"), ("off", "Open MPI"))[: 2 if memory == "alloc" else 1]
        for shm, who in kinds:
            one = by_shm[shm][count]
            share = one["intra"] / one["inter"]
            aimed = shm == "on" and memory != "share-heap" and share >= LEAST_INTRA
            row(
                f"7-point total against ideal, {size}, {who}",
                _medians(one, "total"),
                np.maximum(_medians(one, "inter"), _medians(one, "intra")),
                f"ideal, intra {share:.0%} of inter",
                1 / IDEAL if aimed else None,
            )
    _latency(records, f"two nodes: shm, {memory}", memory != "share-heap")


def _latency(records: list[Record], where: str, aimed: bool) -> None:
    for size, count in SIZES.items():
        times = {one["shm"]: _medians(one, "total") for one in records if one["bytes"] == count}
        row(
            f"3-D stencil, {size}, {where}",
            times["on"],
            times["off"],
            "Open MPI, the same memory",
            1 / LATENCY[size] if aimed else None,
        )


def _exchange(records: list[Record], case: str) -> None:
    times = {one["shm"]: _medians(one, "communication") for one in records}
    row(f"{case}: shm, NULL buffers", times["on"], times["off"], "Open MPI")


def _overlaps(records: list[Record]) -> dict[str, Floats]:
    """Return the hidden share of the exchange in percent, per launch, without and with the shm library."""
    return {
        one["shm"]: 100
        * (1 - (_medians(one, "both") - _medians(one, "computation")) / _medians(one, "communication"))
        for one in records
    }


def _hidden(records: list[Record], case: str, target: float | None) -> None:
    hidden = _overlaps(records)
    emit(
        "halo",
        case,
        ours=float(np.median(hidden["on"])),
        peer=float(np.median(hidden["off"])),
        peer_name="Open MPI",
        unit="%",
        ratio=estimate(np.clip(hidden["on"], 0, 100) / 100),
        target=target,
    )


def _limit(records: list[Record], case: str, lost: float) -> None:
    """Print the overlap and its limit: an exchange takes `lost` seconds from each processor in any case."""
    hidden = _overlaps(records)["on"]
    alone = min(float(np.median(_medians(one, "communication"))) for one in records)
    limit = 100 * (1 - lost / alone)
    emit(
        "halo",
        f"{case}: against the limit",
        ours=float(np.median(hidden)),
        peer=limit,
        peer_name="what the kernel's network leaves",
        unit="%",
        ratio=estimate(hidden / limit),
        target=REACHED,
    )
