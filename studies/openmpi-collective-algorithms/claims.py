"""The paper's claims about Figures 2 to 5, tested on the simulated ORFEO at the paper's processes and sizes.

Times are OSU's: means over ranks. "Fastest" allows 0.1 %, as the default is one of the other algorithms.
`published.toml` has the meaning of each claim.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from itertools import product
from math import log
from statistics import fmean, median

import points
import polars as pl
from together import quantity

from haloscope.reproduce.study import Tested

Point = tuple[int, int]  # ranks and bytes
MANY = [ranks for ranks in points.RANKS if ranks >= 16]
SHOWN = (1024, 16384, 1048576)
LARGE = [size for size in points.SIZES if size >= 16384]
SMALL = [size for size in points.SIZES if size <= 1024]
FROM_4 = [ranks for ranks in points.RANKS if ranks >= 4]
_TIE = 1.001
_SIMILAR = 2


class Times:
    """Times (s) of one collective by algorithm, processes and bytes."""

    def __init__(self, rows: pl.DataFrame, collective: str) -> None:
        own = rows.filter(pl.col("collective") == collective)
        columns = own.select("algorithm", "ranks", "bytes", "time").iter_rows()
        self._times = {(name, ranks, size): time for name, ranks, size, time in columns}

    def at(self, name: str, point: Point) -> float:
        """Return the time of an algorithm."""
        ranks, size = point
        return float(self._times[name, ranks, size])

    def over(self, name: str, other: str, point: Point) -> float:
        """Return the time of an algorithm over that of another one."""
        return self.at(name, point) / self.at(other, point)

    def growth(self, name: str, size: int) -> float:
        """Return the time on 256 processes over that on 16."""
        return self.at(name, (256, size)) / self.at(name, (16, size))

    def is_fastest(self, name: str, names: Collection[str], point: Point) -> bool:
        """Return whether no other algorithm is faster."""
        return self.at(name, point) <= _TIE * min(self.at(other, point) for other in names)


def counted(name: str, where: Iterable[Point], holds: Callable[[Point], bool], least: float = 1.0) -> Tested:
    """Return the claim with the number of points for which it holds; `least` is the share that it needs."""
    every = list(where)
    missed = [point for point in every if not holds(point)]
    evidence = f"{len(every) - len(missed)} of {len(every)} points"
    if missed and len(missed) < len(every):
        ranks, size = missed[-1]
        evidence += f"; not, for example, on {ranks} processes with {quantity(size, 'bytes')}"
    return Tested(name, len(every) - len(missed) >= least * len(every), evidence)


def grid(ranks: Iterable[int], sizes: Iterable[int]) -> list[Point]:
    """Return all pairs that are simulated."""
    return [(count, size) for count, size in product(ranks, sizes) if size in points.sizes_on(count)]


def of_figures_2_to_5(times: pl.DataFrame, formulas: pl.DataFrame) -> list[Tested]:
    """Return the verdicts; `times` has the columns of `orfeo.named`.

    The evidence of a claim that does not hold for both has the points with the time of the last rank, too.
    """
    by_mean, by_last = (_on(rows, formulas) for rows in (times, times.with_columns(time="last")))
    return [_with_last(*both) for both in zip(by_mean, by_last, strict=True)]


def _on(times: pl.DataFrame, formulas: pl.DataFrame) -> list[Tested]:
    parts = [
        broadcast(Times(times, "bcast")),
        reduction(Times(times, "reduce")),
        conclusions(times, formulas),
    ]
    return [replace(one, source="simulated") for part in parts for one in part]


def _with_last(one: Tested, last: Tested) -> Tested:
    if one.evidence == last.evidence or (one.holds and last.holds):
        return one
    verdict = "holds" if last.holds else "does not hold"
    text = f"{one.evidence}; with the time of the last rank the claim {verdict}: {last.evidence}"
    return replace(one, evidence=text)


def broadcast(at: Times) -> list[Tested]:
    """Return the verdicts on Figures 2 and 3."""
    named = points.PAPERS["bcast"]
    every = ("default", *named)
    fast, slow = ("chain", "binomial"), ("basic_linear", "pipeline")

    def slower(point: Point) -> bool:
        return min(at.at(name, point) for name in slow) > max(at.at(name, point) for name in fast)

    def is_similar(point: Point) -> bool:
        return 1 / _SIMILAR <= at.over("chain", "binomial", point) <= _SIMILAR

    def over_fastest(one: str, point: Point) -> float:
        return at.at(one, point) / min(at.at(name, point) for name in every)

    def spread(point: Point) -> float:
        return max(over_fastest(name, point) for name in every)

    def default_is_best(point: Point) -> bool:
        return at.is_fastest("default", named, point)

    both = grid(points.RANKS, points.SIZES)
    large = [point for point in both if point[0] >= 32 and point[1] >= 16384]
    rest = [point for point in both if point not in large]
    shares = [fmean(map(default_is_best, where)) for where in (large, rest)]
    return [
        counted(
            "bcast: latency grows with size",
            [
                (ranks, size)
                for ranks, size in grid(points.RANKS, SHOWN[:2])
                if SHOWN[SHOWN.index(size) + 1] in points.sizes_on(ranks)
            ],
            lambda point: all(
                at.at(name, (point[0], SHOWN[SHOWN.index(point[1]) + 1])) > at.at(name, point)
                for name in every
            ),
        ),
        counted("bcast: default is lowest", grid(points.RANKS, SHOWN[1:]), default_is_best),
        counted("bcast: chain is like binomial", grid(points.RANKS, SHOWN), is_similar),
        counted("bcast: linear and pipeline are slower", grid(MANY, SHOWN[1:]), slower),
        counted(
            "bcast: differences grow with size",
            grid(FROM_4, [1048576]),
            lambda point: spread(point) > spread((point[0], 2)),
        ),
        counted(
            "bcast: pipeline is slowest",
            grid([ranks for ranks in MANY if ranks >= 32], points.SIZES),
            lambda point: all(at.over("pipeline", name, point) > 1 for name in every if name != "pipeline"),
        ),
        counted(
            "bcast: pipeline loses most when large",
            grid([ranks for ranks in MANY if ranks >= 32], [1048576]),
            lambda point: over_fastest("pipeline", point) > over_fastest("pipeline", (point[0], 2)),
        ),
        counted(
            "bcast: linear is poor",
            grid(MANY, points.SIZES),
            lambda point: all(at.over("basic_linear", name, point) > 1 for name in fast),
        ),
        counted("bcast: chain is like binomial, all sizes", both, is_similar),
        counted("bcast: chain and binomial are low", grid(FROM_4, points.SIZES), slower),
        counted("bcast: default is often best", both, default_is_best, 0.5),
        Tested(
            "bcast: default gains at scale",
            shares[0] > shares[1],
            f"best at {100 * shares[0]:.0f} % of the points from 32 processes and 16 KiB on, and at"
            f" {100 * shares[1]:.0f} % of the others",
        ),
    ]


def reduction(at: Times) -> list[Tested]:
    """Return the verdicts on Figures 4 and 5."""
    every = ("default", *points.PAPERS["reduce"])
    good, others = ("default", "binomial"), ("linear", "binary", "rabenseifner")
    both = grid(points.RANKS, points.SIZES)

    def place(name: str, point: Point) -> int:
        """Return 1 for the fastest algorithm."""
        return 1 + sum(
            at.at(other, point) < at.at(name, point) / _TIE for other in every if other != "default"
        )

    def are_near(point: Point) -> bool:
        least = min(at.at(name, point) for name in every)
        return all(at.at(name, point) <= _SIMILAR * least for name in good)

    growths = {name: at.growth(name, SHOWN[0]) for name in every}
    means = {name: fmean(log(at.at(name, point)) for point in both) for name in every}
    order = sorted(every, key=means.__getitem__)
    return [
        counted(
            "reduce: small messages are fast",
            grid(points.RANKS, SHOWN[:1]),
            lambda point: all(at.at(name, point) < at.at(name, (point[0], SHOWN[1])) for name in every),
        ),
        Tested(
            "reduce: binomial and default scale best",
            max(growths[name] for name in good) < min(growths[name] for name in others),
            "times of 1 KiB on 256 processes over those on 16: "
            + ", ".join(f"{name} {value:.1f}" for name, value in growths.items()),
        ),
        counted("reduce: binomial and default perform well", grid(points.RANKS, SHOWN[1:]), are_near),
        counted(
            "reduce: linear and binary are slower",
            grid(MANY, SHOWN[1:]),
            lambda point: all(at.over(name, "binomial", point) > 1 for name in ("linear", "binary")),
        ),
        counted(
            "reduce: Rabenseifner is among the best when large",
            grid(MANY, [1048576]),
            lambda point: place("rabenseifner", point) <= 2,
        ),
        counted("reduce: default and binomial are low", both, are_near),
        counted(
            "reduce: linear scales worst",
            grid([256], LARGE),
            lambda point: all(
                at.growth("linear", point[1]) > at.growth(name, point[1])
                for name in every
                if name != "linear"
            ),
        ),
        counted(
            "reduce: Rabenseifner is better than linear",
            grid(FROM_4, points.SIZES),
            lambda point: at.over("rabenseifner", "linear", point) < 1,
        ),
        counted(
            "reduce: Rabenseifner is slowest when small",
            grid(FROM_4, SMALL),
            lambda point: all(at.over("rabenseifner", name, point) * _TIE >= 1 for name in every),
        ),
        counted(
            "reduce: Rabenseifner improves with size",
            grid(FROM_4, [1048576]),
            lambda point: (
                at.over("rabenseifner", "binomial", point)
                < at.over("rabenseifner", "binomial", (point[0], 1024))
            ),
        ),
        Tested(
            "reduce: default and binomial are the best balance",
            set(order[:2]) == set(good),
            f"geometric means over all points, lowest first: {', '.join(order)}",
        ),
    ]


def conclusions(times: pl.DataFrame, formulas: pl.DataFrame) -> list[Tested]:
    """Return the verdicts on the paper's last section."""
    bcast, reduce = Times(times, "bcast"), Times(times, "reduce")
    joined = times.join(
        formulas.rename({"time": "formula"}), on=["collective", "algorithm", "ranks", "bytes"]
    ).with_columns(error=(pl.col("formula") / pl.col("last") - 1).abs())
    errors = {
        size: median(joined.filter(pl.col("bytes") == size)["error"].to_list()) for size in (2, 1048576)
    }
    return [
        counted(
            "trees outperform linear",
            grid(MANY, points.SIZES),
            lambda point: (
                bcast.over("binomial", "basic_linear", point) < 1
                and all(reduce.over(name, "linear", point) < 1 for name in ("binary", "binomial"))
            ),
        ),
        Tested(
            "formulas fit small messages",
            errors[2] < errors[1048576],
            "median relative difference of the formulas: "
            + ", ".join(
                f"{100 * error:.0f} % at {quantity(size, 'bytes')}" for size, error in errors.items()
            ),
        ),
    ]
