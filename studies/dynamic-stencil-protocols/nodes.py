"""Motivation 2 and the overlap benchmark on emulated nodes, by MPI alone and with the shm library.

    .venv/bin/python studies/dynamic-stencil-protocols/nodes.py DIR

Writes `halo.csv`, `overlap.csv`, figures of both, and the verdicts to DIR. Needs root for network
namespaces, and `tools/cluster.sh` of a checkout.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from common import draw, into, lines
from drawn import lines_with_intervals, slides
from emulated import LINK_SPEED, Mpi, Record, find_mpis, less, measure, nodes
from stencil_verdicts import LESS, OVERLAPS, RATIOS, claims, numbers

from haloscope import ComponentError
from haloscope.markov.figures import Figure, Panel, axis
from haloscope.reproduce.study import write_figures, write_reproduced

SCALES = (2, 4, 8)
SIZES = {"256 KiB": 262144, "2 MiB": 2097152}  # of the slides' overlap benchmark
# In a pause before each exchange the links' token buckets fill and sockets drain.
METHOD: dict[str, Any] = {
    "sizes": list(SIZES.values()),
    "iterations": 5,
    "warmup": 1,
    "rounds": 4,
    "pause": 0.02,
}
SIDES = {"shm": ["off", "on"], "null_buffers": True}
Row = dict[str, object]


def rows_of(mpi: Mpi, count: int, slots: int, test: str, late: bool = False) -> list[Row]:
    """Measure on nodes that are up, and return a row per size and side."""
    print(f"{count} nodes of {slots}, {mpi.abi}: {test}{', late' if late else ''}", flush=True)
    records = measure(mpi, **METHOD, **SIDES, test=test, ranks=count * slots, late=late)
    found: dict[tuple[int, str], Record] = {(one["bytes"], one["shm"]): one for one in records}
    largest = max(METHOD["sizes"])
    alone = found[largest, "off"]["communication" if test == "overlap" else "inter"]
    if alone < largest / LINK_SPEED / 2:  # a full token bucket lets a part through at once
        print(
            f"{mpi.abi}: {alone:.2g} s for {largest} bytes, so it does not use the link: left out", flush=True
        )
        return []
    part, figure = ("both", "overlap") if test == "overlap" else ("total", "ratio")
    rows: list[Row] = []
    for (size, shm), one in found.items():
        row: Row = {"mpi": one["library"], "of": "shm library" if shm == "on" else "MPI alone"}
        row |= {"receives": "after computing" if late else "before computing"} if test == "overlap" else {}
        row |= {"nodes": count, "ranks": count * slots, "bytes": size}
        names = ("total", "inter", "intra", "ideal", "communication", "computation", "both")
        row |= {name: one[name] for name in names if name in one}
        row |= {figure: one[figure]}
        row |= {f"{figure}_from": one[f"{figure}_low"], f"{figure}_to": one[f"{figure}_high"]}
        gain = less(found[size, "off"], one, part) if shm == "on" else (None, None, None)
        rows.append(row | dict(zip(("less_percent", "less_from", "less_to"), gain, strict=True)))
    return rows


def measured(directory: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a table of the exchanges, and one of their overlap.

    On the fewest nodes there is also one rank per node. Ranks that poll while they wait cannot share cores.
    """
    mpis, cores = find_mpis(directory / "mpis"), len(os.sched_getaffinity(0))
    halo: list[Row] = []
    overlap: list[Row] = []
    for count in SCALES:
        for slots in (1, 2):
            alone = count == SCALES[0] and slots == 1
            fitting = [mpi for mpi in mpis if mpi.slots > 1 or count * slots <= cores]
            chosen = [mpi for mpi in fitting if alone or slots == mpi.slots]
            if not chosen:
                continue
            with nodes(count, slots):
                for mpi in chosen:
                    halo += rows_of(mpi, count, slots, "halo") if slots > 1 else []
                    overlap += rows_of(mpi, count, slots, "overlap")
                    overlap += rows_of(mpi, count, slots, "overlap", late=True) if alone else []
    return pl.DataFrame(halo, infer_schema_length=None), pl.DataFrame(overlap, infer_schema_length=None)


