"""The paper's numbers and claims about many ranks, in virtual time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import cells
import numpy as np
import scenario
import study
from study import Floats, Method

from haloscope.markov.statistics import Sample, common_times, functional_boxplot, rank_cdfs
from haloscope.reproduce.study import Reproduced, Tested

Methods = Sequence[Method]  # fixed, dynamic and test
_ALL_RANKS, _RECORDED, _MATVECS = 7168, 1792, 8192
_NEAR_0 = 0.1
_FREQUENT = 0.25  # share of waits for output above ε that is "frequent"
_SLIGHTLY = 10  # times ε: the median of these waits is "slightly" above it
_FIRST = 10  # MatVecs in which α is close to its initial ½
_NO_GAIN = 1.0  # percent
_MOST_LATE = 0.05  # share of waits for input above ε that is still "almost exclusively" below


def numbers() -> list[Reproduced]:
    """Return the sizes of section 3.2, from the level of the mesh and the numbers of ranks and MatVecs."""
    edge = 2**9
    unknowns = (edge + 1) ** 3
    every = round(_ALL_RANKS * _MATVECS / 1e6) / 10
    return [
        Reproduced("epsilon", scenario.EPSILON, "computed"),
        Reproduced(
            "computation of non-mirror elements",
            scenario.WORK,
            "computed",
            why=f"chosen below Table 1's {1e3 * scenario.MEANS[0]:.2f} ms; in Figure 7 a half takes 1e-3",
        ),
        Reproduced("elements", edge**3, "computed"),
        Reproduced("unknowns", unknowns, "computed"),
        Reproduced("elements per rank", float(np.prod(scenario.ELEMENTS)), "computed"),
        Reproduced("unknowns per rank", unknowns / _ALL_RANKS, "computed"),
        Reproduced(
            "MatVecs of the first 1792 ranks",
            _RECORDED * _MATVECS,
            "computed",
            why=f"all {_ALL_RANKS} ranks have {every:g}e7",
        ),
    ]


def decoded_right(methods: Methods) -> Floats:
    """Return for each row of Table 1 the share of MatVecs that are decoded as the regime of their latency."""
    return np.repeat([study.decoded_right(method) for method in methods], study.REGIMES)


def claims(found: Mapping[str, Methods], gains: Mapping[str, Floats]) -> list[Tested]:
    """Return the verdicts; `found` is by solver, `gains` by method: percent, elements per rank × ranks."""
    cg, gmg = found["cg"], found["gmg"]
    made = [*_of_alpha(cg, gmg), *_of_waits(cg), _of_size(gains)]
    left = {solver: _Curves(methods) for solver, methods in found.items()}
    for solver, name in (("cg", "CG"), ("gmg", "GMG-CG")):
        made.append(_ahead(f"{name}: distributions shifted to the left", found[solver], left[solver].medians))
    spreads, lows = (
        {solver: getattr(curves, name) for solver, curves in left.items()} for name in ("spreads", "lows")
    )
    made += [
        Tested(
            "less spread",
            all(max(part[1:]) < part[0] for part in spreads.values()),
            "mean height of the central half: " + _by_solver(found, spreads),
            "virtual time",
        ),
        Tested(
            "slowest ranks are faster",
            all(min(part[1:]) > part[0] for part in lows.values()),
            "mean of the lowest curve: " + _by_solver(found, lows),
            "virtual time",
        ),
    ]
    regimes = [_Curves(gmg, regime).medians for regime in (0, 1)]
    made.append(
        Tested(
            "GMG-CG: regimes shifted to the left",
            all(min(part[1:]) > part[0] for part in regimes),
            "mean of the median curve in regimes 1 and 2: "
            + "; ".join(_listed(gmg, [f"{one:.3f}" for one in part]) for part in regimes),
            "virtual time",
        )
    )
    reason = "latencies of one machine are injected: those of Frontera are not published"
    made = [replace(one, holds=bool(one.holds)) for one in made]
    return [*made, Tested("machines differ", None, reason, "virtual time")]


class _Curves:
    """Figures 9 and 10 in numbers, one per method: means of curves over the quantiles of all times."""

    def __init__(self, methods: Methods, regime: int | None = None) -> None:
        samples = [Sample(m.name, m.ranks.timings.durations, m.ranks.states) for m in methods]
        times = common_times(samples, regime)
        self.medians: list[float] = []
        self.spreads: list[float] = []
        self.lows: list[float] = []
        for sample in samples:
            curves = rank_cdfs(sample, regime, times).curves
            box = functional_boxplot(curves)
            values = (
                (np.nan, np.nan, np.nan)
                if box is None
                else (
                    float(curves[box.median].mean()),
                    float((box.central_high - box.central_low).mean()),
                    float(curves.min(axis=0).mean()),
                )
            )
            for to, value in zip((self.medians, self.spreads, self.lows), values, strict=True):
                to.append(value)


def _listed(methods: Methods, values: Sequence[str]) -> str:
    return ", ".join(f"{m.name} {value}" for m, value in zip(methods, values, strict=True))


def _by_solver(found: Mapping[str, Methods], values: Mapping[str, Sequence[float]]) -> str:
    names = {"cg": "CG", "gmg": "GMG-CG"}
    return "; ".join(
        f"{names[solver]} {_listed(found[solver], [f'{one:.3f}' for one in part])}"
        for solver, part in values.items()
    )


def _ahead(name: str, methods: Methods, values: Sequence[float]) -> Tested:
    """Return the verdict that the other methods' median curves are above the first one's."""
    evidence = f"mean of the median curve: {_listed(methods, [f'{one:.3f}' for one in values])}"
    return Tested(name, min(values[1:]) > values[0], evidence, "virtual time")


def _of_alpha(cg: Methods, gmg: Methods) -> list[Tested]:
    medians = [[float(np.median(m.fastest["rank_mean_alpha"])) for m in methods[1:]] for methods in (cg, gmg)]
    shown = [_listed(cg[1:], [f"{one:.3f}" for one in part]) for part in medians]
    higher = all(b > a for a, b in zip(*medians, strict=True))
    return [
        Tested(
            "alpha is near 0 with CG",
            max(medians[0]) < _NEAR_0,
            f"medians over the ranks: {shown[0]}",
            "virtual time",
        ),
        Tested(
            "alpha is higher with GMG-CG",
            higher,
            f"medians over the ranks: CG {shown[0]}; GMG-CG {shown[1]}",
            "virtual time",
        ),
    ]


def _of_waits(cg: Methods) -> list[Tested]:
    late = [float((m.fastest["input_wait"] > scenario.EPSILON).mean()) for m in cg]
    output = [float(m.fastest["rank_output_wait"].mean()) for m in cg]
    waits = cg[0].fastest["output_wait"]
    above = waits[waits > scenario.EPSILON]
    share, middle = above.size / waits.size, float(np.median(above)) if above.size else 0.0
    moving = cg[1].fastest["output_wait"].mean(axis=0)
    first, later = float(moving[:_FIRST].mean()), float(moving[moving.size // 2 :].mean())
    return [
        Tested(
            "output is late",
            share > _FREQUENT and middle < _SLIGHTLY * scenario.EPSILON,
            f"waits above ε with fixed: {100 * share:.0f} %, their median {1e6 * middle:.0f} µs",
            "virtual time",
        ),
        Tested(
            "first MatVecs wait longer",
            first > later,
            f"mean wait for output with dynamic, µs: {1e6 * first:.0f} in the first {_FIRST} MatVecs,"
            f" {1e6 * later:.0f} in the second half",
            "virtual time",
        ),
        Tested(
            "input is in time",
            max(late) < _MOST_LATE,
            f"waits above ε: {_listed(cg, [f'{100 * one:.1f} %' for one in late])}",
            "virtual time",
        ),
        Tested(
            "dynamic waits less for output",
            output[1] < output[0],
            f"mean wait, µs (ε {1e6 * scenario.EPSILON:.0f}): "
            + _listed(cg, [f"{1e6 * one:.0f}" for one in output]),
            "virtual time",
        ),
    ]


def _of_size(gains: Mapping[str, Floats]) -> Tested:
    """Return whether fixed ½ is as good as the others on the largest pieces, and only there."""
    most = {name: gain[:, -1] for name, gain in gains.items()}
    holds = all(abs(gain[-1]) < _NO_GAIN < gain.max() for gain in most.values())
    sizes = [f"{edge**3}" for edge in cells.SWEPT_EDGES]
    evidence = "; ".join(
        f"{name} " + ", ".join(f"{value:.1f} % ({size})" for value, size in zip(gain, sizes, strict=True))
        for name, gain in most.items()
    )
    text = f"gain over fixed by elements per rank, {cells.SWEPT_RANKS[-1]} ranks: {evidence}"
    return Tested("much computation hides all", holds, text, "virtual time")
