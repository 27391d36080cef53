"""Figures 2 to 5: the paper's algorithms measured here, simulated on ORFEO, by formula and by our model.

    .venv/bin/python studies/openmpi-collective-algorithms/measured.py DIR

Writes `claims.csv` and `figure-2.json` to `figure-5.json` to DIR, and the times of 2 bytes on this machine as
`small.json` and `small.csv`. Measurements and simulations that are in DIR already are reused.
"""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent / "simulated"))

import polars as pl
import sweep
import together
from common import ENVIRONMENT, HALOSCOPE, draw, into, lines

from haloscope import predict
from haloscope.markov.figures import Figure, Panel, axis
from haloscope.reproduce.study import write_figures

PAPERS = {
    "bcast": ("default", "basic_linear", "pipeline", "binomial", "chain"),
    "reduce": ("default", "linear", "binary", "binomial", "rabenseifner"),
}
SIZES = (2, 128, 1024, 16384, 131072, 1048576)
SHOWN = (1024, 16384, 1048576)  # of Figures 2 and 4
HERE, ORFEO = (2, 4, 8), (2, 4, 8, 16, 32, 64, 128, 256)
FEWER = (4, 8, 16, 32, 64, 256)  # of Figures 3 and 5 on ORFEO
FEWEST = (4, 8, 256)  # the same, for panels that also have measured times
KEYS = together.KEYS


def measured() -> pl.DataFrame:
    """Return the times on this machine; an interrupted sweep is continued."""
    for collective, names in PAPERS.items():
        command = [HALOSCOPE, "bench", "collective", collective, "--algorithm", ",".join(names)]
        command += ["-n", ",".join(map(str, HERE)), "-m", ",".join(map(str, SIZES)), "-i", "100", "-x", "10"]
        command += ["-o", f"{collective}.jsonl"]
        subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=True)
    every = [predict.Sweep.read(f"{collective}.jsonl").points for collective in PAPERS]
    rows = pl.concat(every).filter(pl.col("status") == "ok")
    return rows.select(*KEYS, pl.col("median").alias("time"))


def on_orfeo() -> pl.DataFrame:
    """Return the times of the same messages on ORFEO in SimGrid: mean over ranks, and last rank."""
    kept = Path("orfeo.csv")
    if not kept.exists():
        chosen = {
            ranks: [
                {"collective": c, "algorithm": a, "segment": 0, "fanout": 0, "ranks": ranks, "bytes": size}
                for c, names in PAPERS.items()
                for a in names[1:]
                for size in SIZES
            ]
            for ranks in ORFEO
        }
        rows = pl.DataFrame(list(sweep.simulated(chosen)))
        rows.select(*KEYS, "time", last="time_max").write_csv(kept)
    return pl.read_csv(kept)


def last(orfeo: pl.DataFrame) -> pl.DataFrame:
    """Return the simulated times of the last rank, as in the other sources."""
    return orfeo.select(*KEYS, time="last")


def figures(number: int, collective: str, here: pl.DataFrame, orfeo: pl.DataFrame) -> list[Figure]:
    """Return Figure 2 or 4 (time over processes), or 3 or 5 (time over sizes).

    The first picture has a panel per algorithm with four curves. The second one compares the algorithms, as
    in the paper.
    """
    here, orfeo = (rows.filter(pl.col("collective") == collective) for rows in (here, orfeo))
    names, title = PAPERS[collective], f"Figure {number}: {collective}"
    machine = predict.load_machine(sweep.HERE / "orfeo.yaml")
    four = (
        here,
        last(orfeo),
        together.formulas(collective, ORFEO, SIZES),
        together.modelled(machine, collective, names[1:], ORFEO, SIZES),
    )
    x, each, values, fewer = ("ranks", "bytes", SHOWN, SHOWN)
    if number in (3, 5):
        x, each, values, fewer = ("bytes", "ranks", FEWER, FEWEST)
    caption = "Time until the last rank is done; medians if measured. The formula does not depend on bytes."
    first = together.picture(four, names, x, each, fewer, caption=caption, title=title)
    times = orfeo.with_columns(pl.col("time") * 1e6)
    compared = [
        Panel(
            together.quantity(value, each),
            lines(times.filter(pl.col(each) == value), x, "time", "algorithm", names, {}),
        )
        for value in values
    ]
    caption = "As in the paper, the algorithms side by side: simulated on ORFEO, the mean over ranks."
    return [first, draw(compared, together.across(x), together.UP, caption, f"{title}, side by side")]


def best(rows: pl.DataFrame, names: tuple[str, ...], worst: tuple[str, ...]) -> pl.DataFrame:
    """Return the points with `good`: all of `names` take less than all of `worst`."""
    wide = rows.pivot("algorithm", index=["ranks", "bytes"], values="time").drop_nulls()
    good = pl.max_horizontal(*names) < pl.min_horizontal(*worst)
    return wide.with_columns(good=good)


