"""The results of `regimes`: tables, the fits, and statements about methods.

With one run per method, sentences are about these runs only: differences between runs are not included. With
several runs per method, they are about the methods; a run is then one observation. A method is called faster
only if shares, tests and goodness of fit agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product, takewhile
from typing import Any

import numpy as np
import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import noun_text
from haloscope.markov.analysis import Fit, RegimeAnalysis
from haloscope.markov.answer import answer
from haloscope.markov.fitting.family_choice import AUTO
from haloscope.markov.statistics.comparison import compare_distributions, regime_means, regime_table, sentence
from haloscope.markov.statistics.repeated import FASTER, faster_by_runs
from haloscope.markov.statistics.samples import Sample, largest_distance

__all__ = [
    "FASTER",
    "Claim",
    "ClaimMethod",
    "Results",
    "claims",
    "describe_fit",
    "fits",
    "list_doubts",
    "regime_frame",
    "results_of",
]

_WRONG = 0.05  # the share of commands in which any statement of a difference may be wrong
_UNLIKE = 1.5  # ratio above which two shares are hardly of the same regime
_FEWEST = 20  # independent instances; with fewer, the estimate of their dependence is itself uncertain
_OF_A_TEST = ("p_corrected", "effective_first", "effective_second")
_QUANTILES = 1 << 16  # of a longer sample, at which distances are computed


@dataclass(frozen=True)
class ClaimMethod:
    """A method: its name and its runs."""

    name: str
    runs: Sequence[RegimeAnalysis]


@dataclass(frozen=True)
class Claim:
    """A sentence that compares `method` with the first one, its reasons, and whether it states a difference.

    `faster` has percent with an interval, all None if unknown; `doubts` are reasons not to state a
    difference.
    """

    method: str
    regime: int | None
    faster: tuple[float | None, float | None, float | None]
    doubts: tuple[str, ...]
    text: str

    @property
    def sure(self) -> bool:
        """True if the sentence states that one is faster."""
        _, low, high = self.faster
        return not self.doubts and low is not None and high is not None and not low <= 0 <= high


def claims(methods: Sequence[ClaimMethod], wrong: float = _WRONG) -> list[Claim]:
    """Compare each method with the first: ranks in the fast regime, all times, T^max when fast.

    All methods have one run, or all have several. The intervals hold together in 1 − `wrong` of the cases.
    """
    several = any(run.has_several for method in methods for run in method.runs)
    level = 1 - wrong / max((2 + several) * (len(methods) - 1), 1)
    base = methods[0]
    return [
        claim
        for slowest in ([False, True] if several else [False])
        for method in methods[1:]
        for claim in _claims(base, method, slowest, level)
    ]


def _claims(base: ClaimMethod, method: ClaimMethod, slowest: bool, level: float) -> list[Claim]:
    own, peer = _samples(method, slowest), _samples(base, slowest)
    single = len(own) == 1
    doubts = _doubt_runs(own[0], peer[0], level) if single else _doubt_methods(own, peer)
    found = []
    for regime in (0,) if slowest else (0, None):
        if single:
            row = regime_means([*peer, *own], regime, 0, level).row(1, named=True)
        else:
            row = _compare_runs(own, peer, regime, level)
        more = [] if regime is None else _shares(own, peer)
        if regime is not None and not (doubts or more or slowest):
            more = _doubt_fits(base, method)
        row |= {"name": method.name, "regime": None if regime is None else regime + 1}
        text = sentence(row, base.name, (len(own), len(peer)), [*doubts, *more])
        line = printable(f"T^max: {text}" if slowest else text)
        faster = (row["faster"], row["faster_low"], row["faster_high"])
        found.append(Claim(method.name, row["regime"], faster, (*doubts, *more), line))
    return found


def _samples(method: ClaimMethod, slowest: bool) -> list[Sample]:
    views = [run.view for run in method.runs]
    return [(view.slowest if slowest else view.whole).sample for view in views]


def _compare_runs(
    own: Sequence[Sample], peer: Sequence[Sample], regime: int | None, level: float
) -> dict[str, Any]:
    """Return by how many percent the mean of one method's runs is smaller; the unit is a run (Welch)."""
    means = [regime_means(samples, regime)["mean"].drop_nulls().to_numpy() for samples in (own, peer)]
    if len(means[0]) < len(own) or len(means[1]) < len(peer):
        return dict.fromkeys(FASTER)
    return faster_by_runs(means[0], means[1], level)


