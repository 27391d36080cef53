"""What fitted models say: a time, the algorithm to choose, and how large their errors are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from haloscope.base.errors import UsageError
from haloscope.predict.machine import FittedAlgorithm, Machine, generic_rows
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
    """An algorithm with its settings (0: its own default), and the seconds that it should take."""

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
    """Return seconds that an algorithm takes, as OSU counts them: the mean over ranks.

    Raises `UsageError` if nothing was fitted to it.
    """
    model = _of(machine, collective, algorithm)
    return _time(machine, model, CollectivePlan(ranks, size, segment, fanout), mapping)


def choose(
    machine: Machine,
    collective: str,
    ranks: int,
    size: int,
    *,
    mapping: str = "core",
    among: Iterable[tuple[str, int, int]] | None = None,
) -> Chosen:
    """Return the fitted algorithm, segment and fan-out that should be fastest.

    `among` names those that may be chosen, as (algorithm, segment, fan-out).
    """
    options = list(_options(machine, collective, ranks, size) if among is None else among)
    if not options:
        raise UsageError(
            f"{machine.name}: nothing was fitted to {collective};"
            " haloscope bench fit MACHINE SWEEP.jsonl does it"
        )
    timed = [
        Chosen(
            algorithm,
            (model := _of(machine, collective, algorithm)).number,
            segment,
            fanout,
            _time(machine, model, CollectivePlan(ranks, size, segment, fanout), mapping),
        )
        for algorithm, segment, fanout in options
    ]
    return min(timed, key=lambda chosen: chosen.time)


def _options(machine: Machine, collective: str, ranks: int, size: int) -> Iterable[tuple[str, int, int]]:
    for model in machine.fitted:
        pair_only = model.algorithm == "two_proc" and ranks != 2
        if model.collective != collective or model.algorithm == "default" or pair_only:
            continue
        for segment in model.segments:
            if segment < size or not segment:
                yield from ((model.algorithm, segment, fanout) for fanout in model.fanouts)


def _of(machine: Machine, collective: str, algorithm: str) -> FittedAlgorithm:
    for model in machine.fitted:
        if (model.collective, model.algorithm) == (collective, algorithm):
            return model
    known = sorted({m.algorithm for m in machine.fitted if m.collective == collective})
    there = f"; there is {', '.join(known)}" if known else ""
    raise UsageError(
        f"{machine.name}: nothing was fitted to {collective} {algorithm!r}{there};"
        " haloscope bench fit MACHINE SWEEP.jsonl does it"
    )


def _time(machine: Machine, model: FittedAlgorithm, plan: CollectivePlan, mapping: str) -> float:
    if model.generic:
        return float((generic_rows([plan]) @ np.array(model.generic))[0])
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
    return observation.path(theta).time


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
    """Return what people want to see of `errors`, a row a point."""
    return rows.select(name for name in MODEL_TABLE.columns if name in rows.columns)


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
    done = select_fittable_points(points).filter(pl.col("algorithm") != "default")
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
