"""Fitting models to a sweep: `haloscope bench fit`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import nnls

from haloscope.base.arrays import Floats, Integers
from haloscope.base.errors import UsageError
from haloscope.predict.machine import FittedAlgorithm, Machine, Range, make_generic_rows
from haloscope.predict.observation import EVERYTHING, Observation, Path, Theta
from haloscope.predict.schedule import CollectivePlan

_ROUNDS = 3
_MOST_RANGES = 3
_MOST_POINTS = 120
_MEASURED = ("ranks", "bytes", "segment", "fanout", "time")


def select_fittable_points(points: pl.DataFrame) -> pl.DataFrame:
    """Return the points that can be fitted: successful ones with a time and at least two ranks."""
    done = points.filter((pl.col("status") == "ok") & (pl.col("time") > 0) & (pl.col("ranks") >= 2))
    if done.is_empty():
        raise UsageError("the sweep has no measured point of two or more ranks")
    return done


def fit_points(
    points: pl.DataFrame,
    machine: Machine,
    *,
    library: str = "",
    step: Callable[[str], None] = lambda _name: None,
) -> tuple[FittedAlgorithm, ...]:
    """Fit a model to every algorithm of a sweep's points."""
    fitted = []
    groups = select_fittable_points(points).group_by("collective", "algorithm", maintain_order=True)
    for (collective, algorithm), group in groups:
        step(f"{collective} {algorithm}")
        fitted.append(_fit_group(str(collective), str(algorithm), group, machine, library))
    return tuple(fitted)