def _doubt_runs(own: Sample, peer: Sample, level: float) -> list[str]:
    """Return why two runs may have the same times after all."""
    test = compare_distributions([peer, own]).row(0, named=True)
    corrected, *worth = (test[name] for name in _OF_A_TEST)
    if corrected is None:
        return ["there are too few instances for a KS test"]
    if min(worth) < _FEWEST:
        number = f"{min(worth):.2g} independent ones"
        return [f"the instances depend on each other and are worth only {number}"]
    if corrected >= 1 - level:
        return [f"the KS test of all times has p {corrected:.2g}"]
    return []


def _doubt_methods(own: Sequence[Sample], peer: Sequence[Sample]) -> list[str]:
    """Return why two methods may have the same times after all: their own runs differ as much."""
    first, second = ([np.sort(sample.values()) for sample in samples] for samples in (own, peer))
    if not all(values.size for values in (*first, *second)):
        return ["a run has no times"]
    within = [*combinations(first, 2), *combinations(second, 2)]
    between, inside = (
        float(np.median([largest_distance(*pair, _QUANTILES) for pair in pairs]))
        for pairs in (product(first, second), within)
    )
    if between > inside:
        return []
    return [f"the KS distance of two runs is {inside:.2g} within a method and {between:.2g} between"]


def _shares(own: Sequence[Sample], peer: Sequence[Sample]) -> list[str]:
    """Return a doubt if the fast regimes can hardly be the same."""
    first, second = (
        float(np.median(regime_means(samples, 0)["share"].fill_null(0).to_numpy())) for samples in (peer, own)
    )
    if max(first, second) < _UNLIKE * min(first, second):
        return []
    return [f"the fast regimes hold {100 * first:.0f} % and {100 * second:.0f} % of the instances"]


def _doubt_fits(base: ClaimMethod, method: ClaimMethod) -> list[str]:
    for compared in (base, method):
        lines = [line for run in compared.runs for line in run.goodness.verdicts]
        bad = [line for line in lines if "bad model of regime 1:" in line]
        if 2 * len(bad) > len(compared.runs):
            return [f"{compared.name}: {bad[0]}"]
    return []


_INTERVAL = ("effective", "mean_low", "mean_high", *FASTER)
_CEILING = (
    "{} regimes, the largest number that was tried, still fit better than fewer, so no number is right"
    " for these times; --states N takes another number"
)
_ONE_RUN = (
    "note: this is about these runs only; for a statement about methods, name several runs of each:"
    " haloscope regimes A1 A2 -- B1 B2"
)


@dataclass(frozen=True)
class Results:
    """The results of all files, as tables and as sentences.

    `frame`: a row a file and regime, for the times of all ranks (docs/reference/regimes.md has the
    columns); `slowest`: the same for T^max, None if all files are single series. Of several files,
    `lines` are sentences that compare them, and `tests` Kolmogorov-Smirnov tests of all their times
    and of those in the fast regime. `analyses` hold the models and the decoded times, one a file.
    """

    frame: pl.DataFrame
    slowest: pl.DataFrame | None
    lines: list[str]
    tests: pl.DataFrame
    analyses: Sequence[RegimeAnalysis]

    def describe(self) -> list[str]:
        """Return the sentences for people: how each model was fitted, and differences."""
        several = len(self.analyses) > 1
        fitted = [
            f"{printable(analysis.name)}: {line}" if several else line
            for analysis in self.analyses
            for line in (*answer(analysis), *describe_fit(analysis))
        ]
        alone = _ONE_RUN in self.lines  # tests are about runs, not about methods
        tests = self.tests.filter(self.tests["regime"].is_null() & alone)
        return [*fitted, *self.lines, *(printable(_test_text(row)) for row in tests.to_dicts())]


