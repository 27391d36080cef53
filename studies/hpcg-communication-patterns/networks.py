"""The paper's further work: CG solvers on networks and routings, simulated on 64 to 1024 ranks.

    .venv/bin/python studies/hpcg-communication-patterns/networks.py [--quick] [--name NAME] --out DIR

Writes `NAME.csv`, a row per network, solver and number of ranks, and `NAME.json`, a figure of the study's
page. Points that are in the table already are not simulated again. `--quick`: 64 ranks, all solvers. Else
only the classic solver, and routings with a route per pair of hosts up to 256 ranks.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from common import HALOSCOPE, draw, lines

from haloscope import ComponentError, explain
from haloscope.base.palette import METHODS
from haloscope.markov.figures import Figure, Panel, Trace, axis
from haloscope.reproduce.study import write_figures

# The names of Haloscope's platforms, and their routing if it is another one than SimGrid's.
NETWORKS = {
    "fat-tree": "",
    "fat-tree, random": "topology: fat_tree\nrouting: random\n",
    "fat-tree-full": "",
    "dragonfly": "",
    "dragonfly, valiant": "topology: dragonfly\nrouting: valiant\n",
    "torus": "",
}
LINKS = "bandwidth: 100 Gbit/s\nlatency: 0.5 us\n"
SOLVERS = ("classic", "pipelined", "s-step")
RANKS, MOST_ROUTED = (64, 128, 256, 512, 1024), 256
ITERATIONS = 4
CG = ("cg", "--nx", "16", "--ny", "16", "--nz", "16", "--iterations", str(ITERATIONS))
COLUMNS = ("network", "solver", "ranks", "time", "halo_time", "dot_time", "messages", "bytes", "wall")
LIMIT = 600  # seconds for one simulation


def main() -> None:
    """Simulate the missing points, and draw all points."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="64 ranks, all solvers")
    parser.add_argument("--name", default="networks", help="of the table and the figure [networks]")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    table = asked.out / f"{asked.name}.csv"
    rows = list(csv.DictReader(table.open(encoding="ascii"))) if table.exists() else []
    done = {(row["network"], row["solver"], int(row["ranks"])) for row in rows}
    for ranks, network, solver in product(
        RANKS[:1] if asked.quick else RANKS, NETWORKS, SOLVERS if asked.quick else SOLVERS[:1]
    ):
        is_listed = bool(NETWORKS[network]) and ranks > MOST_ROUTED
        if not is_listed and (network, solver, ranks) not in done:
            row = point(network, solver, ranks)
            if row is not None:
                rows.append(row)
                save(table, rows)
    write_figures([drawn(pl.read_csv(table))], asked.out / f"{asked.name}.json")


def point(network: str, solver: str, ranks: int) -> dict[str, str] | None:
    """Simulate one point. If the simulation fails, print its error and return None."""
    with tempfile.TemporaryDirectory() as name:
        output, platform = Path(name) / "cg.halo", Path(name) / "network.yaml"
        platform.write_text(NETWORKS[network] + LINKS)
        command = [
            str(HALOSCOPE),
            "simulate",
            "--platform",
            str(platform) if NETWORKS[network] else network,
            "-n",
            str(ranks),
            "--compute-factor",
            "0",
            "--collectives",
            "smpi",
            "-o",
            str(output),
            *CG,
            "--solver",
            solver,
        ]
        begin = time.monotonic()
        environment = {**os.environ, "HALOSCOPE_TIME_LIMIT": str(LIMIT)}
        done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        wall = time.monotonic() - begin
        if done.returncode == ComponentError.exit_status:
            done.check_returncode()
        if done.returncode:
            print(f"{network} {ranks}: {done.stderr.strip()}", file=sys.stderr)
            return None
        regions = explain.open(output).table("regions")
    whole = regions.row(0, named=True)
    times = regions.select("region", "time_mean").group_by("region").sum().rows()
    named = dict(times)
    values = (
        network,
        solver,
        ranks,
        f"{whole['time_mean']:.9f}",
        f"{named['halo_exchange']:.9f}",
        f"{named['dot_product']:.9f}",
        whole["sends_total"],
        whole["bytes_sent_total"],
        f"{wall:.1f}",
    )
    print(*values, flush=True)
    return dict(zip(COLUMNS, map(str, values), strict=True))


def save(table: Path, rows: list[dict[str, str]]) -> None:
    """Write all rows."""
    with table.open("w", encoding="ascii", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def drawn(rows: pl.DataFrame) -> Figure:
    """Return the time of communication: over ranks, or with one number of ranks as bars per solver."""
    micro = rows.with_columns(pl.col("time", "halo_time", "dot_time") * 1e6 / ITERATIONS)
    parts = (("time", "all, with set-up"), ("halo_time", "halo exchanges"), ("dot_time", "dot products"))
    caption = f"Simulated; mean over ranks, per iteration of {ITERATIONS}."
    if rows["ranks"].n_unique() > 1:
        shown = [
            Panel(title, lines(micro, "ranks", name, "network", list(NETWORKS), {})) for name, title in parts
        ]
        across = axis("ranks", type="log", tickvals=sorted(set(rows["ranks"])))
        return draw(shown, across, axis("time, µs", rangemode="tozero"), caption)
    shown = [
        Panel(title, [_bars(micro, name, number) for number in range(len(SOLVERS))]) for name, title in parts
    ]
    caption += f" {rows['ranks'][0]} ranks."
    return draw(
        shown, axis("", type="category", tickangle=-35), axis("time, µs", rangemode="tozero"), caption
    )


def _bars(micro: pl.DataFrame, column: str, number: int) -> Trace:
    found = micro.filter(solver=SOLVERS[number])
    return {
        "type": "bar",
        "name": SOLVERS[number],
        "legendgroup": SOLVERS[number],
        "x": found["network"].to_list(),
        "y": found[column].to_list(),
        "marker": {"color": METHODS[number + 1]},
    }


if __name__ == "__main__":
    main()
