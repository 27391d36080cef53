"""The page of an ensemble: scaling of regions, their messages, and the dominant region at scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict

import polars as pl

from haloscope.base.errors import UsageError, printable
from haloscope.base.units import count_text, noun_text, percent_text, time_text
from haloscope.explain.ensembles.dominant_regions import dominance
from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.explain.ensembles.ensemble_tables import (
    laws_table,
    runs_table,
    sizes_table,
    speeds_table,
    totals_table,
)
from haloscope.explain.ensembles.growth import laws
from haloscope.explain.ensembles.message_maps import time_maps
from haloscope.explain.ensembles.message_sizes import Speeds, size_classes, speed_classes
from haloscope.explain.ensembles.oddities import list_remarks
from haloscope.explain.ensembles.region_families import families, levels
from haloscope.explain.ensembles.scaling import efficiency, over, shares, totals
from haloscope.explain.ensembles.view import EnsembleView, add_axis_columns
from haloscope.markov.figures import Section
from haloscope.profile.page import page, write_page
from haloscope.profile.store import PROGRAM, region_text

_SCRIPTS = ("sections.js", "ensemble.js")
# Limits of a page, so that a browser shows it without delay.
_MOST_REGIONS = 24
_MOST_INSIDE = 7
_MOST_FAMILIES = 3
# Error of a scaling model (percent) from which on the page warns.
_MOST_ERROR = 20
_TRAFFIC = (
    *("sends_a_rank", "most_bytes", "collectives"),
    *("mean_send", "largest_send", "sources"),
    *("bandwidth", "message_rate", "mpi_time"),
)
_OF_LEVELS = ("time", "most_bytes", "sources", "largest_send")


class _Chosen(TypedDict):
    """Columns of the runs: the x axis of figures, and the column that separates series."""

    against: str
    by: str


def write_ensemble_page(
    ensemble: Ensemble,
    output: Path,
    *,
    machine: Speeds | None = None,
    against: str = "run_ranks",
    by: str = "program",
) -> None:
    """Write the page to `output`, which is replaced atomically.

    Args:
        ensemble: The runs.
        output: HTML file to write.
        machine: Speed of the machine, for the figure of message sizes.
        against: Column of the runs for the x axis.
        by: Column of the runs that separates series.

    Raises:
        ProfileError: No profile can be read.
        UsageError: No run has the column `against` or `by`.
        OutputError: `output` cannot be written.
    """
    rows = add_axis_columns(ensemble, ensemble.with_paths("regions"), against, by)
    if not len(rows):
        raise UsageError(f"no complete run has the column {against}; choose another column of the runs")
    paths = _largest_regions(rows)
    chosen = _Chosen(against=against, by=by)
    growth = dominance(ensemble, by=by)
    regions = [
        {"name": region_text(path), "sections": _make_region_sections(ensemble, path, paths, machine, chosen)}
        for path in paths
    ]
    whole = [*_make_program_sections(ensemble, growth, machine, chosen)]
    runs = ensemble.runs
    programs = [printable(name or "unknown program") for name in runs["program"].unique(maintain_order=True)]
    title = f"{', '.join(programs)} ({noun_text(len(runs), 'run')})"
    data = {
        "title": title,
        "about": f"{noun_text(len(runs), 'run')} on {_span_text(runs['run_ranks'], _ranks_text)}, by"
        f" {printable(against)}",
        "notes": [printable(line) for line in list_remarks(ensemble, against, by)],
        "figures": _list_key_figures(rows, growth, by),
        "sections": [section.as_json() for section in whole],
        "regions": regions,
    }
    write_page(
        page("ensemble.html", f"{title} – Haloscope", _SCRIPTS, _replace_infinite(data), "explain"), output
    )


def _replace_infinite(value: Any) -> Any:
    """Return the data of a page with null for infinite values, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _replace_infinite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_infinite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _largest_regions(rows: pl.DataFrame) -> list[str]:
    """Return the regions with most time, the program first."""
    sums = rows.group_by("path").agg(pl.col("time_mean").sum())
    times = sums.sort("time_mean", "path", descending=[True, False])
    first = [path for path in times["path"] if path == PROGRAM]
    return [*first, *(path for path in times["path"] if path != PROGRAM)][:_MOST_REGIONS]


def _span_text(ranks: pl.Series, text: Callable[[float | None], str] = count_text) -> str:
    known = ranks.drop_nulls().unique().sort().to_list() or [None]
    return f"{known[0]} to {text(known[-1])}" if len(known) > 1 else text(known[0])


def _ranks_text(count: float | None) -> str:
    return noun_text(count, "rank")


def _list_key_figures(rows: pl.DataFrame, growth: EnsembleView, by: str) -> list[tuple[str, str, str]]:
    whole = rows.filter(path=PROGRAM)
    ranks = whole["run_ranks"]
    on_ranks = _span_text(ranks.filter(ranks == ranks.max()), _ranks_text)
    most = whole.filter(pl.col("run_ranks") == ranks.max()) if len(whole) else whole
    share = percent_text(_mean_of(most["mpi_time_mean"]), _mean_of(most["time_mean"]))
    figures = [
        ("runs", count_text(len(whole)), f"{rows['series'].n_unique()} values of {by}"),
        ("ranks", _span_text(ranks), f"{ranks.n_unique()} different numbers"),
        ("regions", count_text(rows["path"].n_unique()), "in all runs"),
        ("time", time_text(_mean_of(most["time_mean"])), f"per rank, on {on_ranks}"),
        ("in MPI", share, f"on {on_ranks}"),
    ]
    far = growth.frame.filter(pl.col("times") == 100).head(1).to_dicts()
    return figures + [
        (
            f"at {_ranks_text(row['run_ranks'])}",
            _percent_of_one(row["share"]),
            f"in {region_text(row['path'])}",
        )
        for row in far
    ]


