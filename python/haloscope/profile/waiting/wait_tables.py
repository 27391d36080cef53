"""The tables of a trace's analysis; they are empty for a run without a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from haloscope.base.arrays import Flags
from haloscope.profile.store.profile_data import ProfileData
from haloscope.profile.store.tree import Scope
from haloscope.profile.waiting.edges import Unit
from haloscope.profile.waiting.wait_analysis import WaitAnalysis, analyse_waiting

# Shares by which the run is longer, as in the columns' names.
_LONGER = {0.01: "1", 0.02: "2", 0.05: "5"}
_TOLERATED: Mapping[Unit, Sequence[str]] = {
    "latency": ["latencies", *(f"latency_{share}" for share in _LONGER.values())],
    "byte": ["bytes", *(f"per_byte_{share}" for share in _LONGER.values())],
}


def wait_table(name: str, profile: ProfileData, scope: Scope) -> pl.DataFrame:
    """Return the table `name` of a profile."""
    build, types = _TABLES[name]
    schema = dict(types)
    if not profile.has_trace:
        return pl.DataFrame(schema=schema)
    return build(profile.once(analyse_waiting), scope).select(
        pl.col(column).cast(kind) for column, kind in types.items()
    )


def _waits(analysis: WaitAnalysis, scope: Scope) -> pl.DataFrame:
    rows = scope.reduce(analysis.waits, ["kind"], {"waits": "sum", "time": "sum", "time_max": "max"})
    share = pl.col("time") / pl.col("time").sum().over("path")
    rows = rows.with_columns(share.fill_nan(None).alias("share")).rename({"time": "time_total"})
    return scope.name_regions(rows, ["time_total", "kind"], [True, False])


def _wait_pairs(analysis: WaitAnalysis, scope: Scope) -> pl.DataFrame:
    found = analysis.waits.filter(pl.col("partner").is_not_null())
    rows = scope.reduce(
        found, ["kind", "rank", "partner"], {"waits": "sum", "time": "sum", "time_max": "max"}
    )
    return scope.name_regions(rows, ["time", "kind", "rank", "partner"], [True, False, False, False])


def _delays(analysis: WaitAnalysis, scope: Scope) -> pl.DataFrame:
    rows = scope.reduce(analysis.delays, ["rank"], {"cost": "sum", "direct": "sum", "indirect": "sum"})
    share = pl.col("cost") / analysis.delays["cost"].sum()
    return scope.name_regions(rows.with_columns(share.alias("share")), ["cost", "rank"], [True, False])


def _critical_path(analysis: WaitAnalysis, scope: Scope) -> pl.DataFrame:
    found = analysis.critical_path
    rows = scope.reduce(found, ["rank"], {"time": "sum", "mpi_time": "sum", "share": "sum"})
    return scope.name_regions(rows, ["time", "rank"], [True, False])


def _tolerance(analysis: WaitAnalysis, scope: Scope) -> pl.DataFrame:
    tree = scope.tree
    chosen = np.ones(len(tree), dtype=np.bool_) if scope.chosen is None else scope.chosen
    paths = np.flatnonzero(chosen)

    def mask(path: int) -> Flags:
        alone = np.arange(len(tree)) == path
        return alone if scope.exclusive else tree.with_descendants(alone)

    masks = [mask(path) for path in paths.tolist()]
    columns = []
    for unit, names in _TOLERATED.items():
        found = analysis.tolerance(masks, tuple(_LONGER), unit)
        columns.append(found.rename(dict(zip(found.columns, names, strict=True))))
    whole = pl.DataFrame(
        {
            "path": paths,
            "run_time": analysis.run_time,
            "without_waiting": analysis.compute_without_waiting(masks),
        }
    )
    return scope.name_regions(pl.concat([*columns, whole], how="horizontal"), [])


_TEXT, _COUNT, _TIME = pl.String, pl.Int64, pl.Float64
_Build = Callable[["WaitAnalysis", "Scope"], pl.DataFrame]
_Types = Mapping[str, type[pl.DataType]]
_TABLES: Mapping[str, tuple[_Build, _Types]] = {
    "waits": (
        _waits,
        {
            "region": _TEXT,
            "kind": _TEXT,
            "waits": _COUNT,
            "time_total": _TIME,
            "time_max": _TIME,
            "share": _TIME,
        },
    ),
    "wait_pairs": (
        _wait_pairs,
        {
            "region": _TEXT,
            "kind": _TEXT,
            "rank": _COUNT,
            "partner": _COUNT,
            "waits": _COUNT,
            "time": _TIME,
            "time_max": _TIME,
        },
    ),
    "delays": (
        _delays,
        {"region": _TEXT, "rank": _COUNT, **dict.fromkeys(["cost", "direct", "indirect", "share"], _TIME)},
    ),
    "critical_path": (
        _critical_path,
        {"region": _TEXT, "rank": _COUNT, **dict.fromkeys(["time", "mpi_time", "share"], _TIME)},
    ),
    "tolerance": (
        _tolerance,
        {
            "region": _TEXT,
            **dict.fromkeys((name for names in _TOLERATED.values() for name in names), _TIME),
            "run_time": _TIME,
            "without_waiting": _TIME,
        },
    ),
}
