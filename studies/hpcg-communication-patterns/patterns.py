"""Figures 1 to 5 and Table 2: cg runs on 2 and 8 ranks, its pattern is simulated on up to 392 ranks of Orac.

    .venv/bin/python studies/hpcg-communication-patterns/patterns.py DIR

Profiles that are in DIR already are reused. A pattern has exactly the messages of a run, and its computing
time. This time is that of the run on two ranks, which have a core each. More ranks would wait for cores.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from common import into, simulated, watched

from haloscope import explain
from haloscope.explain import Ensemble, ensembles, open_all
from haloscope.explain.ensembles import EnsembleView, Speeds
from haloscope.reproduce.study import write_figures

ORAC = Path(__file__).with_name("orac.yaml")
EDGE, EDGES = 104, (16, 32, 64, 104)  # points of a rank along each axis; multiples of 8
RANKS, MOST = (28, 56, 112, 224), 392
ITERATIONS = 3
# Section 5, percent of the time: point-to-point operations, collective operations, both.
SHARES = {2: (None, None, 0.4), 28: (20.7, 29.7, 50.4), 392: (35.9, 36.1, 72.0)}
# Table 2, kbit/s.
SPEEDS = (416491.42, 5865413.33, 28215160.0, 70963500.0)
SECONDS, BANDWIDTH = 2 * 0.3e-6, 12.5e9  # from node to node: two links of orac.yaml, 100 Gbit/s


def run(edge: int, ranks: int) -> Path:
    """Return the profile of cg on this machine; `edge`: points of a rank along each axis."""
    size = [word for axis in "xyz" for word in (f"--n{axis}", edge)]
    words = [*size, "--iterations", ITERATIONS]
    return watched(Path(f"runs/cg-{edge}-{ranks}.halo"), ranks, "cg", words, nx=edge)


def computing(profile: Path) -> float:
    """Return the seconds that a rank computes."""
    with explain.open(profile) as opened:
        main = opened.table("regions").row(0, named=True)
    return float(main["time_mean"] - main["mpi_time_mean"])


def pattern(edge: int, ranks: int) -> Path:
    """Return the profile of cg's pattern, simulated on a number of ranks of Orac."""
    alone, source = run(edge, 2), run(edge, 2 if ranks == 2 else 8)
    factor = computing(alone) / computing(source)
    words = ["--scale", "weak", "--compute-factor", f"{factor:.9g}", source]
    return simulated(Path(f"runs/orac-{edge}-{ranks}.halo"), ranks, ORAC, words, nx=edge)


def published_shares(runs: Ensemble) -> pl.DataFrame:
    """Return the shares of Figure 1 and those in the paper's text, percent."""
    ours = ensembles.shares(runs).frame.select(
        pl.col("run_ranks").cast(pl.Int64).alias("ranks"),
        our_p2p=100 * pl.col("p2p"),
        our_collective=100 * pl.col("collective"),
        our_both=100 * (pl.col("p2p") + pl.col("collective")),
    )
    rows = [(ranks, *values) for ranks, values in SHARES.items()]
    schema = {"ranks": pl.Int64, "p2p": pl.Float64, "collective": pl.Float64, "both": pl.Float64}
    printed = pl.DataFrame(rows, schema=schema, orient="row")
    pairs = [name for kind in ("p2p", "collective", "both") for name in (kind, f"our_{kind}")]
    return ours.join(printed, on="ranks", how="left").select("ranks", *pairs).sort("ranks")


def published_speeds(machine: Speeds) -> pl.DataFrame:
    """Return Table 2 and the speeds of the simulated network, kbit/s."""
    ours = ensembles.speed_classes(machine).frame
    speed = next(name for name in ours.columns if "speed" in name)
    return ours.select(
        "smallest", "largest", pl.Series("kbit_s", SPEEDS), (pl.col(speed) * 8e-3).alias("our_kbit_s")
    )


def collectives(profile: Path) -> pl.DataFrame:
    """Return a rank's Allreduces and their bytes, and the paper's: 4.44 kB, which are 555 of 8 bytes."""
    with explain.open(profile) as opened:
        main = opened.table("regions").row(0, named=True)
    calls, sent = main["colls_max"], main["coll_bytes_total"] / main["ranks"]
    rows = [("the paper", 555, 8, 4440), (f"cg, {ITERATIONS} iterations", calls, sent / calls, sent)]
    return pl.DataFrame(
        rows, schema=["run", "calls", "bytes_a_call", "bytes_a_rank"], orient="row", strict=False
    )


def sizes(edge: int) -> set[int]:
    """Return the bytes of faces, edges and corners of four grids; the finest has `edge` points per axis."""
    return {8 * points**dims for points in (edge >> level for level in range(4)) for dims in range(3)}


def partners(profiles: Sequence[Path], edge: int) -> pl.DataFrame:
    """Return the numbers of partners, in the paper 7 to 26, and the sizes of messages."""
    rows = []
    for path in profiles:
        with explain.open(path) as opened:
            main = opened.table("regions").row(0, named=True)
            found = opened.table("sizes").filter(pl.col("kind") == "p2p", pl.col("messages") > 0)["bytes"]
        # Two ranks share one face, and no edges or corners.
        wanted = sizes(edge) if main["ranks"] > 2 else {8 * (edge >> level) ** 2 for level in range(4)}
        rows.append(
            {
                "ranks": main["ranks"],
                "partners_least": main["dest_ranks_min"],
                "partners_most": main["dest_ranks_max"],
                "sizes_are_exact": set(found) == wanted,
                "bytes": " ".join(map(str, found.unique().sort())),
            }
        )
    return pl.DataFrame(rows)


def figure(number: int, view: EnsembleView, suffix: str = "") -> None:
    """Write a figure, with its number in the paper; `suffix` is added to its caption."""
    drawn = view.drawn
    if drawn is None:
        sys.exit(f"nothing to draw for Figure {number}")
    title, caption = f"Figure {number}: {drawn.title}", f"{drawn.caption} Simulated Orac{suffix}."
    write_figures([replace(drawn, title=title, caption=caption)], Path(f"figure-{number}.json"))


def main() -> int:
    """Simulate all that is missing, write tables and figures, and return 0 if all sizes are the paper's."""
    Path("runs").mkdir(exist_ok=True)
    machine = Speeds("Orac as simulated, node to node", lambda size: SECONDS + size / BANDWIDTH)
    by_ranks = {ranks: pattern(EDGE, ranks) for ranks in (2, *RANKS, MOST)}
    runs = open_all(by_ranks.values())
    figure(1, ensembles.shares(runs))
    published_shares(runs).write_csv("figure-1.csv")
    figure(2, ensembles.time_maps(open_all(by_ranks[ranks] for ranks in (28, 56, 112, MOST))))
    classes = ensembles.size_classes(runs)
    figure(3, classes)
    classes.frame.write_csv("figure-3.csv")
    figure(4, ensembles.size_classes(runs, machine=machine))
    published_speeds(machine).write_csv("table-2.csv")
    collectives(run(EDGE, 8)).write_csv("collectives.csv")
    swept = open_all([*(pattern(edge, MOST) for edge in EDGES)])
    figure(5, ensembles.shares(swept, against="nx"), f", {MOST} ranks; nx: points of a rank along an axis")
    exact = partners(list(by_ranks.values()), EDGE)
    exact.write_csv("partners.csv")
    return 0 if exact["sizes_are_exact"].all() else 3


if __name__ == "__main__":
    into()
    sys.exit(main())
