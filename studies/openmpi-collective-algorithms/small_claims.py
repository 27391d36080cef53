"""The paper's claims about Figures 6 and 7, tested on the table of `small.py`.

The paper's measured times are means over ranks of Open MPI's times; here, they are those of the last rank of
Open MPI's messages on the simulated ORFEO. `published.toml` has the meaning of each claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from statistics import median

import numpy as np
import polars as pl

from haloscope.reproduce.study import Tested

MEASURED, MODEL = "open_mpi", "formula"
_BOTH = {"simulated": MEASURED, "by the formula": MODEL}
LEVELS = (4, 8, 16, 64, 128)  # cores of the levels of ORFEO below the last


class Curves:
    """Times of one collective over processes, by algorithm and source."""

    def __init__(self, rows: pl.DataFrame, collective: str) -> None:
        own = rows.filter(pl.col("collective") == collective)
        self._times = {
            (str(name), int(row["ranks"]), source): float(row[source])
            for (name,), part in own.group_by("algorithm")
            for row in part.to_dicts()
            for source in (MEASURED, MODEL)
        }
        self.names = sorted({name for name, _, _ in self._times})
        self.ranks = sorted({ranks for _, ranks, _ in self._times})

    def at(self, name: str, ranks: int, source: str) -> float:
        """Return a time in seconds."""
        return self._times[name, ranks, source]

    def curve(self, name: str, source: str) -> list[float]:
        """Return the times for all numbers of processes."""
        return [self.at(name, ranks, source) for ranks in self.ranks]

    def ratios(self, name: str, least: int = 2) -> list[float]:
        """Return the formula's times over the simulated ones, from a number of processes on."""
        return [
            self.at(name, ranks, MODEL) / self.at(name, ranks, MEASURED)
            for ranks in self.ranks
            if ranks >= least
        ]

    def power(self, name: str, source: str) -> float:
        """Return the exponent of the growth from 16 processes on."""
        kept = [ranks for ranks in self.ranks if ranks >= 16]
        times = [self.at(name, ranks, source) for ranks in kept]
        return float(np.polyfit(np.log(kept), np.log(times), 1)[0])

    def correlation(self, name: str) -> float:
        """Return the rank correlation of formula and simulation."""
        first, second = (np.argsort(np.argsort(self.curve(name, source))) for source in (MEASURED, MODEL))
        return float(np.corrcoef(first, second)[0, 1])


def of_figures_6_and_7(rows: pl.DataFrame) -> list[Tested]:
    """Return the verdicts."""
    bcast, reduce = Curves(rows, "bcast"), Curves(rows, "reduce")
    every = [*broadcast(bcast), *reduction(reduce), levels(bcast, reduce), network(bcast, reduce)]
    return [replace(one, source="simulated") for one in every]


def broadcast(of: Curves) -> list[Tested]:
    """Return the verdicts on Figure 6."""
    powers = [of.power("pipeline", source) for source in _BOTH.values()]
    near = [abs(ratio - 1) for ratio in of.ratios("pipeline", 16)]
    chain = [abs(ratio - 1) for ratio in of.ratios("chain", 16)]
    return [
        lowest("2 bytes: binomial broadcast is lowest", of, MEASURED),
        Tested(
            "2 bytes: pipeline is linear",
            all(0.9 <= power <= 1.1 for power in powers),
            f"from 16 processes on, times grow with the power {powers[0]:.2f} (simulated) and {powers[1]:.2f}"
            " (formula) of the processes",
        ),
        _near("2 bytes: pipeline agrees with its formula", near, 0.1),
        _counted(
            "2 bytes: chain is better than pipeline",
            of,
            4,
            lambda ranks: of.at("chain", ranks, MEASURED) < of.at("pipeline", ranks, MEASURED),
        ),
        _near("2 bytes: the chain's formula agrees", chain, 0.1),
    ]


