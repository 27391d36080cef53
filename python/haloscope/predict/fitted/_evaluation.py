"""How well fitted models do: their errors, and what choosing by them costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from haloscope.base.errors import UsageError
from haloscope.predict.fitted._fitting import measured
from haloscope.predict.fitted._prediction import choose, predict

if TYPE_CHECKING:
    from haloscope.predict._machine import Machine

__all__ = ["error_summary", "error_table", "errors", "losses"]

_LOSSES = {
    "collective": pl.String,
    "ranks": pl.Int64,
    "bytes": pl.Int64,
    "options": pl.Int64,
    "chosen": pl.String,
    "best": pl.String,
    "time": pl.Float64,
    "best_time": pl.Float64,
    "loss": pl.Float64,
    "significant": pl.Boolean,
}


def errors(machine: Machine, points: pl.DataFrame) -> pl.DataFrame:
    """Return the measured points with the `modelled` time and its relative `error`.

    Points of algorithms to which nothing was fitted are left out.
    """
    known = {(model.collective, model.algorithm) for model in machine.fitted}
    done = measured(points)
    keep = [pair in known for pair in done.select("collective", "algorithm").iter_rows()]
    done = done.filter(pl.Series(keep, dtype=pl.Boolean))
    modelled = [
        predict(
            machine,
            row["collective"],
            row["algorithm"],
            row["ranks"],
            row["bytes"],
            segment=row["segment"],
            fanout=row["fanout"],
            mapping=row["mapping"] or "core",
        )
        for row in done.to_dicts()
    ]
    return done.with_columns(modelled=pl.Series(modelled, dtype=pl.Float64)).with_columns(
        error=(pl.col("modelled") / pl.col("time") - 1).abs()
    )


def error_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return what people want to see of `errors`, a row a point."""
    return rows.select(
        "collective", "algorithm", "ranks", "bytes", "segment", "fanout", "time", "modelled", "error"
    )


def error_summary(rows: pl.DataFrame) -> pl.DataFrame:
    """Return for each algorithm its points, and their median, 90th percentile and largest error."""
    return rows.group_by("collective", "algorithm", maintain_order=True).agg(
        points=pl.len().cast(pl.Int64),
        error_median=pl.col("error").median(),
        error_p90=pl.col("error").quantile(0.9),
        error_max=pl.col("error").max(),
    )


def losses(machine: Machine, points: pl.DataFrame) -> pl.DataFrame:
    """Return what the model's choice costs over the best option, by collective, ranks and bytes.

    The options are the measured algorithms with their segments and fan-outs, without the library's
    own choice; where there is only one there is nothing to choose. `loss` is relative; it is
    `significant` if the two intervals of the median do not overlap.
    """
    done = measured(points).filter(pl.col("algorithm") != "default")
    keys = ["collective", "ranks", "bytes", "mapping"]
    rows = [_loss(machine, group) for _, group in done.group_by(keys, maintain_order=True) if len(group) > 1]
    if not rows:
        raise UsageError("the sweep has no two algorithms to choose from at any size")
    return pl.DataFrame(rows, schema=_LOSSES)


def _loss(machine: Machine, group: pl.DataFrame) -> dict[str, Any]:
    options = {(row["algorithm"], row["segment"], row["fanout"]): row for row in group.to_dicts()}
    first = next(iter(options.values()))
    chosen = choose(
        machine,
        first["collective"],
        first["ranks"],
        first["bytes"],
        mapping=first["mapping"] or "core",
        among=options,
    )
    taken = options[chosen.algorithm, chosen.segment, chosen.fanout]
    best = min(options.values(), key=lambda row: float(row["time"]))
    apart = (taken["ci_low"] or taken["time"]) > (best["ci_high"] or best["time"])
    return {
        "collective": first["collective"],
        "ranks": first["ranks"],
        "bytes": first["bytes"],
        "options": len(options),
        "chosen": taken["algorithm"],
        "best": best["algorithm"],
        "time": taken["time"],
        "best_time": best["time"],
        "loss": taken["time"] / best["time"] - 1,
        "significant": apart,
    }
