"""One self-contained page about many runs: how regions scale, what they send, and what dominates at last."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict

import polars as pl

from haloscope.base.errors import UsageError, printable
from haloscope.base.units import count_text, percent_text, time_text
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
from haloscope.explain.ensembles.oddities import remarks
from haloscope.explain.ensembles.region_families import families, levels
from haloscope.explain.ensembles.scaling import efficiency, over, shares, totals
from haloscope.explain.ensembles.view import EnsembleView, add_axis_columns
from haloscope.markov.figures import Section
from haloscope.profile.page import page, write_page
from haloscope.profile.store import PROGRAM, region_text

_SCRIPTS = ("sections.js", "ensemble.js")
# What stands on a page, so that it stays one that a browser shows at once.
_MOST_REGIONS = 24
_MOST_INSIDE = 7
_MOST_FAMILIES = 3
# Percent that a law may be off, until the page warns of it.
_MOST_ERROR = 20
_TRAFFIC = (
    *("sends_a_rank", "most_bytes", "collectives"),
    *("mean_send", "largest_send", "sources"),
    *("bandwidth", "message_rate", "mpi_time"),
)
_OF_LEVELS = ("time", "most_bytes", "sources", "largest_send")


class _Chosen(TypedDict):
    """Columns of the runs: what figures are against, and what they tell apart."""

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
    """Write the page to `output`, which is replaced when it is whole.

    Raises `ProfileError` if no profile can be read, `UsageError` for a column that no run has, `OutputError`.
    """
    rows = add_axis_columns(ensemble, ensemble.with_paths("regions"), against, by)
    if not len(rows):
        raise UsageError(f"no whole run says what its {against} is; name another column of the runs")
    paths = _paths(rows)
    chosen = _Chosen(against=against, by=by)
    growth = dominance(ensemble, by=by)
    regions = [
        {"name": region_text(path), "sections": _of_region(ensemble, path, paths, machine, chosen)}
        for path in paths
    ]
    whole = [*_program_sections(ensemble, growth, machine, chosen)]
    runs = ensemble.runs
    programs = [printable(name or "unknown program") for name in runs["program"].unique(maintain_order=True)]
    title = f"{', '.join(programs)} ({len(runs)} runs)"
    data = {
        "title": title,
        "about": f"{len(runs)} runs on {_span(runs['run_ranks'])} ranks, against {printable(against)}",
        "notes": [printable(line) for line in remarks(ensemble, against, by)],
        "figures": _key_figures(rows, growth, by),
        "sections": [section.as_json() for section in whole],
        "regions": regions,
    }
    write_page(page("ensemble.html", f"{title} – Haloscope", _SCRIPTS, _finite(data), "explain"), output)


def _finite(value: Any) -> Any:
    """Return what a page carries with null for what overflowed, as JSON has no infinity."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _paths(rows: pl.DataFrame) -> list[str]:
    """Return the regions that took most time, the program first."""
    sums = rows.group_by("path").agg(pl.col("time_mean").sum())
    times = sums.sort("time_mean", "path", descending=[True, False])
    first = [path for path in times["path"] if path == PROGRAM]
    return [*first, *(path for path in times["path"] if path != PROGRAM)][:_MOST_REGIONS]


def _span(ranks: pl.Series) -> str:
    known = ranks.drop_nulls().unique().sort().to_list()
    return "–" if not known else f"{known[0]} to {known[-1]}" if len(known) > 1 else f"{known[0]}"


def _key_figures(rows: pl.DataFrame, growth: EnsembleView, by: str) -> list[tuple[str, str, str]]:
    whole = rows.filter(path=PROGRAM)
    ranks = whole["run_ranks"]
    largest = _span(ranks.filter(ranks == ranks.max()))
    most = whole.filter(pl.col("run_ranks") == ranks.max()) if len(whole) else whole
    share = percent_text(_mean(most["mpi_time_mean"]), _mean(most["time_mean"]))
    figures = [
        ("runs", count_text(len(whole)), f"{rows['series'].n_unique()} different in {by}"),
        ("ranks", _span(ranks), f"{ranks.n_unique()} different numbers"),
        ("regions", count_text(rows["path"].n_unique()), "of all runs together"),
        ("time", time_text(_mean(most["time_mean"])), f"a rank, on {largest} ranks"),
        ("in MPI", share, f"on {largest} ranks"),
    ]
    far = growth.frame.filter(pl.col("times") == 100).head(1).to_dicts()
    return figures + [
        (f"at {count_text(row['run_ranks'])} ranks", _percent(row["share"]), f"in {region_text(row['path'])}")
        for row in far
    ]


def _percent(share: float | None) -> str:
    return percent_text(share, 1.0)


