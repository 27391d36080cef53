"""Figures 6 and 7: times on a simulated ORFEO, and the paper's formulas.

    figures.py F.csv [F.json [PAGE.html]]

SimGrid runs `haloscope bench collective` with ORFEO's latencies on 2 to 256 processes. Times are those of the
last rank. Messages have 2 bytes; reductions have 1 KiB, because they are split. Sizes have no effect, because
bandwidth is infinite. The figures also show the results of `measured.py` in the working directory. Missing
ones are measured.
"""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import measured as here
import polars as pl
import together
from common import HALOSCOPE

from haloscope import predict
from haloscope.markov.figures import Figure
from haloscope.reproduce.study import write_figures

RANKS = (2, 3, 4, 5, 6, 8, 9, 12, 16, 17, 24, 32, 33, 48, 64, 65, 96, 128, 129, 160, 192, 224, 256)
# SimGrid's names, and the paper's. SimGrid's Rabenseifner reduction ("rab") aborts in 3.32.
NAMES = {
    "bcast": {"ompi_pipeline": "pipeline", "binomial_tree": "binomial", "chain": "chain"},
    "reduce": {"ompi_binary": "binary", "ompi_binomial": "binomial"},
}
BYTES = {"bcast": 2, "reduce": 1024}


def measured(collective: str) -> pl.DataFrame:
    """Return the simulated sweep of one collective."""
    names = NAMES[collective]
    command = [
        str(HALOSCOPE),
        "bench",
        "collective",
        collective,
        "--platform",
        "orfeo",
        "-n",
        ",".join(map(str, RANKS)),
        "-i",
        "1",
        "-x",
        "0",
        "-m",
        f"{BYTES[collective]}:{BYTES[collective]}",
        "--algorithm",
        ",".join(names),
        "--format",
        "csv",
    ]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return pl.read_csv(io.BytesIO(printed)).select(
        "collective", pl.col("algorithm").replace_strict(names), "ranks", "bytes", time="time_max"
    )


def against_the_paper(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the times of the paper's formulas, and their relative error."""
    machine = predict.load_machine("orfeo")
    parts = [predict.model(machine, name, ranks=RANKS, sizes=[BYTES[name]]) for name in NAMES]
    modelled = pl.concat(parts).rename({"time": "modelled"})
    joined = rows.join(modelled, on=["collective", "algorithm", "ranks", "bytes"])
    error = (pl.col("modelled") / pl.col("time") - 1).abs()
    return joined.with_columns(error=error, segment=pl.lit(0), fanout=pl.lit(0)).sort(
        "collective", "algorithm", "ranks"
    )


def figures(rows: pl.DataFrame) -> list[Figure]:
    """Return Figures 6 and 7: a panel for each algorithm, with four curves."""
    measured_here, messages = here.measured(), here.last(here.on_orfeo())
    free, made = together.latencies_alone(), []
    for number, (collective, size) in enumerate(BYTES.items(), 6):
        names = predict.ALGORITHMS[collective]
        at = pl.col("collective") == collective, pl.col("bytes") == size
        # SimGrid's own Rabenseifner aborts. Its messages are simulated instead, as for Figures 4 and 5.
        rest = messages.filter(*at, pl.col("algorithm") == "rabenseifner")
        sources = (
            measured_here.filter(*at),
            pl.concat([rows.filter(*at).select(*together.KEYS, "time"), rest]),
            together.formulas(collective, RANKS, [size]),
            together.modelled(free, collective, names, RANKS, [size]),
        )
        caption = "Time until the last rank is done; medians if measured. On ORFEO, bytes take no time."
        title = f"Figure {number}: {collective}"
        made.append(together.picture(sources, names, "ranks", "bytes", [size], caption=caption, title=title))
    return made


def main(table: Path, drawn: Path | None, page: Path | None) -> None:
    rows = against_the_paper(pl.concat(map(measured, NAMES)))
    rows.drop("segment", "fanout").write_csv(table, float_scientific=True)
    by = rows.group_by("collective", "algorithm", maintain_order=True)
    print(by.agg(pl.col("error").median().alias("median"), pl.col("error").max().alias("most")))
    if drawn is not None:
        write_figures(figures(rows), drawn)
    if page is not None:
        predict.write_measured_page(rows, predict.load_machine("orfeo"), page)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3, 4):
        sys.exit("no file for the table: figures.py F.csv [F.json [PAGE.html]]")
    paths = [*map(Path, sys.argv[1:]), None, None]
    main(*paths[:3])
