"""Reasons of the differences between measured and published numbers, from the data of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import published
import tables
from cells import Arrays
from figures import NAMES
from study import Floats, Method

REGIME = ("mean", "std", "share")


def of_regimes(base: Method, method: Method) -> dict[str, str]:
    """Return the reasons for a method's rows of Table 1, by the numbers' names; `base` is fixed."""
    first, printed_first = tables.by_regime(base)[0][0], published.TABLE_1[base.name][0][0]
    found: dict[str, str] = {}
    for regime, (mean, std, _) in enumerate(tables.by_regime(method)):
        printed_mean, printed_std, _ = published.TABLE_1[method.name][regime]
        texts = (
            f"{mean / first:.2f} times {base.name} 1, paper {printed_mean / printed_first:.2f};"
            f" {base.name} takes {1e3 * own_time(base.fastest):.2f} ms without waits",
            f"{100 * std / mean:.0f} % of its mean, paper {100 * printed_std / printed_mean:.0f} %;"
            " injected delays have three lengths",
            f"share by rank: {by_rank(method, regime)}; only rank 0 waits for contributions",
        )
        for name, text in zip(REGIME, texts, strict=True):
            found[f"{method.name} {regime + 1}: {name}"] = text
    found[f"{method.name}: fast regime"] = found[f"{method.name} 1: share"]
    return found


def own_time(run: Arrays) -> float:
    """Return the seconds of a run's MatVecs without waits: the median."""
    return float(np.median(run["t_in"] + run["t_out"] - run["input_wait"] - run["output_wait"]))


def by_rank(method: Method, regime: int) -> str:
    """Return the share of each rank's MatVecs that are in a regime."""
    shares = (method.ranks.states == regime).mean(axis=1)
    return ", ".join(f"{100 * share:.0f} %" for share in shares.tolist())


def of_largest_gain(base: Method, differences: Floats) -> str:
    """Return the reason for the largest gain: how much of the time could be hidden at all."""
    run = base.fastest
    waits, times = run["input_wait"] + run["output_wait"], run["t_in"] + run["t_out"]
    slowest = times.argmax(axis=0), np.arange(times.shape[1])
    share = 100 * float(waits[slowest].sum() / times[slowest].sum())
    total = base.slowest.timings.durations.size
    part = 100 * (total - differences.size + int(differences.argmax()) + 1) / total
    return f"at K = {part:.0f} % of the MatVecs; waits are {share:.0f} % of T^max with {base.name}"


def of_gain_in_fast_regime(method: Method, event: Method, quiet: Method) -> str:
    """Return the reason for a gain within the fast regime: what each run's fast regime contains."""
    shares = [100 * tables.fast(one)[1] for one in (event, method, quiet)]
    gain = 100 * (1 - tables.fast(method)[0] / tables.fast(quiet)[0])
    return (
        f"the fast regime has {shares[0]:.0f} % of the MatVecs of {event.name} with the event,"
        f" {shares[1]:.0f} % of {method.name}; without the event {shares[2]:.0f} %, then the gain is"
        f" {gain:.1f} %"
    )


def of_largest_deviation(methods: Sequence[Method]) -> str:
    """Return the share of the regime with the largest deviation, per method."""
    found = []
    for method in methods:
        rows = tables.by_regime(method)
        most = int(np.nanargmax([std for _, std, _ in rows]))
        found.append(f"{method.name} {100 * rows[most][2]:.0f} %")
    return f"MatVecs in the regime of the largest σ, CG: {', '.join(found)}"


def of_runs(found: Mapping[str, Sequence[Method]]) -> str:
    """Return how long MatVecs without waits take in a method's runs: the processor's part of a difference."""
    texts = []
    for solver, methods in found.items():
        for method in methods:
            times = [1e3 * own_time(run) for run in method.runs]
            texts.append(f"{NAMES[solver]} {method.name} {min(times):.2f} to {max(times):.2f}")
    return f"medians of runs without waits, ms: {', '.join(texts)}"