def _fit_group(
    collective: str, algorithm: str, group: pl.DataFrame, machine: Machine, library: str
) -> FittedAlgorithm:
    about: dict[str, Any] = {
        "collective": collective,
        "algorithm": algorithm,
        "library": library,
        "number": group["number"][0],
        "points": len(group),
        "segments": tuple(group["segment"].unique().sort().to_list()),
        "fanouts": tuple(group["fanout"].unique().sort().to_list()),
        "ranks": (group["ranks"].min(), group["ranks"].max()),
        "sizes": (group["bytes"].min(), group["bytes"].max()),
        "times": tuple(group.select(_MEASURED).with_columns(pl.col("time").round_sig_figs(5)).iter_rows()),
    }
    if len(group) > _MOST_POINTS:  # a subset over all sizes and numbers of ranks
        group = group.sort("ranks", "bytes", "segment", "fanout").gather_every(-(-len(group) // _MOST_POINTS))
    times = group["time"].to_numpy()
    plans = [CollectivePlan(*row) for row in group.select("ranks", "bytes", "segment", "fanout").iter_rows()]
    observations = [
        Observation.of(machine, collective, algorithm, plan, mapping or "core")
        for plan, mapping in zip(plans, group["mapping"], strict=True)
    ]
    known = [observation for observation in observations if observation is not None]
    if len(known) < len(plans):
        return _fit_generic(about, plans, times)
    fits = [_fit_schedules(known, times, machine, eager) for eager in (0, EVERYTHING)]
    best = min(fits, key=lambda fit: fit.error)
    return FittedAlgorithm(**about, **_state_fit(best, times, machine))


class _Fit(NamedTuple):
    """Coefficients of the rows of the longest paths with these parameters."""

    error: float
    found: Floats
    rows: Floats
    theta: Theta


def _fit_schedules(observations: list[Observation], times: Floats, machine: Machine, eager: int) -> _Fit:
    """Alternate between executing the schedules and fitting the parameters of their longest paths.

    The longest path depends on the parameters; the best of a few rounds is kept.
    """
    unit = np.ones(1)
    gamma = 1 / float(machine.arithmetic or 10_000_000_000)
    theta = Theta(np.zeros(1, np.int64), 0.1e-6 * unit, unit, unit, 0.0, gamma, eager)
    paths = [observation.find_path(theta) for observation in observations]
    fits: list[_Fit] = []
    for _ in range(_ROUNDS):
        firsts = _find_ranges(paths, times, machine)
        rows = _path_rows(paths, firsts)
        found = fit_coefficients(rows, times, _make_prior(machine, firsts))
        theta = _make_theta(firsts, found, eager)
        paths = [observation.find_path(theta) for observation in observations]
        modelled = np.array([path.time for path in paths])
        error = float(np.minimum(np.abs(modelled / times - 1), 0.5).mean())
        fits.append(_Fit(error, found, rows, theta))
    return min(fits, key=lambda fit: fit.error)


def _path_rows(paths: list[Path], firsts: Integers) -> Floats:
    return np.array([path.make_row(firsts) for path in paths])


def _find_ranges(paths: list[Path], times: Floats, machine: Machine) -> Integers:
    """Return the sizes at which protocols change; their number minimises the information criterion."""
    sizes = np.unique(np.concatenate([path.sizes for path in paths]))
    firsts = np.zeros(1, np.int64)
    count = len(times)

    def criterion(candidate: Integers) -> float:
        rows = _path_rows(paths, candidate)
        found = fit_coefficients(rows, times, _make_prior(machine, candidate), 3)
        parameters = 2 + 3 * len(candidate)
        error = max(mean_clipped_error(rows, times, found), 1e-4)
        return float(2 * count * np.log(error) + parameters * np.log(count))

    best = criterion(firsts)
    borders = sizes[sizes > sizes.min()] if len(sizes) else sizes
    if len(borders) > 16:
        borders = borders[np.linspace(0, len(borders) - 1, 16).astype(int)]
    while len(firsts) < _MOST_RANGES and count >= 4 * (2 + 3 * len(firsts)) // 3:
        candidates = [np.sort(np.append(firsts, new)) for new in borders if new not in firsts]
        scored = [(criterion(candidate), i) for i, candidate in enumerate(candidates)]
        if not scored or min(scored)[0] >= best:
            break
        best, chosen = min(scored)
        firsts = candidates[chosen]
    return firsts


def _make_prior(machine: Machine, firsts: Integers) -> Floats:
    """Return the values for parameters that the points do not determine: the machine's latency and
    bandwidth."""
    gamma = np.nan if machine.arithmetic is None else 1 / float(machine.arithmetic)
    known = all(level.bandwidth is not None for level in machine.levels)
    number = len(firsts)
    beta = np.full(number, 1.0 if known else np.nan)
    return np.concatenate([[np.nan, gamma], np.full(number, np.nan), np.ones(number), beta])


def _make_theta(firsts: Integers, found: Floats, eager: int) -> Theta:
    overhead, alpha, beta = found[2:].reshape(3, -1)
    return Theta(firsts, overhead, alpha, beta, float(found[0]), float(found[1]), eager)


def _state_fit(fit: _Fit, times: Floats, machine: Machine) -> dict[str, Any]:
    found, firsts = fit.found, fit.theta.firsts
    low, high = bootstrap_bounds(fit.rows, times, _make_prior(machine, firsts))
    number = len(firsts)

    def interval(index: int) -> tuple[float, float, float]:
        value = found[index]
        return (
            _round_figures(value),
            _round_figures(min(low[index], value)),
            _round_figures(max(high[index], value)),
        )

    ranges = tuple(
        Range(
            first=int(first),
            overhead=interval(2 + i),
            alpha=interval(2 + number + i),
            beta=interval(2 + 2 * number + i),
        )
        for i, first in enumerate(firsts)
    )
    error = float(np.median(np.abs(fit.rows @ found / times - 1)))
    return {
        "call": interval(0),
        "gamma": interval(1),
        "eager": fit.theta.eager,
        "ranges": ranges,
        "error": _round_figures(error),
    }


def _round_figures(value: float) -> float:
    return float(f"{value:.4g}")


def _fit_generic(about: dict[str, Any], plans: Iterable[CollectivePlan], times: Floats) -> FittedAlgorithm:
    rows = make_generic_rows(list(plans))
    found = fit_coefficients(rows, times, np.full(rows.shape[1], np.nan))
    error = float(np.median(np.abs(rows @ found / times - 1)))
    return FittedAlgorithm(**about, error=_round_figures(error), generic=tuple(map(_round_figures, found)))


_HUBER = 1.345
# Weight of the prior, as a share of a point's weight, for parameters that the points do not determine.
_PULL = 0.02


def fit_coefficients(rows: Floats, times: Floats, prior: Floats, rounds: int = 8) -> Floats:
    """Fit non-negative coefficients with `rows` @ coefficients ≈ `times`, by relative errors.

    Iteratively reweighted least squares with Huber's weights.

    Args:
        rows: Cost of each coefficient's unit per point, shape (points, coefficients).
        times: Measured times (s), shape (points,).
        prior: Values for coefficients that the points do not determine; NaN for none.
        rounds: Number of iterations.
    """
    relative = rows / times[:, None]
    scale = np.sqrt((relative**2).mean(axis=0))
    used = scale > 0
    scale[~used] = 1.0
    known = np.flatnonzero(used & (prior > 0))
    strength = _PULL * np.sqrt(len(times))
    pull = np.zeros((len(known), rows.shape[1]))
    pull[np.arange(len(known)), known] = strength / (prior[known] * scale[known])
    wanted = np.concatenate([np.ones(len(times)), np.full(len(known), strength)])
    weights = np.ones(len(times))
    found = np.zeros(rows.shape[1])
    for _ in range(rounds):
        left = np.concatenate([weights[:, None] * relative / scale, pull])
        right = np.concatenate([weights, np.ones(len(known))]) * wanted
        found = nnls(left, right)[0] / scale
        errors = np.abs(relative @ found - 1)
        limit = _HUBER * max(1.4826 * float(np.median(errors)), 1e-6)
        weights = np.sqrt(np.minimum(1, limit / np.maximum(errors, limit)))
    return np.asarray(found)


def mean_clipped_error(rows: Floats, times: Floats, found: Floats) -> float:
    """Return the mean relative error, with large errors cut off at 0.5."""
    errors = np.abs(rows @ found / times - 1)
    return float(np.minimum(errors, 0.5).mean())


def bootstrap_bounds(rows: Floats, times: Floats, prior: Floats, resamples: int = 60) -> Floats:
    """Return bootstrap bounds of the coefficients' 95 % intervals, shape (2, coefficients)."""
    random = np.random.default_rng(0)
    drawn = random.integers(0, len(times), (resamples, len(times)))
    found = [fit_coefficients(rows[take], times[take], prior, 3) for take in drawn]
    return np.asarray(np.percentile(found, [2.5, 97.5], axis=0))
