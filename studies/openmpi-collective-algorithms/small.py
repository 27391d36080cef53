"""Figures 6 and 7: times of 2 bytes on a simulated ORFEO and on this machine, and the paper's formulas.

    small.py F.csv [F.json [PAGE.html]]

The messages that Open MPI sends at 2 bytes are in `simulated/points.csv`. SimGrid's own algorithms run by
`haloscope bench collective` with ORFEO's latencies alone. Its Rabenseifner reduction ends the simulation, as
it has no type of 1 byte.
"""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import here
import orfeo
import points
import polars as pl
import small_claims
import together
from common import HALOSCOPE

from haloscope import predict
from haloscope.markov.figures import Figure
from haloscope.reproduce.study import write_figures, write_reproduced

RANKS = points.SMALL_RANKS
BYTES = points.SMALL
# SimGrid's names, and the paper's.
SIMGRID = {
    "bcast": {"ompi_pipeline": "pipeline", "binomial_tree": "binomial", "chain": "chain"},
    "reduce": {"ompi_binary": "binary", "ompi_binomial": "binomial"},
}


def by_simgrid() -> pl.DataFrame:
    """Return the times of SimGrid's own algorithms with latencies alone."""
    frames = []
    for collective, names in SIMGRID.items():
        command = [str(HALOSCOPE), "bench", "collective", collective, "--platform", "orfeo"]
        command += ["-n", ",".join(map(str, RANKS)), "-i", "1", "-x", "0", "-m", f"{BYTES}:{BYTES}"]
        command += ["--algorithm", ",".join(names), "--format", "csv"]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        rows = pl.read_csv(io.BytesIO(printed)).filter(pl.col("status") == "ok")
        named = pl.col("algorithm").replace_strict(names, return_dtype=pl.String)
        frames.append(rows.select("collective", named, "ranks", bytes=pl.lit(BYTES), time="time_max"))
    return pl.concat(frames)


def formulas() -> pl.DataFrame:
    """Return the times of the paper's formulas."""
    return pl.concat([together.formulas(collective, RANKS, [BYTES]) for collective in orfeo.NAMES])


def table(simgrid: pl.DataFrame) -> pl.DataFrame:
    """Return the times (s) of Open MPI's messages and SimGrid's algorithms on ORFEO, and of the formulas."""
    simulated = orfeo.named().filter(pl.col("bytes") == BYTES)
    columns = {"open_mpi": orfeo.last(simulated), "simgrid": simgrid, "formula": formulas()}
    joined = simulated.filter(
        pl.col("algorithm").is_in(["pipeline", "chain", "binary", "binomial", "rabenseifner"])
    )
    joined = joined.select("collective", "algorithm", "ranks", "bytes")
    for name, rows in columns.items():
        joined = joined.join(rows.rename({"time": name}), on=together.KEYS, how="left")
    return joined.sort("collective", "algorithm", "ranks")


def figures(simgrid: pl.DataFrame, measured: pl.DataFrame) -> list[Figure]:
    """Return Figures 6 and 7: a panel for each of the paper's algorithms, and for the default."""
    free, made = together.latencies_alone(), []
    simulated = orfeo.last(orfeo.named().filter(pl.col("bytes") == BYTES))
    for number, collective in enumerate(orfeo.NAMES, 6):
        names = (*predict.ALGORITHMS[collective], orfeo.DEFAULT)
        own = pl.col("collective") == collective
        sources = {
            together.MEASURED: measured.filter(own, pl.col("bytes") == BYTES),
            together.MESSAGES: simulated.filter(own),
            together.SIMGRID: simgrid.filter(own),
            together.FORMULA: together.formulas(collective, RANKS, [BYTES]),
            together.MODEL: orfeo.modelled(free, collective, RANKS, [BYTES]),
        }
        caption = (
            "Time until the last rank is done; measured: medians with 95 % intervals. Red: a further level."
        )
        title = f"Figure {number}: {collective}"
        made.append(together.picture(sources, names, "ranks", "bytes", [BYTES], caption=caption, title=title))
    return made


def main(to: Path, drawn: Path | None, page: Path | None) -> None:
    simgrid = by_simgrid()
    rows = table(simgrid)
    rows.write_csv(to, float_scientific=True, float_precision=3)
    if drawn is not None:
        write_figures(figures(simgrid, here.measured()), drawn)
        write_reproduced("figures-6-7", claims=small_claims.of_figures_6_and_7(rows))
    if page is not None:
        compared = rows.filter(pl.col("simgrid").is_not_null()).rename(
            {"simgrid": "time", "formula": "modelled"}
        )
        error = (pl.col("modelled") / pl.col("time") - 1).abs()
        compared = compared.with_columns(error=error, segment=pl.lit(0), fanout=pl.lit(0))
        predict.write_measured_page(compared, predict.load_machine("orfeo"), page)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3, 4):
        sys.exit("no file for the table: small.py F.csv [F.json [PAGE.html]]")
    to, *others = map(Path, sys.argv[1:])
    drawn, page = [*others, None, None][:2]
    main(to, drawn, page)
