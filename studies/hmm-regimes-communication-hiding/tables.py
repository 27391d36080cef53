"""The study's tables in Markdown, with the paper's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import published
import study
from own_figures import gains
from study import Floats, Method, cells

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
    ]  # type: ignore[misc]


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


def tests(found: Sequence[Method]) -> str:
    """Return Kolmogorov-Smirnov tests between runs and between methods: largest distance, least p."""
    rows = []
    samples = {}
    for method in found:
        runs = [
            Sample(f"{method.name} {i}", (run["t_in"] + run["t_out"]).astype(np.float64))
            for i, run in enumerate(method.runs[: study.POOLED])
        ]
        samples[method.name] = runs[0]
        if len(runs) > 1:
            rows.append(_test(f"runs of {method.name}", compare_distributions(runs)))
    for one, other in combinations(list(samples)[:3], 2):
        pair = compare_distributions([samples[one], samples[other]])
        rows.append(_test(f"{one}, {other}", pair))
    return table(["compared", "largest distance", "least p", "least p as if independent"], rows)


def _test(name: str, frame: object) -> list[str]:
    least = [frame["statistic"].max(), frame["p_corrected"].min(), frame["p_plain"].min()]  # type: ignore[index]
    return [name, *("" if v is None else f"{v:.2g}" for v in least)]


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