def _mean(values: pl.Series) -> float | None:
    mean = values.mean()
    return float(mean) if isinstance(mean, int | float) else None


def _program_sections(
    ensemble: Ensemble, growth: EnsembleView, machine: Speeds | None, chosen: _Chosen
) -> Iterator[Section]:
    grown, sent = laws(ensemble, **chosen), totals(ensemble, **chosen)
    yield Section("answer", "What grows", figures=_drawn(growth), text=list(_answer(growth, grown)))
    yield Section("laws", "Laws of growth", figures=_drawn(grown), tables=[laws_table(grown.frame)])
    table = totals_table(sent.frame, chosen["against"])
    yield Section("totals", "Sent by all ranks", figures=_drawn(sent), tables=[table])
    if machine is not None:
        alone = speed_classes(machine)
        yield Section("machine", "The machine", figures=_drawn(alone), tables=[speeds_table(alone.frame)])
    for number, family in enumerate(_largest_families(ensemble)):
        drawn = [levels(ensemble, family, quantity, **chosen) for quantity in _OF_LEVELS]
        title = f"Levels of {region_text(family)}"
        yield Section(f"family-{number}", title, figures=_drawn(*drawn), columns=2)
    yield Section("runs", "Runs", tables=[runs_table(ensemble.runs)])


def _largest_families(ensemble: Ensemble) -> list[str]:
    times = ensemble.with_paths("regions").group_by("path").agg(time=pl.col("time_mean").sum())
    known = families(ensemble).join(times, on="path").group_by("family").agg(pl.col("time").sum())
    names: list[str] = known.sort("time", "family", descending=[True, False])["family"].to_list()
    return names[:_MOST_FAMILIES]


def _drawn(*views: EnsembleView) -> list[Any]:
    return [view.drawn for view in views if view.drawn is not None]


def _answer(growth: EnsembleView, grown: EnsembleView) -> Iterator[str]:
    """Return what a person has to know first, in sentences."""
    beyond = growth.frame.filter(pl.col("times") > 1)
    for (series, times), rows in beyond.group_by(["series", "times"], maintain_order=True):
        first = rows.row(0, named=True)
        sure = "how sure that is, only repeated runs can tell"
        if first["probability"] is not None:
            low, high = (_percent(first[name]) for name in ("share_low", "share_high"))
            surely = _percent(first["probability"])
            sure = f"[{low}, {high}]; the first with probability {surely}"
        place, share = region_text(first["path"]), _percent(first["share"])
        ranks = f"{count_text(first['run_ranks'])} ranks ({times} times as many)"
        yield f"{series}, on {ranks}: {share} of the time would be in {place} itself, {sure}.{_doubt(first)}"
    known = set(growth.frame["series"])
    for series in grown.frame["series"].unique(maintain_order=True):
        if series not in known:
            yield f"{series}: fewer than five numbers of ranks, so nothing is said of more ranks."


def _doubt(first: dict[str, Any]) -> str:
    error = first["error"]
    return (
        f" But its law is {error:.0f} % off for points that it does not know." if error > _MOST_ERROR else ""
    )


def _of_region(
    ensemble: Ensemble, path: str, paths: Sequence[str], machine: Speeds | None, chosen: _Chosen
) -> list[dict[str, Any]]:
    inside = [other for other in paths if _is_inside(other, path)][:_MOST_INSIDE]
    times = over(ensemble, "time", [path, *inside], **chosen)
    parts = shares(ensemble, path, **chosen)
    scaled = efficiency(ensemble, path, by=chosen["by"])
    traffic = [over(ensemble, quantity, [path], **chosen) for quantity in _TRAFFIC]
    sent = bool(ensemble.with_paths("regions").filter(path=path)["sends_total"].sum())
    sections = [
        Section("times", "Time", figures=_drawn(times, parts), columns=2),
        Section("efficiency", "Scaling", figures=_drawn(scaled)),
    ]
    if sent:
        sizes = size_classes(ensemble, path, machine=machine, **chosen)
        table = sizes_table(sizes.frame, chosen["against"])
        maps = time_maps(ensemble, path, by=chosen["by"])
        sections += [
            Section("traffic", "Messages", figures=_drawn(*traffic), columns=3),
            Section("sizes", "Sizes", figures=_drawn(sizes), tables=[table]),
            Section("maps", "Who with whom", figures=_drawn(maps)),
        ]
    return [section.as_json() for section in sections if section.figures or section.tables]


def _is_inside(path: str, region: str) -> bool:
    """Return whether a region is nested directly in another one."""
    if path == PROGRAM:
        return False
    above = "" if region == PROGRAM else f"{region}/"
    # A slash of a name stands behind a backslash.
    return path.startswith(above) and "/" not in path[len(above) :].replace("\\/", "")
