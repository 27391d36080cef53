"""Is the model any good? What it would draw beside what was seen, and what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from haloscope.explain.regimes.statistics._predictive import checks, drawn, pseudo_residuals, regime_fits
from haloscope.explain.regimes.statistics._samples import autocorrelation

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from haloscope.explain.regimes.statistics._predictive import Emission, Floats

    Decoder = Callable[[Floats], NDArray[np.uint8]]

__all__ = ["Goodness", "goodness"]

_FAR = 0.1  # of a regime's times are elsewhere than the model says: worth a line
_NEGATIVE = 0.01
_CORRELATED = 0.1
_LONGER = 1.5
_FEWEST = 20
_WINDOW = 8192  # instances of a sequence that are looked at together
_MOST = 1 << 18  # points in all: more tell no more, and take longer
_LEVELS = np.linspace(0.005, 0.995, 199)
_LAGS = 50


def verdicts(
    family: str, fits: pl.DataFrame, checks: pl.DataFrame, correlation: pl.DataFrame
) -> tuple[str, ...]:
    """Return one line for each thing that is so wrong that it matters, not merely significant."""
    lines = [line for row in fits.to_dicts() if (line := _of_regime(family, row))]
    lines += [line for row in fits.to_dicts() if (line := _of_runs(row))]
    if len(correlation):
        lag, value, band = correlation.row(0)
        if abs(value) > max(_CORRELATED, band):
            lines.append(
                f"times depend on each other beyond what the regimes explain: the residuals' "
                f"correlation at lag {lag} is {value:.2f}"
            )
    del checks
    return tuple(lines)


def _of_regime(family: str, row: dict[str, Any]) -> str | None:
    if row["instances"] < _FEWEST or row["distance"] is None:
        return None
    reasons = []
    if row["negative"] > _NEGATIVE:
        reasons.append(f"{100 * row['negative']:.0f} % of the times that it draws are negative")
    if row["distance"] > max(_FAR, 2 * row["allowed"]):
        share = f"{100 * row['distance']:.0f} %"
        reasons.append(f"{share} of the times are not where it says")
    if not reasons:
        return None
    return f"{family} is a bad model of regime {row['regime']}: {' and '.join(reasons)}"


def _of_runs(row: dict[str, Any]) -> str | None:
    seen, drawn = row["run_length"], row["drawn_run_length"]
    if row["instances"] < _FEWEST or seen is None or drawn is None:
        return None
    if seen < _LONGER * drawn and drawn < _LONGER * seen:
        return None
    return (
        f"regime {row['regime']} lasts {seen:.1f} instances in a row, "
        f"{drawn:.1f} in what the model draws: it isn't a Markov chain"
    )


@dataclass(frozen=True)
class Goodness:
    """How a fitted model and what it was fitted to agree. Regimes count from 1.

    `regimes`: a row a regime: `regime, instances, distance` (the largest one between the
    distributions of times seen and of times that the model draws, both decoded alike), `allowed`
    (what chance makes of it at most), `negative` (share of the drawn times below 0), `run_length`
    and `drawn_run_length` (mean instances in a row).
    `quantiles`: `regime, level, observed, drawn`: the points of a QQ plot of each regime, seconds.
    `residuals`: `level, normal, residual`: those of a QQ plot of the normal pseudo-residuals.
    `correlation`: `lag, correlation, band`: of the pseudo-residuals; outside ± band: not chance.
    `checks`: `statistic, observed, low, median, high`: statistics of the times seen beside the
    middle 95 % of those of series drawn from the model (posterior predictive check).
    `verdicts`: what speaks against the model, one line each; none: nothing does.
    """

    regimes: pl.DataFrame
    quantiles: pl.DataFrame
    residuals: pl.DataFrame
    correlation: pl.DataFrame
    checks: pl.DataFrame
    verdicts: tuple[str, ...]


def goodness(
    durations: Floats,
    start: Floats,
    transition: Floats,
    emission: Emission,
    decode: Decoder,
    *,
    draws: int = 19,
    seed: int = 0,
) -> Goodness:
    """Hold a model against `durations` (sequences, instances), seconds, NaN where none.

    `start` and `transition` are the chain's probabilities; `decode` gives the states of such a
    matrix, 255 where there is none. Regimes of times seen and of times drawn are both what it
    decodes, since decoding cuts the tails where regimes overlap. Of many instances, windows of
    8192 at equal distances are used. Deterministic by `seed`.
    """
    windows = _windows(np.atleast_2d(durations))
    rng = np.random.default_rng(seed)
    series = [drawn(windows, start, transition, emission, rng) for _ in range(draws)]
    seen = decode(windows)
    decoded = [decode(one) for one in series]
    count = len(start)
    fits, quantiles = regime_fits((windows, seen), (series, decoded), count, _LEVELS)
    predictive = checks((windows, seen), (series, decoded), count)
    residuals = pseudo_residuals(windows, start, transition, emission)
    correlation = _correlation(residuals)
    return Goodness(
        regimes=fits,
        quantiles=quantiles,
        residuals=_normal_plot(residuals),
        correlation=correlation,
        checks=predictive,
        verdicts=verdicts(emission.name, fits, predictive, correlation),
    )


def _windows(durations: Floats) -> Floats:
    """Return windows of all rows that together are not too many points."""
    width = max(1, min(_WINDOW, durations.shape[1]))
    begins = range(0, durations.shape[1] - width + 1, width)
    windows = np.concatenate([durations[:, begin : begin + width] for begin in begins])
    windows = windows[~np.isnan(windows[:, 0])]
    most = max(1, _MOST // width)
    chosen = np.linspace(0, len(windows) - 1, min(most, len(windows))).astype(np.int64)
    return np.ascontiguousarray(windows[chosen])


def _normal_plot(residuals: Floats) -> pl.DataFrame:
    values = residuals[~np.isnan(residuals)]
    found = np.quantile(values, _LEVELS) if values.size else np.full(_LEVELS.size, np.nan)
    table = {"level": _LEVELS, "normal": ndtri(_LEVELS), "residual": found}
    return pl.DataFrame(table).with_columns(pl.col("residual").fill_nan(None))


def _correlation(residuals: Floats) -> pl.DataFrame:
    """The sequences' mean autocorrelation, weighted by length, and twice its standard error."""
    rows = [row[~np.isnan(row)] for row in residuals]
    rows = [row for row in rows if row.size > 2 * _LAGS]
    schema = {"lag": pl.Int64, "correlation": pl.Float64, "band": pl.Float64}
    if not rows:
        return pl.DataFrame(schema=schema)
    sizes = np.array([row.size for row in rows])
    each = np.array([autocorrelation(row, _LAGS)[1:] for row in rows])
    mean = (sizes[:, None] * each).sum(axis=0) / sizes.sum()
    band = np.full(_LAGS, 1.96 / np.sqrt(sizes.sum()))
    columns = {"lag": np.arange(1, _LAGS + 1), "correlation": mean, "band": band}
    return pl.DataFrame(columns, schema=schema)
