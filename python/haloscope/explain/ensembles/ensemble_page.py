"""The page of an ensemble: scaling of regions, their messages, and the dominant region at scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import polars as pl

from haloscope.base.errors import UsageError, printable
from haloscope.base.units import count_text, noun_text, percent_text, time_text
from haloscope.explain.ensembles.dominant_regions import describe_predictions, dominance
from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.explain.ensembles.ensemble_tables import (
    laws_table,
    runs_table,
    scaling_table,
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
from haloscope.explain.ensembles.view import EnsembleView, add_axis_columns, column_title
from haloscope.markov.figures import Section
from haloscope.profile.page import page, write_page
from haloscope.profile.store import PROGRAM, region_text

_SCRIPTS = ("sections.js", "ensemble.js")
# Limits of a page, so that a browser shows it without delay.
_MOST_REGIONS = 24
_MOST_INSIDE = 7
_MOST_FAMILIES = 3
_TRAFFIC = (
    *("sends_a_rank", "most_bytes", "collectives"),
    *("mean_send", "largest_send", "sources"),
    *("bandwidth", "message_rate", "mpi_time"),
)
_OF_LEVELS = ("time", "most_bytes", "sources", "largest_send")


@dataclass(frozen=True)
class PageHead:
    """What a page about many runs begins with, if they are of a campaign: it precedes the scaling."""

    verb: str
    title: str
    figures: Sequence[tuple[str, str, str]]
    sections: Sequence[Section]


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
    head: PageHead | None = None,
) -> None:
    """Write the page to `output`, which is replaced atomically.

    Args:
        ensemble: The runs.
        output: HTML file to write.
        machine: Speed of the machine, for the figure of message sizes.
        against: Column of the runs for the x axis.
        by: Column of the runs that separates series.
        head: What precedes the scaling.

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
    scaled = efficiency(ensemble, by=by)
    regions = [
        {"name": region_text(path), "sections": _make_region_sections(ensemble, path, paths, machine, chosen)}
        for path in paths
    ]
    whole = [*_make_program_sections(ensemble, scaled, machine, chosen)]
    runs = ensemble.runs
    programs = [printable(name or "unknown program") for name in runs["program"].unique(maintain_order=True)]
    title = f"{', '.join(programs)} ({noun_text(len(runs), 'run')})"
    if head is None:
        head = PageHead("report", title, (), ())
    data = {
        "verb": head.verb,
        "title": head.title,
        "about": f"{noun_text(len(runs), 'run')} on {_span_text(runs['run_ranks'], _ranks_text)}"
        + ("" if against == "run_ranks" else f", by {column_title(against)}"),
        "notes": [printable(line) for line in list_remarks(ensemble, against, by)],
        "figures": head.figures or _list_key_figures(rows, scaled.frame),
        "sections": [section.as_json() for section in (*head.sections, *whole)],
        "regions": regions,
    }
    write_page(
        page("ensemble.html", f"{head.title} – Haloscope", _SCRIPTS, _replace_infinite(data), "explain"),
        output,
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


def _list_key_figures(rows: pl.DataFrame, scaled: pl.DataFrame) -> list[tuple[str, str, str]]:
    whole = rows.filter(path=PROGRAM)
    ranks = whole["run_ranks"]
    on_ranks = _span_text(ranks.filter(ranks == ranks.max()), _ranks_text)
    most = whole.filter(pl.col("run_ranks") == ranks.max()) if len(whole) else whole
    share = percent_text(_mean_of(most["mpi_time_mean"]), _mean_of(most["time_mean"]))
    return [
        *_list_speedups(scaled),
        ("time", time_text(_mean_of(most["time_mean"])), f"per rank, on {on_ranks}"),
        ("in MPI", share, f"on {on_ranks}"),
        ("runs", count_text(len(whole)), f"on {_span_text(ranks, _ranks_text)}"),
    ]


def _list_speedups(scaled: pl.DataFrame) -> list[tuple[str, str, str]]:
    """Return speed-up and efficiencies of the largest run; none for several series or one number of ranks."""
    if scaled["series"].n_unique() != 1 or len(scaled) < 2:
        return []
    first, last = scaled.row(0, named=True), scaled.row(-1, named=True)
    return [
        (
            "speed-up",
            f"{last['speedup']:.2f}",
            f"from {first['run_ranks']} to {_ranks_text(last['run_ranks'])}",
        ),
        ("efficiency, strong", percent_text(last["strong"], 1.0), "if all runs do the same work"),
        ("efficiency, weak", percent_text(last["weak"], 1.0), "if the work grows with the ranks"),
    ]


def _mean_of(values: pl.Series) -> float | None:
    mean = values.mean()
    return float(mean) if isinstance(mean, int | float) else None


def _make_program_sections(
    ensemble: Ensemble, scaled: EnsembleView, machine: Speeds | None, chosen: _Chosen
) -> Iterator[Section]:
    by = chosen["by"]
    growth = dominance(ensemble, by=by)
    grown, sent = laws(ensemble, **chosen), totals(ensemble, **chosen)
    parts = shares(ensemble, **chosen)
    if len(scaled.frame):
        table = scaling_table(scaled.frame, by)
        yield Section("scaling", "Speed-up and efficiency", _collect_figures(scaled, parts), [table])
    models = laws_table(grown.frame, by)
    lines = describe_predictions(growth.frame, grown.frame["series"].unique(maintain_order=True))
    yield Section(
        "laws",
        "Scaling models",
        figures=_collect_figures(growth, grown),
        tables=[models] if models.rows else [],
        text=[printable(line) for line in lines],
    )
    table = totals_table(sent.frame, chosen["against"], by)
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
        table = sizes_table(sizes.frame, chosen["against"], chosen["by"])
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
