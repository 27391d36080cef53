"""Figures 2 to 5: the paper's algorithms measured here, simulated on ORFEO, by formula and by our model.

    .venv/bin/python studies/openmpi-collective-algorithms/figures.py DIR

Writes `figure-2.json` to `figure-5.json` and `segments.json` to DIR, and the verdicts on the paper's claims.
Points that were measured in DIR already are reused.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import claims
import here
import orfeo
import points
import polars as pl
import together
from common import draw, into, lines

from haloscope import predict
from haloscope.markov.figures import Figure, Panel
from haloscope.reproduce.study import write_figures, write_reproduced

SHOWN: tuple[int, ...] = (1024, 16384, 1048576)  # of Figures 2 and 4
FEWER = (4, 8, 16, 32, 64, 128, 256)  # of Figures 3 and 5 on ORFEO
FEWEST = (4, 8, 256)  # the same, for panels that also have measured times


def figures(number: int, collective: str, measured: pl.DataFrame) -> list[Figure]:
    """Return Figure 2 or 4 (time over processes), or 3 or 5 (time over sizes).

    The first picture has a panel per algorithm with all sources. The second one compares the algorithms, as
    in the paper.
    """
    simulated = orfeo.named().filter(pl.col("collective") == collective, pl.col("ranks").is_in(points.RANKS))
    names, title = orfeo.NAMES[collective], f"Figure {number}: {collective}"
    machine = predict.load_machine(orfeo.MACHINE)
    own = simulated.filter(pl.col("algorithm") == orfeo.SIMGRID).with_columns(algorithm=pl.lit(orfeo.DEFAULT))
    sources = {
        together.MEASURED: measured.filter(pl.col("collective") == collective),
        together.MESSAGES: orfeo.last(simulated),
        together.SIMGRID: orfeo.last(own),
        together.FORMULA: together.formulas(collective, points.RANKS, points.SIZES),
        together.MODEL: orfeo.modelled(machine, collective, points.RANKS, points.SIZES),
    }
    x, each, values, fewer = ("ranks", "bytes", SHOWN, SHOWN)
    if number in (3, 5):
        x, each, values, fewer = ("bytes", "ranks", FEWER, FEWEST)
    caption = (
        "Time until the last rank is done; measured: medians with 95 % intervals. The formula has no bytes."
    )
    first = together.picture(sources, names, x, each, fewer, caption=caption, title=title)
    times, compared = simulated.with_columns(pl.col("time") * 1e6), (*names, orfeo.OLD, orfeo.SIMGRID)
    panels = [
        Panel(
            together.quantity(value, each),
            lines(times.filter(pl.col(each) == value), x, "time", "algorithm", compared, {}),
        )
        for value in values
    ]
    caption = "As in the paper, the algorithms side by side: simulated on ORFEO, the mean over ranks."
    return [first, draw(panels, together.across(x), together.UP, caption, f"{title}, side by side")]


def segments() -> Figure:
    """Return the times of algorithms that cut their messages."""
    rows = orfeo.kept().filter(pl.col("bytes") == points.CUT_SIZE, pl.col("fanout") == 0)
    panels = []
    for collective, (names, sizes) in points.CUT.items():
        labels = {0: "not cut", **{size: f"segments of {together.quantity(size, 'bytes')}" for size in sizes}}
        for name in names:
            own = rows.filter(pl.col("collective") == collective, pl.col("algorithm") == name)
            own = own.filter(pl.col("segment").is_in(list(labels)), pl.col("ranks").is_in(points.RANKS))
            own = own.with_columns(
                pl.col("time") * 1e6, by=pl.col("segment").replace_strict(labels, return_dtype=pl.String)
            )
            panels.append(
                Panel(f"{collective} {name}", lines(own, "ranks", "time", "by", list(_labels()), {}))
            )
    caption = f"{together.quantity(points.CUT_SIZE, 'bytes')}, simulated on ORFEO, the mean over ranks."
    title = "Messages in segments"
    return draw(panels, together.across("ranks"), together.UP, caption, title)


def _labels() -> list[str]:
    sizes = sorted({size for _, every in points.CUT.values() for size in every})
    return ["not cut", *(f"segments of {together.quantity(size, 'bytes')}" for size in sizes)]


def main() -> None:
    """Measure what is missing, and write figures and verdicts."""
    measured = here.measured()
    for collective, numbers in (("bcast", (2, 3)), ("reduce", (4, 5))):
        for number in numbers:
            write_figures(figures(number, collective, measured), Path(f"figure-{number}.json"))
    write_figures([segments()], Path("segments.json"))
    formulas = pl.concat(
        [together.formulas(collective, points.RANKS, points.SIZES) for collective in orfeo.NAMES]
    )
    tested = claims.of_figures_2_to_5(orfeo.named(), formulas)
    write_reproduced("figures-2-5", claims=[*tested, *here.defaults(measured)])


if __name__ == "__main__":
    into()
    main()
