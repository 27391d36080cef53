"""The study's tables in Markdown, with the paper's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import cells
import numpy as np
import polars as pl
import published
import study
from own_figures import gains
from study import Floats, Method

from haloscope.markov.statistics import Sample, compare_distributions, cumulative_sums


@dataclass(frozen=True)
class Found:
    """Results: methods by scenario and solver; the sweep."""

    methods: Mapping[tuple[str, str], Sequence[Method]]
    swept: dict[str, Floats]


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def by_regime(method: Method) -> list[tuple[float, float, float]]:
    """Return mean, deviation and share of the decoded times of each regime."""
    times, states = method.ranks.timings.durations, method.ranks.states
    parts = [times[states == regime] for regime in range(study.REGIMES)]
    return [
        (float(p.mean()), float(p.std()), p.size / times.size) if p.size else (np.nan,) * 3 for p in parts
    ]


def regimes(found: Sequence[Method], solver: str) -> str:
    """Return Table 1, printed and found."""
    rows = []
    for method in found:
        printed = published.TABLE_1.get(method.name) if solver == "cg" else None
        for i, (mean, std, share) in enumerate(by_regime(method)):
            published_row = (
                [f"{printed[i][0]:.2e}", f"{printed[i][1]:.2e}", f"{printed[i][2]:.2f}"]
                if printed
                else ["", "", ""]
            )
            rows.append(
                [
                    method.name,
                    str(i + 1),
                    published_row[0],
                    f"{mean:.3e}",
                    published_row[1],
                    f"{std:.2e}",
                    published_row[2],
                    f"{share:.2f}",
                ]
            )
    return table(["method", "i", "μ printed", "μ here", "σ printed", "σ here", "% it. printed", "here"], rows)


def improvement(method: Method, baseline: Method, part: float) -> float:
    """Return by how many percent S_K is below the baseline's; `part` is K as a share of all MatVecs."""
    samples = [Sample(m.name, m.slowest.timings.durations) for m in (baseline, method)]
    difference = cumulative_sums(samples)[1].difference
    return -float(difference[max(0, round(part * difference.size) - 1)])


def fast(method: Method) -> tuple[float, float]:
    """Return the mean T^max of the fast regime, and its share."""
    times, states = method.slowest.timings.durations, method.slowest.states
    chosen = times[states == 0]
    return float(chosen.mean()), chosen.size / times.size


def gained(found: Sequence[Method], printed: Mapping[str, object]) -> str:
    """Return S_K for several K, the fast regime, waits and α, compared with the first method."""
    rows = []
    base = found[0]
    for method in found:
        mean, share = fast(method)
        run = method.fastest
        against = (
            ["", "", "", "", ""]
            if method is base
            else [
                *(f"{improvement(method, base, part):.1f}" for part in (0.25, 0.5, 0.9, 1.0)),
                f"{100 * (1 - mean / fast(base)[0]):.1f}",
            ]
        )
        rows.append(
            [
                method.name,
                *against,
                str(printed.get(method.name, "")),
                f"{1e3 * mean:.3f}",
                f"{100 * share:.0f}",
                f"{1e6 * run['rank_input_wait'].mean():.0f}",
                f"{1e6 * run['rank_output_wait'].mean():.0f}",
                f"{run['rank_mean_alpha'].mean():.2f}",
            ]
        )
    return table(
        [
            "method",
            "S_K, K = 25 %",
            "50 %",
            "90 %",
            "all",
            "fast regime",
            "paper",
            "T^max in it, ms",
            "% of it.",
            "mean wait for input, µs",
            "for output",
            "mean α",
        ],
        rows,
    )


def run_tests(found: Sequence[Method], solver: str) -> pl.DataFrame:
    """Return Kolmogorov-Smirnov tests between runs of a method, and between methods, runs pooled."""
    rows, pooled = [], {}
    for method in found:
        runs = [_times(f"{method.name} {i}", [run]) for i, run in enumerate(method.runs)]
        pooled[method.name] = _times(method.name, method.runs)
        if len(runs) > 1:
            rows.append((f"runs of {method.name}", True, compare_distributions(runs)))
    for one, other in combinations(list(pooled)[:3], 2):
        pair = compare_distributions([pooled[one], pooled[other]])
        rows.append((f"{one}, {other}", False, pair))
    made = [
        {
            "solver": solver,
            "compared": name,
            "same_method": same,
            "pairs": len(frame),
            "largest_distance": frame["statistic"].max(),
            "least_p": frame["p_corrected"].min(),
            "least_p_as_if_independent": frame["p_plain"].min(),
        }
        for name, same, frame in rows
    ]
    return pl.DataFrame(made)


def _times(name: str, runs: Sequence[cells.Arrays]) -> Sample:
    every = [(run["t_in"] + run["t_out"]).astype(np.float64) for run in runs]
    ranks = min(len(times) for times in every)
    return Sample(name, np.concatenate([times[:ranks] for times in every], axis=1))


def tests(found: Sequence[Method]) -> str:
    """Return the tests between runs in Markdown."""
    rows = [
        [str(row[0]), *("" if value is None else f"{value:.2g}" for value in row[1:])]
        for row in run_tests(found, "")
        .select("compared", "largest_distance", "least_p", "least_p_as_if_independent")
        .iter_rows()
    ]
    return table(["compared", "largest distance", "least p", "least p as if independent"], rows)


def swept(tables: dict[str, Floats], name: str) -> str:
    """Return the gain over fixed ½ in percent, for elements per rank × ranks."""
    rows = [
        [str(edge**3), *("" if np.isnan(v) else f"{v:.1f}" for v in row)]
        for edge, row in zip(cells.SWEPT_EDGES, gains(tables, name).tolist(), strict=True)
    ]
    return table(["elements per rank", *(f"{n} ranks" for n in cells.SWEPT_RANKS)], rows)


def markdown(found: Found) -> str:
    """Return all tables."""
    parts = []
    for (scenario, solver), value in found.methods.items():
        title = f"{scenario}, {solver}"
        if scenario == "table1":
            right = ", ".join(f"{m.name} {study.decoded_right(m):.0%}" for m in value)
            parts += [
                f"### Regimes: {title}",
                regimes(value, solver),
                f"Decoded correctly: {right}.",
                f"### Tests: {title}",
                tests(value),
            ]
        printed = published.FRONTERA if scenario in ("event", "quiet") else published.ANVIL
        parts += [f"### Gained: {title}", gained(value, printed)]
    parts += [f"### Sweep: {name}\n\n{swept(found.swept, name)}" for name in ("dynamic", "test")]
    return "\n\n".join(parts)
