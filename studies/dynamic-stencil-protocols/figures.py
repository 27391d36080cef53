"""How the sizes of amr's messages follow its variables and its grid, from recorded runs.

    .venv/bin/python studies/dynamic-stencil-protocols/figures.py DIR

Runs `apps/amr` on four ranks under `haloscope run`, writes `message-sizes.csv` (a row a run) and
`message-sizes.png` to DIR, and prints the rows as Markdown. Needs 1.5 GB, and Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import plotly.graph_objects as go
import polars as pl
from common import ENVIRONMENT, HALOSCOPE
from plotly.subplots import make_subplots

import haloscope

VARIABLES = (1, 2, 5, 10, 20, 40)  # with 32 cells along an edge of a block
CELLS = (8, 16, 24, 32, 48)  # with 10 variables
RUN = "--npx 2 --npy 2 --num_tsteps 4 --stages_per_ts 2 --refine_freq 1 --checksum_freq 0"
CASES = {
    "no refinement": "--num_refine 0",
    "moving sphere": "--num_refine 1 --object 2 0 0.2 0.2 0.5 0.15 0.15 0 0.2 0.2 0.2 0 0 0",
}


def recorded(amr: str, cells: int, variables: int, case: str, directory: Path) -> dict[str, object]:
    """What the messages of one run's exchanges of faces were, as the recorder saw them."""
    profile = directory / "amr.halo"
    block = f"--nx {cells} --ny {cells} --nz {cells} --num_vars {variables}"
    words = [*block.split(), *RUN.split(), *CASES[case].split()]
    command = [str(HALOSCOPE), "run", "--quiet", "-o", str(profile), "--"]
    subprocess.run(
        [*command, "mpiexec", "-n", "4", amr, *words], env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=True
    )
    with haloscope.open(profile) as opened:
        comm = pl.col("region") == "comm"
        sizes = opened.table("sizes").filter(comm, pl.col("kind") == "p2p", pl.col("messages") > 0)
        (region,) = opened.table("regions").filter(comm).to_dicts()
    return {
        "case": case,
        "cells": cells,
        "variables": variables,
        "messages": region["sends_total"],
        "mean": region["mean_message"],
        "least": sizes["bytes"].min(),
        "most": sizes["bytes"].max(),
    }


def measured() -> pl.DataFrame:
    """All runs."""
    found = subprocess.run([str(HALOSCOPE), "where", "amr"], stdout=subprocess.PIPE, check=True)
    amr = found.stdout.decode().strip()
    points = sorted({(32, v) for v in VARIABLES} | {(n, 10) for n in CELLS})
    with tempfile.TemporaryDirectory() as directory:
        rows = [recorded(amr, *point, case, Path(directory)) for case in CASES for point in points]
    return pl.DataFrame(rows)


def figure(rows: pl.DataFrame) -> go.Figure:
    """Means against variables and against the grid; bars from the least to the largest message."""
    titles = ("32×32×32 cells a block", "10 variables")
    drawn = make_subplots(1, 2, subplot_titles=titles, shared_yaxes=True)
    halves = (("variables", pl.col("cells") == 32), ("cells", pl.col("variables") == 10))
    for column, (axis, kept) in enumerate(halves, start=1):
        for case, colour in zip(CASES, ("#1f77b4", "#d62728"), strict=True):
            some = rows.filter(kept, pl.col("case") == case).sort(axis)
            mean = some["mean"] / 1024
            bars = {
                "type": "data",
                "array": some["most"] / 1024 - mean,
                "arrayminus": mean - some["least"] / 1024,
                "thickness": 1,
            }
            drawn.add_scatter(
                x=some[axis],
                y=mean,
                error_y=bars,
                name=case,
                marker={"color": colour},
                mode="lines+markers",
                showlegend=column == 1,
                row=1,
                col=column,
            )
    ticks = [2**n for n in range(11)]
    drawn.update_yaxes(type="log", tickvals=ticks)
    drawn.update_yaxes(title="average message, KiB", row=1, col=1)
    drawn.update_xaxes(type="log", title="variables", tickvals=VARIABLES, row=1, col=1)
    title = "cells along an edge of a block"
    drawn.update_xaxes(type="log", title=title, tickvals=CELLS, row=1, col=2)
    drawn.update_layout(template="plotly_white", width=1000, height=430, margin={"t": 30, "r": 20})
    return drawn.update_layout(legend={"x": 0.02, "y": 0.98})


def photograph(drawn: go.Figure, picture: Path) -> None:
    """Writes a picture of the figure."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or sys.exit("no chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        page = Path(directory) / "figure.html"
        drawn.write_html(page)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        view = browser.new_page()
        view.goto(page.as_uri())
        view.locator(".main-svg").first.wait_for()
        view.locator(".js-plotly-plot").screenshot(path=picture)
        browser.close()


def main(directory: Path) -> None:
    rows = measured()
    rows.write_csv(directory / "message-sizes.csv", float_precision=1)
    photograph(figure(rows), directory / "message-sizes.png")
    print("| blocks | cells | variables | messages | average | least | largest |")
    print("|" + " --- |" * 7)
    for case, cells, variables, messages, mean, least, most in rows.rows():
        print(f"| {case} | {cells}³ | {variables} | {messages} | {mean:.0f} | {least} | {most} |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("which directory do the table and the picture go to?")
    main(Path(sys.argv[1]))
