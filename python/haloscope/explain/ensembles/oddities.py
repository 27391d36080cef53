"""Remarks on an ensemble: runs that are left out, and runs that do not belong together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from haloscope.base.files import shorten_paths
from haloscope.base.units import noun_text
from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.explain.ensembles.view import column_title
from haloscope.explain.findings import crowding_text, find_crowded_host
from haloscope.profile import RUN_COLUMNS
from haloscope.profile.store import PROGRAM

_MOST_NAMED = 8


def list_remarks(ensemble: Ensemble, against: str = "run_ranks", by: str = "program") -> list[str]:
    """Return a sentence per problem of an ensemble, unreadable files first.

    Profiles are named without the directory that all of them share.
    """
    runs = ensemble.runs
    short = dict(zip(map(str, ensemble.paths), shorten_paths(map(str, ensemble.paths)), strict=True))
    runs = runs.with_columns(pl.col("profile").replace_strict(short, default=pl.col("profile")))
    lines = [f"left out: {_shorten_line(line, short)}" for line in ensemble.skipped]
    lacking = runs.filter(pl.col("missing_ranks") > 0)
    lines += [
        f"left out of all figures: {row['profile']}: {row['missing_ranks']} of"
        f" {noun_text(row['run_ranks'], 'rank')} {'is' if row['missing_ranks'] == 1 else 'are'} missing"
        for row in lacking.to_dicts()
    ]
    if silent := runs.filter(runs[against].is_null())["profile"].to_list():
        lines.append(f"left out: runs without a value of {column_title(against)}: {_names_text(silent)}")
    programs = runs.group_by("program", maintain_order=True).agg(pl.len())
    if len(programs) > 1:
        names = ", ".join(
            f"{program or 'unknown'} ({noun_text(count, 'run')})" for program, count in programs.iter_rows()
        )
        lines.append(f"runs of different programs: {names}")
    lines += _describe_crowding(ensemble)
    whole = ensemble.with_paths("regions").filter(path=PROGRAM)
    whole = whole.with_columns(pl.col("profile").replace_strict(short, default=pl.col("profile")))
    return [*lines, *_find_differing_columns(runs, against, by), *_list_silent_runs(whole)]


def _shorten_line(line: str, short: Mapping[str, str]) -> str:
    """Return an error without the directory of its file."""
    return next(
        (name + line.removeprefix(path) for path, name in short.items() if line.startswith(path)), line
    )


def _describe_crowding(ensemble: Ensemble) -> list[str]:
    """Return a remark on ranks that shared CPUs, from one run per number of ranks."""
    counts = ensemble.runs.unique("run_ranks", keep="first", maintain_order=True)
    found = ensemble.each(
        [Path(path) for path in counts["profile"]],
        lambda profiles: [(profile.info.get("ranks"), find_crowded_host(profile)) for profile in profiles],
    )
    crowded = [(ranks, host) for ranks, host in found if host]
    if not crowded:
        return []
    least = min(ranks for ranks, _ in crowded)
    worst = max((host for _, host in crowded), key=lambda host: float(host[1] / host[2]))
    where = f"times on {noun_text(least, 'rank')} and more"
    return [f"{crowding_text(worst)}: counts are exact, but {where} do not show how the program scales"]


def _find_differing_columns(runs: pl.DataFrame, against: str, by: str) -> list[str]:
    """Return a remark on columns that differ between runs that are treated as repetitions.

    Only columns with repeated values count, as those of a grid of cases; results differ in each run.
    """
    known = {*RUN_COLUMNS, "missing_ranks", against, by}
    texts = [name for name in runs.columns if name not in known and "." not in name]
    grid = [name for name in texts if 1 < runs[name].n_unique() <= len(runs) // 2]
    # The names are our own, because Polars takes some names for patterns.
    points = pl.DataFrame({"x": runs[against], "series": runs[by]})
    differ = []
    for name in grid:
        values = (
            points.with_columns(runs[name].alias("value"))
            .group_by("x", "series")
            .agg(pl.col("value").n_unique())
        )
        if values["value"].max() != 1:
            differ.append(name)
    if not differ:
        return []
    same = f"runs of equal {column_title(against)}"
    return [f"treated as repetitions: {same} that differ in {', '.join(differ)}; see --by"]


def _list_silent_runs(whole: pl.DataFrame) -> list[str]:
    silent = (whole["sends_total"] == 0) & (whole["colls_total"] == 0)
    quiet = whole.filter(silent & (whole["run_ranks"] > 1))["profile"].to_list()
    return [f"no messages and no collectives: {_names_text(quiet)}"] if quiet else []


def _names_text(profiles: list[str]) -> str:
    more = f", … ({len(profiles)} in all)" if len(profiles) > _MOST_NAMED else ""
    return ", ".join(profiles[:_MOST_NAMED]) + more
