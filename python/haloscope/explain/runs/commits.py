"""The performance of a program over the commits of its repository."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from haloscope.base.errors import UsageError
from haloscope.markov.statistics import faster_by_runs
from haloscope.profile.shown import columns, count, declare_table, moment, part, slower, text, time

KEY = "commit"  # of the metadata of a run
_SERIES = ("program", "ranks")
_WRONG = 0.05  # rate of series in which any stated change may be wrong
# What is compared between commits: a text, and the times of a run per rank.
_TESTED = {
    "time": pl.col("duration"),
    "computing": (pl.col("rank_time") - pl.col("mpi_time")) / pl.col("ranks"),
    "MPI": pl.col("mpi_time") / pl.col("ranks"),
}

_CHANGE = {"slower": pl.Float64, "slower_low": pl.Float64, "slower_high": pl.Float64, "change": pl.String}
_Interval = tuple[float | None, float | None, float | None]

COMMITS_TABLE = declare_table(
    "commits",
    columns(
        "program ranks",
        "runs of one program on one number of ranks are a series",
        program=text(),
        ranks=count(),
    ),
    columns("commit", "metadata of the runs", commit=text()),
    columns("start", "of its first run", start=moment()),
    columns("runs", "that ended", runs=count()),
    columns(
        "duration duration_low duration_high", "median, least and most of its runs", duration=time("time")
    ),
    columns(
        "efficiency", "time outside MPI, of the ranks' time: POP's parallel efficiency", efficiency=part()
    ),
    columns("mpi_share", "time in MPI, of the ranks' time", mpi_share=part("MPI")),
    columns(
        "slower slower_low slower_high",
        "by how much its mean time is longer than that of the commit before, with the interval",
        slower=slower("slower by", low="slower_low", high="slower_high"),
    ),
    columns("change", "what changed significantly (5 % for all commits of a series together)", change=text()),
)


def commits(runs: pl.DataFrame) -> pl.DataFrame:
    """Return one row per program, number of ranks and commit, in the order of their first runs.

    The commit of a run is its metadata `commit`. Runs without it, and those that did not end, are left out.

    Raises:
        UsageError: No run has a commit.

    Examples:
        >>> explain.commits(haloscope.history("profiles")).filter(pl.col("change").is_not_null())
    """
    named = runs.with_columns(
        pl.col("metadata").map_elements(_read_commit, return_dtype=pl.String).alias(KEY)
    )
    ended = ~pl.col("partial").fill_null(value=False) & pl.col("rank_time").is_not_null()
    known = named.filter(ended, pl.col(KEY).is_not_null()).with_columns(
        expression.alias(f"of {name}") for name, expression in _TESTED.items()
    )
    if known.is_empty():
        raise UsageError(
            "no run has a commit: set HALOSCOPE_META_COMMIT=$(git rev-parse --short HEAD) for runs"
        )
    inside = pl.col("mpi_time").sum() / pl.col("rank_time").sum()
    rows = known.group_by(*_SERIES, KEY).agg(
        pl.col("start").min(),
        pl.len().alias("runs"),
        pl.col("duration").median(),
        pl.col("duration").min().alias("duration_low"),
        pl.col("duration").max().alias("duration_high"),
        (1 - inside).alias("efficiency"),
        inside.alias("mpi_share"),
        *(pl.col(f"of {name}") for name in _TESTED),
    )
    series = rows.sort(*_SERIES, "start", KEY).partition_by(*_SERIES, maintain_order=True)
    return pl.concat(map(_compare, series)).select(COMMITS_TABLE.columns)


def _read_commit(metadata: str) -> str | None:
    value = json.loads(metadata).get(KEY)
    return value if isinstance(value, str) and value else None


def _compare(series: pl.DataFrame) -> pl.DataFrame:
    """Add the change of each commit from the one before."""
    rows = series.to_dicts()
    level = 1 - _WRONG / max(len(_TESTED) * (len(rows) - 1), 1)
    changes: list[dict[str, Any]] = [dict.fromkeys(_CHANGE)]
    for before, after in pairwise(rows):
        times = {name: (after[f"of {name}"], before[f"of {name}"]) for name in _TESTED}
        changes.append(_describe({name: _slower(*pair, level) for name, pair in times.items()}))
    return series.hstack(pl.DataFrame(changes, schema=_CHANGE))


def _slower(own: Sequence[float], before: Sequence[float], level: float) -> _Interval:
    """Return by which part the times are longer than those before, with bounds; None if unknown."""
    found = faster_by_runs(own, before, level)
    values = (found[name] for name in ("faster", "faster_high", "faster_low"))
    by, low, high = (None if value is None else -value / 100 for value in values)
    return by, low, high


def _describe(slower_by: Mapping[str, _Interval]) -> dict[str, Any]:
    texts = []
    for name, (by, low, high) in slower_by.items():
        if by is not None and low is not None and high is not None and low * high > 0:
            least, most = sorted((abs(low), abs(high)))
            direction = "longer" if by > 0 else "shorter"
            texts.append(f"{name} {100 * abs(by):.1f} % [{100 * least:.1f}, {100 * most:.1f}] {direction}")
    return dict(zip(_CHANGE, (*slower_by["time"], "; ".join(texts) or None), strict=True))
