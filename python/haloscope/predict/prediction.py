"""Predictions of fitted models: times, the best algorithm, and errors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from haloscope.base.errors import UsageError
from haloscope.predict.machine import FittedAlgorithm, Machine, make_generic_rows
from haloscope.predict.observation import Observation, Theta
from haloscope.predict.schedule import CollectivePlan
from haloscope.predict.sweep_fitting import select_fittable_points
from haloscope.profile.shown import columns, count, declare_table, exact, part, text, time

_ALGORITHM = columns("collective algorithm", "of a library or a formula", collective=text(), algorithm=text())
MODEL_TABLE = declare_table(
    "model",
    _ALGORITHM,
    columns("ranks bytes", "of a call, as OSU counts them", ranks=exact(), bytes=exact()),
    columns("segment fanout", "of the measured algorithm; null: the library's own"),
    columns(
        "time low high",
        "seconds, with a 95 % interval where it is known",
        time=time(),
        low=time(),
        high=time(),
    ),
    columns(
        "modelled error", "what the model predicts, and its relative error", modelled=time(), error=part()
    ),
)
ERRORS_TABLE = declare_table(
    "errors",
    _ALGORITHM,
    columns("points", "that were measured", points=count()),
    columns(
        "error_median error_p90 error_max",
        "relative errors of the points",
        error_median=part("median error"),
        error_p90=part("90 % below"),
        error_max=part("largest"),
    ),
)


@dataclass(frozen=True)
class Chosen:
    """An algorithm with its settings (0: default), and its predicted time (s)."""

    algorithm: str
    number: int | None
    segment: int
    fanout: int
    time: float


def predict(
    machine: Machine,
    collective: str,
    algorithm: str,
    ranks: int,
    size: int,
    *,
    segment: int = 0,
    fanout: int = 0,
    mapping: str = "core",
) -> float:
    """Return the predicted time (s) of an algorithm: the mean over ranks, as in OSU's benchmarks.

    Args:
        machine: Machine model with fitted algorithms.
        collective: Name of the collective.
        algorithm: Name of the algorithm.
        ranks: Number of ranks.
        size: Bytes, as OSU counts them.
        segment: Segment size in bytes; 0: default.
        fanout: Fan-out; 0: default.
        mapping: Mapping of ranks to cores.

    Raises:
        UsageError: The algorithm was not fitted.
    """
    model = _find_model(machine, collective, algorithm)
    return _predict_time(machine, model, CollectivePlan(ranks, size, segment, fanout), mapping)


def choose(
    machine: Machine,
    collective: str,
    ranks: int,
    size: int,
    *,
    mapping: str = "core",
    among: Iterable[tuple[str, int, int]] | None = None,
) -> Chosen:
    """Return the fitted algorithm, segment and fan-out with the smallest predicted time.

    `among` are the options, as (algorithm, segment, fan-out); by default all fitted ones.
    """
    options = list(_list_options(machine, collective, ranks, size) if among is None else among)
    if not options:
        raise UsageError(
            f"{machine.name}: nothing was fitted to {collective};"
            " haloscope bench fit MACHINE SWEEP.jsonl does it"
        )
    timed = [
        Chosen(
            algorithm,
            (model := _find_model(machine, collective, algorithm)).number,
            segment,
            fanout,
            _predict_time(machine, model, CollectivePlan(ranks, size, segment, fanout), mapping),
        )
        for algorithm, segment, fanout in options
    ]
    return min(timed, key=lambda chosen: chosen.time)


def _list_options(machine: Machine, collective: str, ranks: int, size: int) -> Iterable[tuple[str, int, int]]:
    for model in machine.fitted:
        pair_only = model.algorithm == "two_proc" and ranks != 2
        if model.collective != collective or model.algorithm == "default" or pair_only:
            continue
        for segment in model.segments:
            if segment < size or not segment:
                yield from ((model.algorithm, segment, fanout) for fanout in model.fanouts)


def _find_model(machine: Machine, collective: str, algorithm: str) -> FittedAlgorithm:
    for model in machine.fitted:
        if (model.collective, model.algorithm) == (collective, algorithm):
            return model
    known = sorted({m.algorithm for m in machine.fitted if m.collective == collective})
    choices = f"; fitted: {', '.join(known)}" if known else ""
    raise UsageError(
        f"{machine.name}: nothing was fitted to {collective} {algorithm!r}{choices};"
        " haloscope bench fit MACHINE SWEEP.jsonl does it"
    )


def _predict_time(machine: Machine, model: FittedAlgorithm, plan: CollectivePlan, mapping: str) -> float:
    if model.generic:
        return float((make_generic_rows([plan]) @ np.array(model.generic))[0])
    observation = Observation.of(machine, model.collective, model.algorithm, plan, mapping)
    assert observation is not None
    ranges = model.ranges
    theta = Theta(
        np.array([each.first for each in ranges], np.int64),
        np.array([each.overhead[0] for each in ranges]),
        np.array([each.alpha[0] for each in ranges]),
        np.array([each.beta[0] for each in ranges]),
        model.call[0],
        model.gamma[0],
        model.eager,
    )
    return observation.find_path(theta).time


_LOSSES = {
    "collective": pl.String,
    **dict.fromkeys(("ranks", "bytes", "options"), pl.Int64),
    "chosen": pl.String,
    "best": pl.String,
    **dict.fromkeys(("time", "best_time", "loss"), pl.Float64),
    "significant": pl.Boolean,
}


def errors(machine: Machine, points: pl.DataFrame) -> pl.DataFrame:
    """Return the measured points with the `modelled` time and its relative `error`.

    Points of algorithms without a fit are left out.
    """
    known = {(model.collective, model.algorithm) for model in machine.fitted}
    done = select_fittable_points(points)
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
    """Return the columns of `errors` for display, one row per point."""
    return rows.select(name for name in MODEL_TABLE.columns if name in rows.columns)


def error_summary(rows: pl.DataFrame) -> pl.DataFrame:
    """Return per algorithm the number of points, and their median, 90th percentile and largest error."""
    return rows.group_by("collective", "algorithm", maintain_order=True).agg(
        points=pl.len().cast(pl.Int64),
        error_median=pl.col("error").median(),
        error_p90=pl.col("error").quantile(0.9),
        error_max=pl.col("error").max(),
    )


def losses(machine: Machine, points: pl.DataFrame) -> pl.DataFrame:
    """Return the cost of the model's choice relative to the best option, by collective, ranks and bytes.

    The options are the measured algorithms with their segments and fan-outs, without the library's default;
    points with a single option are left out. `loss` is relative. It is `significant` if the two intervals of
    the median do not overlap.
    """
    done = select_fittable_points(points).filter(pl.col("algorithm") != "default")
    keys = ["collective", "ranks", "bytes", "mapping"]
    rows = [
        _measure_loss(machine, group)
        for _, group in done.group_by(keys, maintain_order=True)
        if len(group) > 1
    ]
    if not rows:
        raise UsageError("the sweep has no size with two algorithms to choose from")
    return pl.DataFrame(rows, schema=_LOSSES)


def _measure_loss(machine: Machine, group: pl.DataFrame) -> dict[str, Any]:
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
    is_significant = (taken["ci_low"] or taken["time"]) > (best["ci_high"] or best["time"])
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
        "significant": is_significant,
    }
