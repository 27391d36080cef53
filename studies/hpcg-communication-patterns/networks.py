"""The simulations that the paper leaves for later: a CG solver on four networks, 64 to 1024 ranks.

    .venv/bin/python studies/hpcg-communication-patterns/networks.py [--quick] --out DIR

Writes `networks.csv` (a row a network and number of ranks) and `networks.html` (a figure) to DIR.
Points that are in `networks.csv` already are not simulated again. `--quick`: 64 ranks only.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from haloscope import explain

HALOSCOPE = Path(sys.executable).with_name("haloscope")
NETWORKS = ("fat-tree", "fat-tree-full", "dragonfly", "torus")
RANKS = (64, 128, 256, 512, 1024)
CG = ("cg", "--nx", "16", "--ny", "16", "--nz", "16", "--iterations", "1")
COLUMNS = ("network", "ranks", "time", "halo_time", "dot_time", "messages", "bytes", "wall")
LIMIT = 600  # seconds for one simulation


def main() -> None:
    """Simulates what is missing, and draws what is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="64 ranks only")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    table = asked.out / "networks.csv"
    rows = list(csv.DictReader(table.open(encoding="ascii"))) if table.exists() else []
    done = {(row["network"], int(row["ranks"])) for row in rows}
    for ranks in RANKS[:1] if asked.quick else RANKS:
        for network in NETWORKS:
            if (network, ranks) in done:
                continue
            row = point(network, ranks)
            if row is not None:
                rows.append(row)
                save(table, rows)
    draw(asked.out / "networks.html", rows)


def point(network: str, ranks: int) -> dict[str, str] | None:
    """One simulation; None, with a word on standard error, if it did not come to its end."""
    with tempfile.TemporaryDirectory() as name:
        output = Path(name) / "cg.halo"
        command = [
            str(HALOSCOPE),
            "simulate",
            "--platform",
            network,
            "-n",
            str(ranks),
            "--compute-factor",
            "0",
            "--collectives",
            "smpi",
            "-o",
            str(output),
            *CG,
        ]
        begin = time.monotonic()
        environment = {**os.environ, "HALOSCOPE_TIME_LIMIT": str(LIMIT)}
        done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        wall = time.monotonic() - begin
        if done.returncode:
            print(f"{network} {ranks}: {done.stderr.strip()}", file=sys.stderr)
            return None
        regions = explain.open(output).table("regions")
    whole = regions.row(0, named=True)
    times = regions.select("region", "time_mean").group_by("region").sum().rows()
    named = dict(times)
    values = (
        network,
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
    """All rows, after every point."""
    with table.open("w", encoding="ascii", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def draw(page: Path, rows: list[dict[str, str]]) -> None:
    """Time of one iteration's communication against ranks."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for network in NETWORKS:
        mine = sorted((int(r["ranks"]), float(r["time"])) for r in rows if r["network"] == network)
        x, y = [ranks for ranks, _ in mine], [seconds * 1e6 for _, seconds in mine]
        figure.add_scatter(x=x, y=y, name=network, mode="lines+markers")
    figure.update_xaxes(title="ranks", type="log", tickvals=list(RANKS))
    figure.update_yaxes(title="communication of one iteration and set-up, µs", rangemode="tozero")
    figure.write_html(page, include_plotlyjs=True)


if __name__ == "__main__":
    main()
