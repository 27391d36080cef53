"""The paper's numbers and claims in the measured runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import poisson_runs
import polars as pl
import reasons
import tables
from figures import NAMES
from modes import each_time, modes, over_ranks
from study import REGIMES, Method

from haloscope.markov.statistics import Sample, cumulative_sums
from haloscope.reproduce.study import Reproduced, Tested

Methods = Sequence[Method]  # fixed, dynamic and test
QUIET = 3  # of the runs around the event: fixed without it
_LEAST = 0.01  # the first sums of S_K have a few extreme times only
_LEVEL = 0.05  # of all tests between runs together
_FRONTERA = (2.5, 5.5)  # 3 to 5 %, with the rounding of the printed digits
_SLOW = 3  # an outlier takes longer than this number of medians


def numbers(found: Mapping[str, Methods], event: Methods) -> list[Reproduced]:
    """Return Table 1 and the percentages of sections 4.1, 4.3 and 4.4.

    `found` is by solver. `event` are runs of fixed (with the event), dynamic, test, and fixed without it.
    """
    made: list[Reproduced] = []
    cg = found["cg"]

    def add(name: str, value: float, why: str) -> None:
        made.append(Reproduced(name, value, "measured", why=why))

    for method in cg:
        whys = reasons.of_regimes(cg[0], method)
        for regime, values in enumerate(tables.by_regime(method), 1):
            for part, value in zip(reasons.REGIME, values, strict=True):
                add(name := f"{method.name} {regime}: {part}", value, whys[name])
        add(name := f"{method.name}: fast regime", 100 * _fast_share(method), whys[name])
    for method in cg[1:]:
        differences = gains(cg[0], method)
        why = reasons.of_largest_gain(cg[0], differences)
        add(f"{method.name}: largest gain", float(differences.max()), why)
    for method in event[1:QUIET]:
        why = reasons.of_gain_in_fast_regime(method, event[0], event[QUIET])
        add(f"{method.name}: gain in the fast regime", _gain_of_fast(method, event[0]), why)
    return made


def gains(base: Method, method: Method) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return by how many percent S_K is below the baseline's, for each K but the first ones."""
    samples = [Sample(m.name, m.slowest.timings.durations) for m in (base, method)]
    difference = -cumulative_sums(samples)[1].difference
    return difference[int(_LEAST * difference.size) :]


def _fast_share(method: Method) -> float:
    return float((method.ranks.states == 0).mean())


def claims(found: Mapping[str, Methods], event: Methods) -> list[Tested]:
    """Return the verdicts on the claims; without a core for each rank, no times are compared."""
    cg, gmg = found["cg"], found["gmg"]
    made = [*_of_modes(cg, gmg), *_of_regimes(found), *_of_times(cg, gmg), *_of_runs(found)]
    made += _of_sums(cg, event)
    cores = poisson_runs.cores()
    shared = f"{poisson_runs.RANKS} ranks share {cores} core"
    made = [
        replace(one, holds=bool(one.holds)) if cores >= poisson_runs.RANKS else Tested(one.name, None, shared)
        for one in made
    ]
    reason = f"slowdowns are injected, into messages of 1 of {poisson_runs.RANKS} ranks"
    return [Tested("slowdowns on any number of ranks", None, reason), *made]


def _listed(methods: Methods, values: Sequence[str]) -> str:
    return ", ".join(f"{m.name} {value}" for m, value in zip(methods, values, strict=True))