def reduction(of: Curves) -> list[Tested]:
    """Return the verdicts on Figure 7."""
    agreement = {name: of.correlation(name) for name in of.names}
    beyond = {
        name: [
            median(of.at("binary", ranks, source) / of.at("binomial", ranks, source) for ranks in where)
            for where in ([r for r in of.ranks if r <= 128], [r for r in of.ranks if r > 128])
        ]
        for name, source in _BOTH.items()
    }
    over = of.ratios("rabenseifner", 4)
    powers = {label: {one: of.power(one, source) for one in of.names} for label, source in _BOTH.items()}
    return [
        Tested(
            "2 bytes: formulas of reductions capture trends",
            min(agreement.values()) >= 0.9,
            "rank correlations: " + ", ".join(f"{name} {value:.2f}" for name, value in agreement.items()),
        ),
        lowest("2 bytes: binomial reduction is lowest", of, MEASURED),
        lowest("2 bytes: binomial reduction is lowest by the formulas", of, MODEL),
        Tested(
            "2 bytes: binary is much slower beyond 128 processes",
            all(after > 1.5 and after > before for before, after in beyond.values()),
            "binary over binomial, median up to 128 processes and beyond: "
            + "; ".join(f"{name} {before:.1f} and {after:.1f}" for name, (before, after) in beyond.items()),
        ),
        Tested(
            "2 bytes: binomial scales best",
            all(min(found, key=found.__getitem__) == "binomial" for found in powers.values()),
            "from 16 processes on, times grow with the power "
            + "; ".join(
                f"{', '.join(f'{name} {power:.2f}' for name, power in found.items())} ({label})"
                for label, found in powers.items()
            )
            + " of the processes",
        ),
        Tested(
            "2 bytes: Rabenseifner's formula follows closely",
            1 <= median(over) <= 1.25,
            f"the formula over the simulated time is {median(over):.2f} (median),"
            f" {min(over):.2f} to {max(over):.2f}",
        ),
    ]


def levels(bcast: Curves, reduce: Curves) -> Tested:
    """Return whether the largest step from a number of processes to the next one is where levels change."""
    good, steps = 0, []
    for of in (bcast, reduce):
        for name in of.names:
            for label, source in _BOTH.items():
                rises = {
                    before: of.at(name, after, source) / of.at(name, before, source)
                    for before, after in pairwise(of.ranks)
                    if after == before + 1 and before >= 4
                }
                most = max(rises, key=rises.__getitem__)
                good += most in LEVELS
                steps.append(f"{name}, {label}: {most}")
    text = f"{good} of {len(steps)} curves have their largest step where a level ends ({'; '.join(steps)})"
    return Tested("2 bytes: steps are where levels change", good == len(steps), text)


def network(bcast: Curves, reduce: Curves) -> Tested:
    """Return whether the network's step, from 128 to 129 processes, takes more time than any before."""
    good, steps = 0, []
    for of in (bcast, reduce):
        for name in of.names:
            for label, source in _BOTH.items():
                rises = {
                    before: of.at(name, after, source) - of.at(name, before, source)
                    for before, after in pairwise(of.ranks)
                    if after == before + 1
                }
                good += max(rises, key=rises.__getitem__) == LEVELS[-1]
                steps.append(f"{name}, {label}: {1e6 * rises[LEVELS[-1]]:.2f}")
    text = f"{good} of {len(steps)} curves have their largest step there, in µs: {'; '.join(steps)}"
    return Tested("2 bytes: the network's step is the largest", good == len(steps), text)


def lowest(name: str, of: Curves, source: str) -> Tested:
    """Return whether binomial is the lowest, from 4 processes on."""
    return _counted(
        name,
        of,
        4,
        lambda ranks: all(
            of.at("binomial", ranks, source) <= 1.001 * of.at(other, ranks, source) for other in of.names
        ),
    )


def _near(name: str, differences: list[float], most: float) -> Tested:
    middle = median(differences)
    text = f"from 16 processes on, the formula differs by {100 * middle:.1f} % (median)"
    text += f", {100 * max(differences):.1f} % at most"
    return Tested(name, middle <= most, text)


def _counted(name: str, of: Curves, least: int, holds: Callable[[int], bool]) -> Tested:
    every = [ranks for ranks in of.ranks if ranks >= least]
    missed = [ranks for ranks in every if not holds(ranks)]
    text = f"{len(every) - len(missed)} of {len(every)} numbers of processes"
    text += f"; not on {', '.join(map(str, missed))}" if 0 < len(missed) < len(every) else ""
    return Tested(name, not missed, text)