def _percent_of_one(share: float | None) -> str:
    return percent_text(share, 1.0)


def _mean_of(values: pl.Series) -> float | None:
    mean = values.mean()
    return float(mean) if isinstance(mean, int | float) else None


def _make_program_sections(
    ensemble: Ensemble, growth: EnsembleView, machine: Speeds | None, chosen: _Chosen
) -> Iterator[Section]:
    grown, sent = laws(ensemble, **chosen), totals(ensemble, **chosen)
    yield Section(
        "answer", "Predictions", figures=_collect_figures(growth), text=list(_list_answers(growth, grown))
    )
    yield Section("laws", "Scaling models", figures=_collect_figures(grown), tables=[laws_table(grown.frame)])
    table = totals_table(sent.frame, chosen["against"])
    yield Section("totals", "Sent by all ranks", figures=_collect_figures(sent), tables=[table])
    if machine is not None:
        alone = speed_classes(machine)
        yield Section(
            "machine", "The machine", figures=_collect_figures(alone), tables=[speeds_table(alone.frame)]
        )
    for number, family in enumerate(_find_largest_families(ensemble)):
        drawn = [levels(ensemble, family, quantity, **chosen) for quantity in _OF_LEVELS]
        title = f"Levels of {region_text(family)}"
        yield Section(f"family-{number}", title, figures=_collect_figures(*drawn), columns=2)
    yield Section("runs", "Runs", tables=[runs_table(ensemble.runs)])


def _find_largest_families(ensemble: Ensemble) -> list[str]:
    times = ensemble.with_paths("regions").group_by("path").agg(time=pl.col("time_mean").sum())
    known = families(ensemble).join(times, on="path").group_by("family").agg(pl.col("time").sum())
    names: list[str] = known.sort("time", "family", descending=[True, False])["family"].to_list()
    return names[:_MOST_FAMILIES]


def _collect_figures(*views: EnsembleView) -> list[Any]:
    return [view.drawn for view in views if view.drawn is not None]


def _list_answers(growth: EnsembleView, grown: EnsembleView) -> Iterator[str]:
    """Yield the main results as sentences."""
    beyond = growth.frame.filter(pl.col("times") > 1)
    for (series, times), rows in beyond.group_by(["series", "times"], maintain_order=True):
        first = rows.row(0, named=True)
        sure = "without an interval, as no number of ranks was repeated"
        if first["probability"] is not None:
            low, high = (_percent_of_one(first[name]) for name in ("share_low", "share_high"))
            likely = _percent_of_one(first["probability"])
            sure = f"[{low}, {high}]; it is the largest with probability {likely}"
        region, share = region_text(first["path"]), _percent_of_one(first["share"])
        ranks = f"on {_ranks_text(first['run_ranks'])} ({times} times the largest run)"
        yield f"{series}, {ranks}: predicted share of {region} itself: {share}, {sure}.{_error_text(first)}"
    known = set(growth.frame["series"])
    for series in grown.frame["series"].unique(maintain_order=True):
        if series not in known:
            yield f"{series}: fewer than five numbers of ranks, so there is no prediction for more ranks."


def _error_text(first: dict[str, Any]) -> str:
    error = first["error"]
    return f" The error of its model in cross-validation is {error:.0f} %." if error > _MOST_ERROR else ""


def _make_region_sections(
    ensemble: Ensemble, path: str, paths: Sequence[str], machine: Speeds | None, chosen: _Chosen
) -> list[dict[str, Any]]:
    inside = [other for other in paths if _is_inside(other, path)][:_MOST_INSIDE]
    times = over(ensemble, "time", [path, *inside], **chosen)
    parts = shares(ensemble, path, **chosen)
    scaled = efficiency(ensemble, path, by=chosen["by"])
    traffic = [over(ensemble, quantity, [path], **chosen) for quantity in _TRAFFIC]
    sent = bool(ensemble.with_paths("regions").filter(path=path)["sends_total"].sum())
    sections = [
        Section("times", "Time", figures=_collect_figures(times, parts), columns=2),
        Section("efficiency", "Scaling", figures=_collect_figures(scaled)),
    ]
    if sent:
        sizes = size_classes(ensemble, path, machine=machine, **chosen)
        table = sizes_table(sizes.frame, chosen["against"])
        maps = time_maps(ensemble, path, by=chosen["by"])
        sections += [
            Section("traffic", "Messages", figures=_collect_figures(*traffic), columns=3),
            Section("sizes", "Sizes", figures=_collect_figures(sizes), tables=[table]),
            Section("maps", "Partners", figures=_collect_figures(maps)),
        ]
    return [section.as_json() for section in sections if section.figures or section.tables]


def _is_inside(path: str, region: str) -> bool:
    """Return whether a region is nested directly in `region`."""
    if path == PROGRAM:
        return False
    above = "" if region == PROGRAM else f"{region}/"
    # A slash in a name is escaped by a backslash.
    return path.startswith(above) and "/" not in path[len(above) :].replace("\\/", "")