def results_of(analyses: Sequence[RegimeAnalysis], methods: Sequence[int] | None = None) -> Results:
    """Return the tables and sentences of analyses, for the terminal and the page.

    `methods` has the method of each analysis, from 0; by default each is a method of its own.
    """
    views = [analysis.view for analysis in analyses]
    whole, slowest = [view.whole.sample for view in views], [view.slowest.sample for view in views]
    regions = [analysis.ranks.regimes.timings.region for analysis in analyses]
    groups = _group_methods(analyses, methods or range(len(analyses)))
    made = claims(groups) if len(groups) > 1 else []
    frame = regime_frame(whole, regions, max(view.regimes for view in views))
    regimes = max(view.slowest.regimes for view in views)
    several = any(analysis.has_several for analysis in analyses)
    other = regime_frame(slowest, regions, regimes) if several else None
    lines = [claim.text for claim in made]
    if made and len(groups) == len(analyses):
        lines.append(_ONE_RUN)
    compared = whole if len(whole) > 1 else []
    tests = pl.concat([compare_distributions(compared, regime) for regime in (None, 0)])
    kept = _drop_doubted(frame, made, groups) if len(analyses) > 1 else frame.drop(*FASTER)
    return Results(kept, other, lines, tests, tuple(analyses))


def _group_methods(analyses: Sequence[RegimeAnalysis], methods: Sequence[int]) -> list[ClaimMethod]:
    """Return the methods with their runs; the name is the common part of the runs' names."""
    runs = [
        [analysis for analysis, of in zip(analyses, methods, strict=True) if of == index]
        for index in range(max(methods) + 1)
    ]
    names = [group[0].name if len(group) == 1 else _common([run.name for run in group]) for group in runs]
    if len({*names, ""}) <= len(names):
        names = [f"method {index + 1}" for index in range(len(runs))]
    return [ClaimMethod(name, group) for name, group in zip(names, runs, strict=True)]


def _common(names: Sequence[str]) -> str:
    """Return the common begin of names, without the number behind it."""
    alike = takewhile(lambda column: len(set(column)) == 1, zip(*names, strict=False))
    return "".join(column[0] for column in alike).rstrip("-_. 0123456789")


def _drop_doubted(frame: pl.DataFrame, made: Sequence[Claim], groups: Sequence[ClaimMethod]) -> pl.DataFrame:
    """Return the table without comparisons that are in doubt, or of one run of several."""
    doubted = {claim.method for claim in made if claim.doubts}
    silent = [
        run.name for method in groups for run in method.runs if len(method.runs) > 1 or method.name in doubted
    ]
    keep = ~pl.col("file").is_in(silent)
    return frame.with_columns(pl.when(keep).then(pl.col(name)).alias(name) for name in FASTER)


def regime_frame(samples: Sequence[Sample], regions: Sequence[str | None], n: int) -> pl.DataFrame:
    """Return a row a sample and regime; `faster` and its interval compare with the first sample.

    Columns: `file`, `region`, those of `regime_table`, and `effective`, `mean_low`, `mean_high`, `faster`,
    `faster_low`, `faster_high` of `regime_means`. An empty regime has nulls.
    """
    means = {
        (row["name"], row["regime"]): {key: row[key] for key in _INTERVAL}
        for regime in range(n)
        for row in regime_means(samples, regime).to_dicts()
    }
    frames = []
    for sample, region in zip(samples, regions, strict=True):
        assert sample.states is not None
        table = regime_table(sample.durations, sample.states, n)
        rows = [{**row, **means[sample.name, row["regime"]]} for row in table.to_dicts()]
        kept = pl.DataFrame(rows, schema={**table.schema, **dict.fromkeys(_INTERVAL, pl.Float64)})
        named = kept.select(
            pl.lit(sample.name).alias("file"), pl.lit(region, pl.String).alias("region"), pl.all()
        )
        frames.append(named)
    return pl.concat(frames)