def _milliseconds(times: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    return f"{len(times)} (" + ", ".join(f"{1e3 * time:.3f}" for time in times.tolist()) + " ms)"


def _of_modes(cg: Methods, gmg: Methods) -> list[Tested]:
    made = []
    delays = ", ".join(
        f"{1e3 * delay * reasons.own_time(cg[0].fastest):.2f}" for delay in poisson_runs.DELAYS
    )
    injected = f"delays of {delays} ms are injected into rank 1's contributions"
    for name, methods, times, wanted in (
        ("three modes of medians", cg, over_ranks, 3),
        ("three modes of CG", cg, each_time, 3),
        ("one mode of GMG-CG", gmg, each_time, 1),
    ):
        peaks = [modes(times(method)) for method in methods]
        evidence = f"modes: {_listed(methods, [_milliseconds(one) for one in peaks])}; {injected}"
        made.append(Tested(name, all(len(one) == wanted for one in peaks), evidence))
    return made


def _of_regimes(found: Mapping[str, Methods]) -> list[Tested]:
    rows = {(solver, m.name): tables.by_regime(m) for solver, methods in found.items() for m in methods}
    stds = {key: [1e6 * std for _, std, _ in row] for key, row in rows.items()}
    shown = ", ".join(
        f"{NAMES[solver]} {name} {' '.join(f'{std:.0f}' for std in row)}"
        for (solver, name), row in stds.items()
    )
    largest = all(np.argmax(row) == REGIMES - 1 for row in stds.values())
    least = [np.argmin(stds["cg", m.name]) == 0 for m in found["cg"]]
    means = np.array([[mean for mean, _, _ in rows["cg", m.name]] for m in found["cg"]])
    apart = means.max(axis=0) / means.min(axis=0) - 1
    return [
        Tested(
            "slowest regime varies most",
            largest,
            f"σ of regimes 1 to 3, µs: {shown}; {reasons.of_largest_deviation(found['cg'])}",
        ),
        Tested(
            "fastest regime varies least",
            sum(least) >= 2,
            f"for {sum(least)} of {len(least)} methods with CG",
        ),
        Tested(
            "same regimes",
            bool((apart <= 0.1).all()),
            "means of regimes 1 to 3 differ between methods by at most "
            + ", ".join(f"{100 * one:.0f} %" for one in apart.tolist()),
        ),
    ]


def _of_times(cg: Methods, gmg: Methods) -> list[Tested]:
    blocks = [
        float(np.quantile(np.minimum(m.fastest["t_in"], m.fastest["t_out"]), 0.01)) for m in (*cg, *gmg)
    ]
    fast = [tables.by_regime(m)[0][0] for m in cg]
    shares = [_fast_share(m) for m in cg]
    slow = [
        float(np.mean([(times > 2 * np.quantile(times, 0.01)).mean() for times in map(each_time, methods)]))
        for methods in (cg, gmg)
    ]
    means = [[float(each_time(m).mean()) for m in methods] for methods in (cg, gmg)]
    tails = []
    for method in cg:
        times, states = method.ranks.timings.durations, method.ranks.states
        outliers = times > _SLOW * np.median(times)
        tails.append(
            [float(outliers[chosen].mean()) for chosen in (states < REGIMES - 1, states == REGIMES - 1)]
        )
    halves = len(cg)
    less = [[100 * (1 - mean / part[0]) for mean in part[1:]] for part in means]
    middle = [float(np.subtract(*np.quantile(each_time(m), [0.75, 0.25]))) for m in gmg]
    return [
        Tested(
            "blocks shorter than half",
            all(max(part[1:]) < part[0] for part in (blocks[:halves], blocks[halves:])),
            "1 % quantile of the shorter block, ms: "
            + _listed([*cg, *gmg], [f"{1e3 * one:.3f}" for one in blocks]),
        ),
        Tested(
            "polls are cheap",
            fast[2] <= 1.05 * fast[0],
            f"mean of regime 1, ms: {_listed(cg, [f'{1e3 * one:.3f}' for one in fast])}",
        ),
        Tested(
            "more in the fast regime",
            min(shares[1:]) > shares[0],
            _listed(cg, [f"{100 * one:.0f} %" for one in shares]),
        ),
        Tested(
            "GMG-CG is slow more often",
            slow[1] > slow[0],
            f"longer than twice the minimum: CG {100 * slow[0]:.0f} %, GMG-CG {100 * slow[1]:.0f} %",
        ),
        Tested(
            "times shifted to the left",
            all(max(part[1:]) < part[0] for part in means),
            "mean, ms: " + _listed([*cg, *gmg], [f"{1e3 * one:.3f}" for one in (*means[0], *means[1])]),
        ),
        Tested(
            "shift is larger for GMG-CG",
            all(b > a for a, b in zip(*less, strict=True)),
            "mean is shorter by: "
            + "; ".join(
                f"{name} {_listed(cg[1:], [f'{one:.1f} %' for one in part])}"
                for name, part in zip(NAMES.values(), less, strict=True)
            ),
        ),
        Tested(
            "GMG-CG: MPI test is concentrated",
            middle[-1] < middle[0],
            f"interquartile range, ms: {_listed(gmg, [f'{1e3 * one:.3f}' for one in middle])}",
        ),
        Tested(
            "outliers are in the slowest regime",
            all(first < 0.01 and first < last for first, last in tails),
            f"longer than {_SLOW} medians, in regimes 1 and 2, and in regime 3: "
            + _listed(cg, [f"{100 * a:.1f} and {100 * b:.1f} %" for a, b in tails]),
        ),
    ]


def _of_runs(found: Mapping[str, Methods]) -> list[Tested]:
    table = pl.concat([tables.run_tests(methods, NAMES[solver]) for solver, methods in found.items()])
    level = _LEVEL / int(table["pairs"].sum())
    own = reasons.of_runs(found)
    same, different = (table.filter(table["same_method"] == same) for same in (True, False))
    least: list[float] = same["least_p"].to_list()
    return [
        Tested(
            "runs of one method are alike",
            min(least) >= level,
            f"least p {min(least):.2g} of {same['pairs'].sum()} pairs, level {level:.2g}; {own}",
        ),
        Tested(
            "methods differ",
            bool((different["least_p"] < level).all()),
            f"p {', '.join(f'{p:.2g}' for p in different['least_p'].to_list())}, level {level:.2g}",
        ),
    ]


def _of_sums(cg: Methods, event: Methods) -> list[Tested]:
    differences = [gains(cg[0], method) for method in cg[1:]]
    fast = [tables.fast(method)[0] for method in cg]
    whole = [tables.improvement(method, cg[0], 1.0) for method in cg[1:]]
    within_event = [_gain_of_fast(method, event[0]) for method in event[1:QUIET]]
    made = [
        Tested(
            "new methods perform alike",
            abs(whole[0] - whole[1]) < min(whole),
            f"less by all T^max than fixed: {_listed(cg[1:], [f'{one:.1f} %' for one in whole])}",
        ),
        Tested(
            "3 to 5 % in the fast regime",
            all(_FRONTERA[0] <= gain <= _FRONTERA[1] for gain in within_event),
            f"{_listed(event[1:QUIET], [f'{one:.1f} %' for one in within_event])}; "
            + reasons.of_gain_in_fast_regime(event[1], event[0], event[QUIET]),
        ),
        Tested(
            "sums are smaller for all K",
            all((one > 0).all() for one in differences),
            "least and largest gain: "
            + _listed(cg[1:], [f"{one.min():.1f} to {one.max():.1f} %" for one in differences]),
        ),
        Tested(
            "fastest MatVecs are faster",
            max(fast[1:]) < fast[0],
            f"mean T^max of the fast regime, ms: {_listed(cg, [f'{1e3 * one:.3f}' for one in fast])}",
        ),
    ]
    raw, within = (
        np.array([[gain(m, base) for base in (event[0], event[QUIET])] for m in event[1:QUIET]])
        for gain in (_gain_of_all, _gain_of_fast)
    )
    shown = [
        f"{a[0]:.1f} and {a[1]:.1f} % by all times, {b[0]:.1f} and {b[1]:.1f} % by the fast regime"
        for a, b in zip(raw.tolist(), within.tolist(), strict=True)
    ]
    holds = bool((np.abs(within[:, 0] - within[:, 1]) < np.abs(raw[:, 0] - raw[:, 1])).all())
    evidence = f"gain with and without the event: {_listed(event[1:QUIET], shown)}"
    return [*made, Tested("regimes remove the event", holds, evidence)]


def _gain_of_all(method: Method, base: Method) -> float:
    return tables.improvement(method, base, 1.0)


def _gain_of_fast(method: Method, base: Method) -> float:
    return 100 * (1 - tables.fast(method)[0] / tables.fast(base)[0])
