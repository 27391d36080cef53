"""Figures 1 to 5 and Table 1: the pattern of cg on 8 ranks, simulated on 2 to 392 ranks of Orac.

    .venv/bin/python studies/hpcg-communication-patterns/patterns.py DIR

Profiles that are in DIR already are reused. A pattern has exactly the messages of a run. Its computing time
is that of HPCG on Orac's memory, and delays are those of `orac.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import orac
import polars as pl
import printed_values
from common import into, simulated, watched
from printed_values import SHARES
from speeds import ping_pong
from verdicts import test_claims, write_numbers

from haloscope import explain
from haloscope.explain import Ensemble, ensembles, open_all
from haloscope.explain.ensembles import EnsembleView
from haloscope.markov.figures import Figure
from haloscope.reproduce.study import write_figures

EDGE, EDGES = 104, (16, 32, 64, 104)  # points of a rank along each axis; multiples of 8
RANKS, MOST = (2, 28, 56, 112, 224), 392
MAPPED = (28, 56, 112, MOST)  # of Figure 2
ITERATIONS = 3
SEEDS = (0, 1, 2)
QUIET, DELAYED = "ranks alike, no delays", "with delays"


def run(edge: int) -> Path:
    """Return the profile of cg on 8 ranks of this machine; `edge`: points of a rank along each axis."""
    size = [word for axis in "xyz" for word in (f"--n{axis}", edge)]
    words = [*size, "--iterations", ITERATIONS]
    return watched(Path(f"runs/cg-{edge}-8.halo"), 8, "cg", words, nx=edge)


def computing(profile: Path) -> float:
    """Return the seconds that a rank computes."""
    with explain.open(profile) as opened:
        main = opened.table("regions").row(0, named=True)
    return float(main["time_mean"] - main["mpi_time_mean"])


def pattern(edge: int, ranks: int, seed: int | None = None) -> Path:
    """Return the profile of cg's pattern, simulated on Orac: with the delays of a seed, or without."""
    factor = ITERATIONS * orac.computing_alone(edge) / computing(run(edge))
    words: list[object] = ["--scale", "weak"]
    factors = np.ones(1)
    if seed is not None:
        file = Path(f"runs/latencies-{ranks}.txt")
        file.write_text("\n".join(f"{value:.9g}" for value in orac.latencies(partners_mean(ranks))))
        words += ["--latency", f"empirical:{file}", "--seed", seed]
        factors = orac.compute_factors(ranks, seed)
    words += ["--compute-factor", ",".join(f"{factor * one:.9g}" for one in factors), run(edge)]
    name = "quiet" if seed is None else f"seed-{seed}"
    meta = {"nx": edge, "delays": QUIET if seed is None else DELAYED}
    return simulated(
        Path(f"runs/orac-{edge}-{ranks}-{name}.halo"), ranks, orac.PLATFORM, words, traced=seed == 0, **meta
    )


def partners_mean(ranks: int) -> float:
    """Return the mean number of neighbours of a rank."""
    with explain.open(pattern(EDGES[0], ranks)) as opened:
        return float(opened.table("ranks", region="<program>")["dest_ranks"].to_numpy().mean())


def published_shares(quiet: Ensemble, delayed: Ensemble) -> pl.DataFrame:
    """Return the shares of Figure 1 (%): printed, simulated without delays, and with them for each seed."""
    rows = []
    by_seed = delayed.table("regions", region="<program>").with_columns(
        p2p=100 * pl.col("p2p_time_mean") / pl.col("time_mean"),
        collective=100 * pl.col("coll_time_mean") / pl.col("time_mean"),
    )
    alike = ensembles.shares(quiet).frame
    for ranks in sorted(by_seed["run_ranks"].unique()):
        for number, kind in enumerate(("p2p", "collective", "both")):
            columns = ["p2p", "collective"] if kind == "both" else [kind]
            values = by_seed.filter(run_ranks=ranks).select(pl.sum_horizontal(columns)).to_series()
            same = alike.filter(pl.col("run_ranks") == ranks).select(pl.sum_horizontal(columns)).item()
            rows.append(
                {
                    "ranks": int(ranks),
                    "operations": kind,
                    "published": SHARES.get(int(ranks), (None, None, None))[number],
                    "alike": 100 * same,
                    "delayed": values.mean(),
                    "delayed_low": values.min(),
                    "delayed_high": values.max(),
                }
            )
    return pl.DataFrame(rows)