def fits(analyses: Sequence[RegimeAnalysis]) -> list[dict[str, Any]]:
    """Return how each model was fitted, a record each."""
    return [
        {"file": analysis.name, "series": name, "starts": analysis.options.starts, **_fit(found)}
        for analysis in analyses
        for name, found in analysis.series
    ]


def _fit(found: Fit) -> dict[str, Any]:
    model = found.regimes.model
    return {
        "regimes": model.n_regimes,
        "family": model.emission,
        "ranks": f"{len(found.fitted)} of {len(found.regimes.timings.ranks)}",
        "instances": max(len(row) for row in found.fitted),
        "iterations": model.n_iter_,
        "converged": model.converged_,
        "log_likelihood": model.log_likelihood_,
        **{name: getattr(model, name)(found.fitted) for name in ("aic", "bic", "icl")},
    }


def describe_fit(analysis: RegimeAnalysis) -> list[str]:
    """Return how a model was fitted, and problems of the fit."""
    ranks = analysis.series[0][1]
    lines = [_fit_text({"starts": analysis.options.starts, **_fit(ranks)}, analysis)]
    if analysis.machine is not None:
        lines += analysis.machine.describe()
    doubts = list_doubts(analysis)
    if doubts:
        more = len(doubts) - 1
        ends = [f"{noun_text(more, 'more doubt')} on the page: Does the model fit?"] if more else []
        if analysis.options.emission != AUTO and any("bad model" in line for line in doubts):
            ends.append("--emission auto may fit better")
        lines.append("; ".join([f"warning: {doubts[0]}", *ends]))
    notes = [note for _, found in analysis.series for note in found.regimes.timings.notes]
    lines += [f"note: {note}" for note in dict.fromkeys(notes)]
    return [printable(line) for line in lines]


def list_doubts(analysis: RegimeAnalysis) -> list[str]:
    """Return every doubt about the models of an analysis, those of the regimes' shapes first."""
    doubts = list(analysis.goodness.verdicts)
    for name, found in analysis.series:
        doubts += [f"{name}: {line}" for line in found.regimes.model.warnings_]
        if found.at_ceiling and found.curves is not None:
            doubts.append(f"{name}: {_CEILING.format(len(found.curves))}")
    return [printable(line) for line in doubts]


def _fit_text(row: dict[str, Any], analysis: RegimeAnalysis) -> str:
    chosen, criterion = "", analysis.options.states
    if isinstance(criterion, str):
        chosen = f", chosen by {'the elbow' if criterion == 'elbow' else criterion.upper()}"
    end = "converged after" if row["converged"] else "still rising after"
    return (
        f"{row['regimes']} {row['family']} regimes{chosen}, fitted on {row['ranks']}"
        f" rank{'' if row['ranks'] == '1' else 's'} ×"
        f" {row['instances']} instances; the best of {row['starts']} starts {end}"
        f" {row['iterations']} iterations"
    )


def _test_text(row: dict[str, Any]) -> str:
    numbers = (row[key] for key in ("statistic", "p_corrected", "p_plain"))
    distance, corrected, plain = ("unknown" if n is None else f"{n:.3g}" for n in numbers)
    times = "all times" if row["regime"] is None else "times in the fast regime"
    return (
        f"KS test of {times}, {row['first']} and {row['second']}: distance {distance},"
        f" p {corrected} corrected for dependence, {plain} plain"
    )
