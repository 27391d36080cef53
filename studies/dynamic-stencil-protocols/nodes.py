"""Motivation 2 and the overlap benchmark on two emulated nodes, by MPI alone and by protocol.

    .venv/bin/python studies/dynamic-stencil-protocols/nodes.py DIR

Writes `halo.csv`, `overlap.csv` and figures of both to DIR. Needs root for network namespaces, and
`tools/cluster.sh` of a checkout. If one is missing, it prints which one and exits with status 4.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from common import NOT_HERE, draw, into, lines

from haloscope.base.toolchain import toolchain
from haloscope.hide import build_shm_library_for
from haloscope.markov.figures import Figure, Panel, axis
from haloscope.predict.bench import HaloMethod, halo
from haloscope.reproduce.study import write_figures

CLUSTER = Path(__file__).resolve().parents[2] / "tools" / "cluster.sh"
NODES, SLOTS = 2, 2
# The link of a node. It is slower than TCP on one core, so that ranks that share cores wait for the link.
SETTINGS = {"CLUSTER_NAME": f"study{os.getpid()}n", "CLUSTER_NET": "10.77.7", "CLUSTER_NIC": "1gbit"}
SIZES = (262144, 2097152)  # of the slides' overlap benchmark
PROTOCOLS = ("dynamic", "get", "coop", "steal", "static")
METHOD = HaloMethod(sizes=SIZES, ranks=NODES * SLOTS, iterations=10, warmup=2, rounds=3)


def obstacle() -> str | None:
    """Return why there are no emulated nodes, or start them and return None."""
    if not CLUSTER.is_file():
        return "emulated nodes need a checkout of Haloscope, for tools/cluster.sh"
    if os.geteuid() != 0:
        return "emulated nodes are network namespaces, which need root"
    done = cluster("up", str(NODES), str(SLOTS))
    return (done.stderr.strip() or "emulated nodes do not start") if done.returncode else None


def cluster(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of `tools/cluster.sh`."""
    return subprocess.run(
        [str(CLUSTER), *words], env=os.environ | SETTINGS, stderr=subprocess.PIPE, text=True, check=False
    )


def rows_of(method: HaloMethod, name_with_shm: str) -> list[dict[str, object]]:
    """Measure, and return a row per kind of launch and size: its name, microseconds and percent."""
    result = halo(method, build_shm=build_shm_library_for)
    rows: list[dict[str, object]] = []
    for one in result.series:
        values = one.figures()
        scale = {name: 1.0 if name in ("ratio", "overlap") else 1e6 for name in values}
        of = name_with_shm if one.shm == "on" else "MPI alone"
        row: dict[str, object] = {"of": of, "bytes": one.bytes}
        for name, (middle, low, high) in values.items():
            row |= {name: middle * scale[name]}
            if name in ("ratio", "overlap"):
                row |= {f"{name}_low": low, f"{name}_high": high}
        rows.append(row)
    return rows


def inside() -> None:
    """Measure from node 0, whose launcher starts ranks on all nodes."""
    overlap = replace(METHOD, test="overlap")
    found: dict[str, list[dict[str, object]]] = {"halo": [], "overlap": []}
    for method in (METHOD, overlap):
        found[method.test] += rows_of(method, "")
        for protocol in PROTOCOLS:
            found[method.test] += rows_of(replace(method, shm=("on",), protocol=protocol), protocol)
    lent = replace(overlap, shm=("on",), null_buffers=True)
    found["overlap"] += rows_of(lent, "dynamic, the shm library's buffers")
    late = replace(overlap, late=True)
    for method, name_with_shm in (
        (late, ""),
        (replace(late, shm=("on",), null_buffers=True), "the shm library's buffers"),
    ):
        for row in rows_of(method, name_with_shm):
            found["overlap"].append(row | {"of": f"{row['of']}, receives after computing"})
    for name, rows in found.items():
        pl.DataFrame(rows).write_csv(f"{name}.csv", float_precision=3)


def figures() -> tuple[Figure, Figure]:
    """Return the figures of the total over the ideal, and of the overlap, with a line per protocol."""
    total, overlap = pl.read_csv("halo.csv"), pl.read_csv("overlap.csv")
    made = []
    for table, name, title, paper in (
        (total, "ratio", "total over the longer of inter-node and intra-node alone", "Motivation 2"),
        (overlap, "overlap", "overlap, %", "3D stencil overlap benchmark"),
    ):
        names = table["of"].unique(maintain_order=True).to_list()
        panel = Panel("", lines(table, "bytes", name, "of", names, {}))
        across = axis("bytes to each neighbour", type="log", tickvals=SIZES, ticktext=["256 KiB", "2 MiB"])
        where = f"{NODES} emulated nodes of {SLOTS} ranks, {SETTINGS['CLUSTER_NIC']} per node"
        caption = f"{where}; medians. Slides: {paper}."
        made.append(draw([panel], across, axis(title, rangemode="tozero"), caption))
    return made[0], made[1]


def main() -> None:
    """Start the nodes, measure on them, and draw."""
    toolchain()
    why = obstacle()
    try:
        if why is not None:
            print(why)
            sys.exit(NOT_HERE)
        done = cluster("exec", "0", sys.executable, str(Path(__file__).resolve()), "--inside")
        if done.returncode:
            sys.exit(done.stderr.strip())
    finally:
        if CLUSTER.is_file():
            cluster("down")
    for name, figure in zip(("halo.json", "overlap.json"), figures(), strict=True):
        write_figures([figure], Path(name))


if __name__ == "__main__":
    if sys.argv[1:] == ["--inside"]:
        inside()
    else:
        # SystemExit runs the `finally` that removes the nodes.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
        into()
        main()
