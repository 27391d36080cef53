"""Remarks on an ensemble: runs that are left out, and runs that do not belong together."""

from __future__ import annotations

import polars as pl

from haloscope.base.units import noun_text
from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.profile import RUN_COLUMNS
from haloscope.profile.store import PROGRAM

_MOST_NAMED = 8


def list_remarks(ensemble: Ensemble, against: str = "run_ranks", by: str = "program") -> list[str]:
    """Return a sentence per problem of an ensemble, unreadable files first."""
    runs = ensemble.runs
    lines = [f"left out: {line}" for line in ensemble.skipped]
    lacking = runs.filter(pl.col("missing_ranks") > 0)
    lines += [
        f"left out of all figures: {row['profile']}: {row['missing_ranks']} of"
        f" {noun_text(row['run_ranks'], 'rank')} {'is' if row['missing_ranks'] == 1 else 'are'} missing"
        for row in lacking.to_dicts()
    ]
    if silent := runs.filter(runs[against].is_null())["profile"].to_list():
        lines.append(f"left out: runs without a value of {against}: {_names_text(silent)}")
    programs = runs.group_by("program", maintain_order=True).agg(pl.len())
    if len(programs) > 1:
        names = ", ".join(
            f"{program or 'unknown'} ({noun_text(count, 'run')})" for program, count in programs.iter_rows()
        )
        lines.append(f"runs of different programs: {names}")
    return [*lines, *_find_differing_columns(runs, against, by), *_list_silent_runs(ensemble, runs)]


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
    return [f"treated as repetitions: runs of equal {against} that differ in {', '.join(differ)}; see --by"]


def _list_silent_runs(ensemble: Ensemble, runs: pl.DataFrame) -> list[str]:
    lines = []
    alone = runs.filter(pl.col("run_ranks") == 1)["profile"].to_list()
    if alone:
        lines.append(f"one rank, so there is no communication: {_names_text(alone)}")
    whole = ensemble.with_paths("regions").filter(path=PROGRAM)
    silent = (whole["sends_total"] == 0) & (whole["colls_total"] == 0)
    quiet = whole.filter(silent & (whole["run_ranks"] > 1))["profile"].to_list()
    if quiet:
        lines.append(f"no messages and no collectives: {_names_text(quiet)}")
    return lines


def _names_text(profiles: list[str]) -> str:
    more = f", … ({len(profiles)} in all)" if len(profiles) > _MOST_NAMED else ""
    return ", ".join(profiles[:_MOST_NAMED]) + more