def message_speeds(profiles: Sequence[Path]) -> pl.DataFrame:
    """Return the speed of messages (Gbit/s) by ranks, all sizes, and their number."""
    rows = []
    for path in profiles:
        with explain.open(path) as opened:
            timed = ensembles.time_messages(opened)
            ranks = opened.info["ranks"]
        sent, seconds = timed["bytes"].to_numpy(), timed["seconds"].to_numpy()
        speed, fastest = 8e-9 * sent.sum() / seconds.sum(), (8e-9 * sent / seconds).max()
        rows.append(
            {"ranks": ranks, "messages": len(timed), "gbit_s": float(speed), "fastest_gbit_s": float(fastest)}
        )
    return pl.DataFrame(rows)


def sizes(edge: int) -> set[int]:
    """Return the bytes of faces, edges and corners of four grids; the finest has `edge` points per axis."""
    return {8 * points**dims for points in (edge >> level for level in range(4)) for dims in range(3)}


def partners(profiles: Sequence[Path], edge: int) -> pl.DataFrame:
    """Return the numbers of partners, in the paper 7 to 26, and the sizes of messages."""
    rows = []
    for path in profiles:
        with explain.open(path) as opened:
            main = opened.table("regions").row(0, named=True)
            found = opened.table("sizes", region="<program>").filter(
                pl.col("kind") == "p2p", pl.col("messages") > 0
            )
            collectives = opened.table("collectives").filter(pl.col("calls") > 0)["bytes"].unique()
        # Two ranks share one face, and no edges or corners.
        wanted = sizes(edge) if main["ranks"] > 2 else {8 * (edge >> level) ** 2 for level in range(4)}
        rows.append(
            {
                "ranks": main["ranks"],
                "partners_least": main["dest_ranks_min"],
                "partners_most": main["dest_ranks_max"],
                "messages": main["sends_total"],
                "mean_message": main["bytes_sent_total"] / main["sends_total"],
                "over_10000": found.filter(pl.col("bytes") > 10000)["messages"].sum() / main["sends_total"],
                "sizes_are_exact": set(found["bytes"]) == wanted,
                "bytes": " ".join(map(str, found["bytes"].unique().sort())),
                "collective_bytes": " ".join(map(str, collectives.sort())),
            }
        )
    return pl.DataFrame(rows)


def figure(number: int, view: EnsembleView, suffix: str = "") -> Figure:
    """Return a figure with its number in the paper; `suffix` is added to its caption."""
    drawn = view.drawn
    if drawn is None:
        sys.exit(f"nothing to draw for Figure {number}")
    title, caption = f"Figure {number}: {drawn.title}", f"{drawn.caption} Simulated Orac{suffix}."
    return replace(drawn, title=title, caption=caption)


def main() -> int:
    """Simulate all that is missing, write tables, figures and verdicts."""
    Path("runs").mkdir(exist_ok=True)
    numbers = (*RANKS, MOST)
    quiet = open_all([pattern(EDGE, ranks) for ranks in numbers])
    by_ranks = {ranks: pattern(EDGE, ranks, 0) for ranks in numbers}
    delayed = open_all([pattern(EDGE, ranks, seed) for seed in SEEDS for ranks in numbers])
    drawn = {1: figure(1, ensembles.shares(delayed), ", with delays")}
    shares = published_shares(quiet, delayed)
    shares.write_csv("figure-1.csv", float_precision=3)
    first = open_all(by_ranks.values())
    mapped = open_all(by_ranks[ranks] for ranks in numbers if ranks in MAPPED)
    drawn[2] = figure(2, ensembles.time_maps(mapped))
    classes = ensembles.size_classes(first, machine=ping_pong())
    drawn[3] = figure(3, ensembles.size_classes(quiet))
    drawn[4] = figure(4, classes, ", with delays")
    classes.frame.write_csv("figure-4.csv", float_precision=1)
    speeds = message_speeds(list(by_ranks.values()))
    speeds.write_csv("message-speeds.csv", float_precision=4)
    swept = open_all([pattern(edge, MOST, 0) for edge in EDGES])
    by_size = ensembles.shares(swept, against="nx")
    drawn[5] = figure(5, by_size, f", {MOST} ranks, with delays; nx: points of a rank along an axis")
    for at, one in printed_values.added(drawn, speeds).items():
        write_figures([one], Path(f"figure-{at}.json"))
    exact = partners(list(by_ranks.values()), EDGE)
    exact.write_csv("partners.csv", float_precision=3)
    orac.specifications().write_csv("table-1.csv")
    tables = {
        "shares": shares,
        "speeds": speeds,
        "classes": classes.frame,
        "by_size": by_size.frame,
        "partners": exact,
    }
    write_numbers(tables, test_claims(tables, EDGE))
    return 0 if exact["sizes_are_exact"].all() else 3


if __name__ == "__main__":
    into()
    sys.exit(main())
