"""What a reader has to know before an ensemble's numbers: who is left out, what does not go together."""

from __future__ import annotations

import polars as pl

from haloscope.explain.ensembles.ensemble import Ensemble
from haloscope.profile import RUN_COLUMNS
from haloscope.profile.store import PROGRAM

_MOST_NAMED = 8


def remarks(ensemble: Ensemble, against: str = "run_ranks", by: str = "program") -> list[str]:
    """Return a sentence for each thing that is odd about an ensemble, the files that cannot be read first."""
    runs = ensemble.runs
    lines = [f"left out: {line}" for line in ensemble.skipped]
    lacking = runs.filter(pl.col("missing_ranks") > 0)
    lines += [
        f"left out of all figures: {row['profile']}: {row['missing_ranks']} of {row['run_ranks']} ranks lack"
        for row in lacking.to_dicts()
    ]
    if silent := runs.filter(runs[against].is_null())["profile"].to_list():
        lines.append(f"left out: runs that say nothing of {against}: {_named(silent)}")
    programs = runs.group_by("program", maintain_order=True).agg(pl.len())
    if len(programs) > 1:
        told = ", ".join(f"{program or 'unknown'} ({count} runs)" for program, count in programs.iter_rows())
        lines.append(f"runs of different programs: {told}")
    return [*lines, *_unlike(runs, against, by), *_of_traffic(ensemble, runs)]


def _unlike(runs: pl.DataFrame, against: str, by: str) -> list[str]:
    """Return what tells runs apart that are taken for repetitions of each other.

    Numbers that come several times each, as those of a grid of cases do; results differ from run to run.
    """
    known = {*RUN_COLUMNS, "missing_ranks", against, by}
    said = [name for name in runs.columns if name not in known and "." not in name]
    grid = [name for name in said if 1 < runs[name].n_unique() <= len(runs) // 2]
    # Under names of our own, as Polars takes some for patterns.
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
    return [f"taken for repetitions: runs of one {against} that differ in {', '.join(differ)}; see --by"]


def _of_traffic(ensemble: Ensemble, runs: pl.DataFrame) -> list[str]:
    lines = []
    alone = runs.filter(pl.col("run_ranks") == 1)["profile"].to_list()
    if alone:
        lines.append(f"one rank, so there is nobody to talk to: {_named(alone)}")
    whole = ensemble.with_paths("regions").filter(path=PROGRAM)
    silent = (whole["sends_total"] == 0) & (whole["colls_total"] == 0)
    quiet = whole.filter(silent & (whole["run_ranks"] > 1))["profile"].to_list()
    if quiet:
        lines.append(f"no message and no collective: {_named(quiet)}")
    return lines


def _named(profiles: list[str]) -> str:
    more = f", … ({len(profiles)} in all)" if len(profiles) > _MOST_NAMED else ""
    return ", ".join(profiles[:_MOST_NAMED]) + more