def claims(here: pl.DataFrame, orfeo: pl.DataFrame) -> pl.DataFrame:
    """Return the paper's claims about Figures 2 to 5, and the number of points for which each one holds."""
    many, large = pl.col("ranks") >= 16, pl.col("bytes") >= 16384
    claimed = (
        (
            "2",
            "basic linear and pipeline are slower than chain and binomial: from 16 KiB and 16 processes on",
            "bcast",
            ("chain", "binomial"),
            ("basic_linear", "pipeline"),
            many & large,
        ),
        (
            "3",
            "pipeline is the slowest from 32 processes on",
            "bcast",
            ("chain", "binomial", "basic_linear"),
            ("pipeline",),
            pl.col("ranks") >= 32,
        ),
        (
            "4",
            "linear and binary are slower than binomial, from 16 processes on",
            "reduce",
            ("binomial",),
            ("linear", "binary"),
            many,
        ),
        (
            "4",
            "Rabenseifner is better than linear and binary for 1 MiB, from 16 processes on",
            "reduce",
            ("rabenseifner",),
            ("linear", "binary"),
            many & (pl.col("bytes") == 1048576),
        ),
        (
            "5",
            "Rabenseifner is slower than binary and binomial for small messages (to 1 KiB)",
            "reduce",
            ("binary", "binomial"),
            ("rabenseifner",),
            pl.col("bytes") <= 1024,
        ),
    )
    rows = []
    for number, words, collective, names, worst, where in claimed:
        row: dict[str, object] = {"figure": number, "the_paper_says": words}
        for place, measured_rows in (("orfeo", orfeo), ("here", here)):
            points = best(measured_rows.filter(pl.col("collective") == collective), names, worst).filter(
                where
            )
            row[f"holds_{place}"] = int(points["good"].sum()) if len(points) else None
            row[f"points_{place}"] = len(points)
        rows.append(row)
    for number, collective in (("3", "bcast"), ("5", "reduce")):
        wide = here.filter(pl.col("collective") == collective)
        wide = wide.pivot("algorithm", index=["ranks", "bytes"], values="time").drop_nulls()
        least = pl.min_horizontal(*PAPERS[collective][1:])
        near = wide.select((pl.col("default") <= 1.1 * least).sum()).item()
        words = f"{collective}: the library's choice is the best, or as good (to 10 %)"
        row = {"figure": number, "the_paper_says": words, "holds_here": int(near), "points_here": len(wide)}
        rows.append(row)
    schema = {
        "figure": pl.String,
        "the_paper_says": pl.String,
        **{f"{kind}_{place}": pl.Int64 for place in ("orfeo", "here") for kind in ("holds", "points")},
    }
    return pl.DataFrame(rows, schema=schema)


def small(here: pl.DataFrame) -> tuple[pl.DataFrame, Figure]:
    """Return the times of 2 bytes on this machine, µs, with the paper's formulas for two ranks."""
    command = [
        HALOSCOPE,
        "bench",
        "p2p",
        "latency",
        "-m",
        "2:2",
        "-i",
        "1000",
        "-x",
        "100",
        "--format",
        "csv",
    ]
    printed = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, check=True).stdout
    latency = float(pl.read_csv(io.BytesIO(printed))["time"].median() or 0)
    rows = here.filter(pl.col("bytes") == 2).drop("bytes").sort("collective", "algorithm", "ranks")
    # Between two ranks, Rabenseifner's algorithm has a message there and one back, the others have one.
    times = pl.when(pl.col("algorithm") == "rabenseifner").then(2).otherwise(1) * latency * 1e6
    formula = pl.when((pl.col("ranks") == 2) & (pl.col("algorithm") != "default")).then(times)
    rows = rows.with_columns(pl.col("time") * 1e6, formula=formula).rename({"time": "microseconds"})
    drawn = []
    for collective, names in PAPERS.items():
        some = rows.filter(pl.col("collective") == collective)
        drawn.append(
            Panel(f"{collective}, 2 bytes", lines(some, "ranks", "microseconds", "algorithm", names, {}))
        )
    across = axis("processes", type="log", tickvals=HERE)
    caption = f"Measured on this machine; its latency is {1e6 * latency:.2f} µs. Paper: Figures 6 and 7."
    return rows, draw(drawn, across, axis("time, µs", type="log"), caption)


def main() -> None:
    """Measure and simulate all that is missing, and write figures and claims."""
    here, orfeo = measured(), on_orfeo()
    for collective, numbers in (("bcast", (2, 3)), ("reduce", (4, 5))):
        for number in numbers:
            write_figures(figures(number, collective, here, orfeo), Path(f"figure-{number}.json"))
    claims(here, orfeo).write_csv("claims.csv")
    table, figure = small(here)
    table.write_csv("small.csv", float_precision=3)
    write_figures([figure], Path("small.json"))


if __name__ == "__main__":
    into()
    main()
