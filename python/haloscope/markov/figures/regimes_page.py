"""One self-contained page about the regimes of one run, or of several runs that are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from haloscope.base.errors import HaloscopeError, printable
from haloscope.base.units import count_text, noun_text, percent_text, time_text
from haloscope.markov.analysis import (
    Decoded,
    RegimeAnalysis,
    RegimeOptions,
    RunTimings,
    fit_and_decode,
    resolve_emission,
)
from haloscope.markov.answer import answer
from haloscope.markov.figures.elements import Figure, Section, TimeUnit, unit_of
from haloscope.markov.figures.models import criteria, draw_machines, goodness_figures
from haloscope.markov.figures.over_time import heat_maps, median_ranks, slowest_ranks
from haloscope.markov.figures.page_tables import (
    check_table,
    episode_table,
    fit_table,
    regime_tables,
    test_table,
)
from haloscope.markov.figures.spread import boxes, functional_boxes, median_densities, sums, values
from haloscope.markov.profile_series import series_of, timings_of
from haloscope.markov.results import Results, describe_fit, fits, list_doubts, regime_frame
from haloscope.markov.timings import Timings
from haloscope.profile import Profile
from haloscope.profile.page import page, write_page

_SCRIPTS = ("sections.js", "regimes.js")
_MOST_EPISODES = 200
# Limits of a report: durations per region, and regions; larger cases need `haloscope regimes`.
_MOST_DURATIONS, _MOST_REGIONS = 1 << 22, 4
_ROWS, _COLUMNS = 128, 512  # the largest heat map in a report


def write_regimes_page(
    results: Results,
    output: Path,
    recorded: Sequence[str] = (),
    step: Callable[[str], None] = lambda what: None,
) -> None:
    """Write the page about `results` to `output`, which is replaced when it is whole.

    `recorded` names two values of the instances for a scatter plot. `step` is called with the name of each
    step. Raises `UsageError` if the values do not exist, `OutputError` if the page cannot be written.
    """
    analyses = results.analyses
    names = [printable(analysis.name) for analysis in analyses]
    title = f"Regimes of {', '.join(names)}"
    region = analyses[0].ranks.regimes.timings.region
    data = {
        "verb": "regimes",
        "title": title,
        "about": "" if region is None else f"region {printable(region)}",
        "notes": _notes(analyses),
        "figures": _key_figures(analyses),
        "sections": [section.as_json() for section in _sections(results, recorded, step)],
    }
    write_page(page("regimes.html", f"{title} – Haloscope", _SCRIPTS, data), output)


def _notes(analyses: Sequence[RegimeAnalysis]) -> list[str]:
    several = len(analyses) > 1
    return [
        f"{analysis.name}: {line}" if several else line
        for analysis in analyses
        for line in describe_fit(analysis)
        if line.startswith(("warning:", "note:"))
    ]


def _key_figures(analyses: Sequence[RegimeAnalysis]) -> list[tuple[str, str, str]]:
    """Return title, figure and remark of the key figures: of all runs, or of the only one."""
    if len(analyses) > 1:
        return [_fast(analysis, f"{analysis.name}: fast regime") for analysis in analyses]
    timings = analyses[0].ranks.regimes.timings
    hosts = len({host for host in timings.hosts if host is not None})
    where = f"on {noun_text(hosts, 'host')}" if hosts else "hosts unknown"
    most, states = int(timings.counts.max()), analyses[0].view.regimes
    return [
        ("ranks", count_text(len(timings.ranks)), where),
        ("instances", count_text(most), "of each rank" if timings.whole else "of a rank at most"),
        ("regimes", count_text(states), analyses[0].ranks.regimes.model.emission),
        _fast(analyses[0], "fast regime"),
    ]


def _fast(analysis: RegimeAnalysis, title: str) -> tuple[str, str, str]:
    timings, states = analysis.ranks.regimes.timings, analysis.ranks.regimes.states
    fast = states == 0
    count = int(timings.counts.sum())
    mean = float(timings.durations[fast].mean()) if fast.any() else None
    share = percent_text(int(fast.sum()), count)
    return printable(title), time_text(mean), f"mean; {share} of {count_text(count)}"


def _sections(results: Results, recorded: Sequence[str], step: Callable[[str], None]) -> list[Section]:
    analyses = results.analyses
    views = [analysis.view for analysis in analyses]
    unit = unit_of(float(np.nanmedian(views[0].medians)))
    parts: list[tuple[str, Callable[[], Section | list[Section] | None]]] = [
        ("answer", lambda: _answer(analyses)),
        ("tables", lambda: _tables(analyses, results)),
        ("tests", lambda: _comparison(results) if len(analyses) > 1 else None),
        ("values", lambda: values(views, recorded, unit) if recorded else None),
        ("heat maps", lambda: heat_maps(views)),
        ("machine", lambda: draw_machines(analyses)),
        ("times", lambda: median_ranks(views, unit)),
        ("times", lambda: slowest_ranks(views, unit)),
        ("episodes", lambda: _episodes(analyses)),
        ("box plots", lambda: boxes(views, unit)),
        ("sums", lambda: sums(views)),
        ("densities", lambda: median_densities(views, unit)),
        ("functional boxplots", lambda: functional_boxes(views, unit)),
        ("goodness of fit", lambda: _goodness(analyses, unit)),
        ("criteria", lambda: criteria(analyses)),
        ("fits", lambda: _fits(analyses)),
    ]
    sections: list[Section] = []
    for name, make in parts:
        step(name)
        made = make()
        sections += made if isinstance(made, list) else [made] if made else []
    return sections


def _answer(analyses: Sequence[RegimeAnalysis]) -> Section:
    several = len(analyses) > 1
    lines = [
        f"{analysis.name}: {line}" if several else line for analysis in analyses for line in answer(analysis)
    ]
    return Section("answer", "Time of the program, and of slow regimes", text=lines)


def _tables(analyses: Sequence[RegimeAnalysis], results: Results) -> Section:
    several = len(analyses) > 1
    what = "the series" if results.slowest is None else "all ranks"
    tables = [regime_tables(results.frame, several, f"Times of {what} by regime.", "Table 1")]
    if results.slowest is not None:
        caption = "Times of the slowest rank of each instance, T^max, by its own regimes."
        tables.append(regime_tables(results.slowest, several, caption))
    return Section("tables", "Regimes", tables=tables)


def _goodness(analyses: Sequence[RegimeAnalysis], unit: TimeUnit) -> Section:
    figures: list[Figure] = []
    lines = []
    several = len(analyses) > 1
    for analysis in analyses:
        figures += goodness_figures(analysis.goodness, analysis.name if several else "", unit)
        lines += [f"{analysis.name}: {line}" if several else line for line in list_doubts(analysis)]
    table = check_table([(analysis.name, analysis.goodness.checks) for analysis in analyses])
    texts = lines or ["No check rejects the model."]
    return Section("goodness", "Does the model fit?", figures, [table], texts, columns=3)


def _fits(analyses: Sequence[RegimeAnalysis]) -> Section:
    table = fit_table(fits(analyses), len(analyses) > 1)
    return Section("fits", "How the models were fitted", tables=[table])


def _comparison(results: Results) -> Section:
    return Section("comparison", "What differs", text=results.lines, tables=[test_table(results.tests)])


def _episodes(analyses: Sequence[RegimeAnalysis]) -> Section | None:
    frame = pl.concat(analysis.episodes.with_columns(file=pl.lit(analysis.name)) for analysis in analyses)
    if not len(frame):
        return None
    table = episode_table(frame, len(analyses) > 1, _MOST_EPISODES)
    return Section("episodes", "Slow episodes", tables=[table])


def report_sections(profile: Profile) -> list[dict[str, Any]]:
    """Return a section per region with a series, in the form for the page."""
    regions = series_of(profile)
    sections = []
    for number, region in enumerate(regions):
        title = f"Regimes of {printable(region)}"
        name = f"regimes-{number}"
        try:
            timings = timings_of(profile, region)
            if number >= _MOST_REGIONS or timings.counts.sum() > _MOST_DURATIONS:
                hint = f"See haloscope regimes {printable(profile.path.name)} --region REGION"
                made = [Section(name, title, text=[f"{timings.counts.sum()} durations. {hint}"])]
            else:
                made = _series_sections(timings, name, title)
        except HaloscopeError as error:
            made = [Section(name, title, text=[str(error)])]
        sections += made
    return [section.as_json() for section in sections]


def _series_sections(timings: Timings, name: str, title: str) -> list[Section]:

    emission = resolve_emission([timings], RegimeOptions())
    fit = fit_and_decode(timings, RegimeOptions(emission=emission))
    whole = Decoded.from_regimes(fit.regimes)
    view = RunTimings(whole, whole, fit.regimes.training)
    unit = unit_of(float(np.nanmedian(view.medians)))
    frame = regime_frame([whole.sample], [timings.region], view.regimes)
    table = regime_tables(frame, False, "Times of all ranks by regime.")
    first = median_ranks([view], unit) or slowest_ranks([view], unit)
    notes = [f"Note: {note}" for note in (*fit.regimes.model.warnings_, *timings.notes)]
    heat = heat_maps([view], _ROWS, _COLUMNS)
    made = [replace(first, name=name, title=title, tables=[table], text=notes)]
    return made + (
        [replace(heat, name=f"{name}-heat", title=f"{title}: slow ranks over time")] if heat else []
    )