def draw_by_nodes(
    table: pl.DataFrame, column: str, title: str, printed: dict[tuple[int, str], float], caption: str
) -> Figure:
    """Return a figure with a panel per size: lines over nodes, and the slides' values."""
    names = table["side"].unique(maintain_order=True).to_list()
    ends = (f"{column.removesuffix('_percent')}_from", f"{column.removesuffix('_percent')}_to")
    kept = table.filter(pl.col(column).is_not_null())
    drawn = []
    for name, size in SIZES.items():
        points = [(count, value) for (count, of), value in printed.items() if of == name]
        some = kept.filter(pl.col("bytes") == size)
        drawn.append(
            Panel(name, [*lines_with_intervals(some, "nodes", column, ends, "side", names), *slides(points)])
        )
    across = axis("nodes", type="log", tickvals=[*SCALES, 16], ticktext=[*map(str, (*SCALES, 16))])
    where = f"Emulated nodes, {8 * LINK_SPEED / 1e6:g} Mbit/s per node, medians with 95 % intervals."
    return draw(drawn, across, axis(title), f"{caption} {where}", columns=2)


def figures(halo: pl.DataFrame, overlap: pl.DataFrame) -> dict[str, list[Figure]]:
    """Return the figures by file. The slides' values are on 4 and 16 nodes of 144 ranks."""
    side = (pl.col("mpi") + ", " + pl.col("of") + ", " + pl.col("per_node") + " per node").alias("side")
    sided = [
        table.with_columns(per_node=(pl.col("ranks") // pl.col("nodes")).cast(pl.String)).with_columns(side)
        for table in (halo, overlap.filter(pl.col("receives") == "before computing"))
    ]
    total = draw_by_nodes(
        sided[0], "ratio", "total / ideal", RATIOS, "Slides: Motivation 2, the total over inter-only."
    )
    hidden = draw_by_nodes(
        sided[1],
        "overlap",
        "overlap, %",
        OVERLAPS,
        "Slides: from 67 to 94 % on more nodes. They do not print how many: 4 and 16 are ours.",
    )
    gain = draw_by_nodes(
        sided[1], "less_percent", "less latency, %", LESS, "Slides: overall latency of the proposed scheme."
    )
    return {"halo.json": [total, _latencies(halo)], "overlap.json": [hidden, gain]}


def _latencies(halo: pl.DataFrame) -> Figure:
    """Return the latencies of the slides' Motivation 2, by MPI alone, and 1.3 times inter-only as on it."""
    bare = halo.filter(pl.col("of") == "MPI alone")
    parts = {"total": "total", "inter": "inter-only", "intra": "intra-only"}
    long = pl.concat(
        bare.select(
            "nodes", "bytes", side=pl.col("mpi") + f", {name}", ms=1e3 * pl.col(part).cast(pl.Float64)
        )
        for part, name in parts.items()
    )
    names = long["side"].unique(maintain_order=True).to_list()
    drawn = []
    for name, size in SIZES.items():
        inter = bare.filter(pl.col("bytes") == size)
        points = [
            (nodes, 1e3 * ratio * time)
            for nodes, time in inter.select("nodes", "inter").rows()
            for (count, of), ratio in RATIOS.items()
            if (count, of) == (nodes, name)
        ]
        some = long.filter(pl.col("bytes") == size)
        drawn.append(Panel(name, [*lines(some, "nodes", "ms", "side", names, {}), *slides(points)]))
    across = axis("nodes", type="log", tickvals=[*SCALES], ticktext=[*map(str, SCALES)])
    caption = (
        "Slides: Motivation 2, on 4 nodes; the star is 1.3 times our inter-only. "
        f"Emulated nodes, {8 * LINK_SPEED / 1e6:g} Mbit/s per node, medians."
    )
    return draw(drawn, across, axis("latency, ms", type="log"), caption, columns=2)


def main() -> None:
    """Measure, draw, and write the verdicts."""
    halo, overlap = measured(Path.cwd())
    if halo.is_empty():
        raise ComponentError("no MPI that uses emulated links: apt-get install openmpi-bin libopenmpi-dev")
    halo.write_csv("halo.csv", float_precision=6)
    overlap.write_csv("overlap.csv", float_precision=6)
    for name, drawn in figures(halo, overlap).items():
        write_figures(drawn, Path(name))
    write_reproduced("stencil", numbers(halo, overlap), claims(halo, overlap))


if __name__ == "__main__":
    # SystemExit removes the nodes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    into()
    main()
