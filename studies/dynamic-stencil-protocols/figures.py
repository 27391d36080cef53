"""Sizes of amr's messages as a function of its variables and its grid, from recorded runs.

    .venv/bin/python studies/dynamic-stencil-protocols/figures.py DIR [PICTURE.png]

Runs `apps/amr` on four ranks under `haloscope run`. Writes `message-sizes.csv`, a row per run, and
`message-sizes.json`, a figure of the study's page, to DIR. Prints the rows as Markdown.
Needs 1.5 GB of memory, and Chromium for a picture.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from common import ENVIRONMENT, HALOSCOPE, draw, lines

import haloscope
from haloscope.markov.figures import Figure, Panel, axis
from haloscope.reproduce.study import Tested, write_figures, write_reproduced

VARIABLES = (1, 2, 5, 10, 20, 40)  # with 32 cells along an edge of a block
CELLS = (8, 16, 24, 32, 48)  # with 10 variables
SPANS = {"variables": (-0.1, 1.7), "cells": (0.8, 1.8)}  # of the axes: powers of ten
RUN = "--npx 2 --npy 2 --num_tsteps 4 --stages_per_ts 2 --refine_freq 1 --checksum_freq 0"
CASES = {
    "no refinement": "--num_refine 0",
    "moving sphere": "--num_refine 1 --object 2 0 0.2 0.2 0.5 0.15 0.15 0 0.2 0.2 0.2 0 0 0",
}


def recorded(amr: str, cells: int, variables: int, case: str, directory: Path) -> dict[str, object]:
    """Run one case, and return the sizes of the messages in its exchanges of faces."""
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
    """Return a row per run."""
    found = subprocess.run([str(HALOSCOPE), "where", "amr"], stdout=subprocess.PIPE, check=True)
    amr = found.stdout.decode().strip()
    points = sorted({(32, v) for v in VARIABLES} | {(n, 10) for n in CELLS})
    with tempfile.TemporaryDirectory() as directory:
        rows = [recorded(amr, *point, case, Path(directory)) for case in CASES for point in points]
    return pl.DataFrame(rows)


def claims(rows: pl.DataFrame) -> list[Tested]:
    """Return the verdicts on the claims, from the blocks without refinement."""
    plain = rows.filter(pl.col("case") == "no refinement")
    means = {(row["cells"], row["variables"]): float(row["mean"]) for row in plain.to_dicts()}
    by_variables = means[32, VARIABLES[-1]] / means[32, VARIABLES[0]]
    by_cells = means[CELLS[-1], 10] / means[CELLS[0], 10]
    variables = f"average message {by_variables:.0f}-fold from {VARIABLES[0]} to {VARIABLES[-1]} variables"
    cells = f"{by_cells:.0f}-fold from {CELLS[0]}³ to {CELLS[-1]}³ cells"
    return [
        Tested(
            "parameters change sizes", min(by_variables, by_cells) > 2, f"{variables}, {cells}", "counted"
        ),
        Tested("variables alone change sizes", by_variables > 2, variables, "counted"),
    ]


def figure(rows: pl.DataFrame) -> Figure:
    """Return the means over variables and over the grid; bars go from the smallest to the largest message."""
    kib = rows.with_columns(pl.col("mean", "least", "most") / 1024)
    drawn = []
    for title, across, kept in (
        ("32×32×32 cells per block, over variables", "variables", pl.col("cells") == 32),
        ("10 variables, over cells along an edge of a block", "cells", pl.col("variables") == 10),
    ):
        some = kib.filter(kept).sort(across)
        traces = lines(some, across, "mean", "case", list(CASES), {})
        for trace in traces:
            mine = some.filter(pl.col("case") == trace["name"])
            ends = [(mine["most"] - mine["mean"]).to_list(), (mine["mean"] - mine["least"]).to_list()]
            bars = dict(zip(("array", "arrayminus"), ends, strict=True))
            trace["error_y"] = {"type": "data", "symmetric": False, "thickness": 1, **bars}
        drawn.append(Panel(title, traces, SPANS[across]))
    across_, up = axis("variables; cells along an edge", type="log"), axis("average message, KiB", type="log")
    caption = "Bars go from the smallest to the largest message of a run. Slides: Motivation 1."
    return draw(drawn, across_, up, caption, columns=2)


def photograph(drawn: Figure, picture: Path) -> None:
    """Write a picture of the figure."""
    import plotly.graph_objects as go
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or sys.exit("no chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        page = Path(directory) / "figure.html"
        go.Figure(list(drawn.traces), {"width": 1000, **drawn.layout}).write_html(page)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        view = browser.new_page()
        view.goto(page.as_uri())
        view.locator(".main-svg").first.wait_for()
        view.locator(".js-plotly-plot").screenshot(path=picture)
        browser.close()


def main(picture: Path | None) -> None:
    """Measure, draw, and write the verdicts to the current directory."""
    rows = measured()
    rows.write_csv("message-sizes.csv", float_precision=1)
    drawn = figure(rows)
    write_figures([drawn], Path("message-sizes.json"))
    write_reproduced("message-sizes", claims=claims(rows))
    if picture is not None:
        photograph(drawn, picture)
    print("| blocks | cells | variables | messages | average | least | largest |")
    print("|" + " --- |" * 7)
    for case, cells, variables, messages, mean, least, most in rows.rows():
        print(f"| {case} | {cells}³ | {variables} | {messages} | {mean:.0f} | {least} | {most} |")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("no directory for the table and the figure: figures.py DIR [PICTURE.png]")
    to = Path(sys.argv[2]).absolute() if sys.argv[2:] else None
    os.chdir(sys.argv[1])
    main(to)
