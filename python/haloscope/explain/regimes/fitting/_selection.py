"""How many regimes there are: models with 1, 2, … of them, compared by information criteria."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from haloscope.base.errors import HaloscopeError, UsageError
from haloscope.explain.regimes.fitting._regime_model import RegimeModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["CRITERIA", "Criterion", "Selection", "select"]

Criterion = Literal["elbow", "aic", "bic", "icl"]
CRITERIA: tuple[Criterion, ...] = ("aic", "bic", "icl")  # that have a value for each model


@dataclass(frozen=True)
class Selection:
    """The models with 1, 2, … regimes, and what speaks for each.

    `table` has a row a model: `regimes, log_likelihood, parameters, aic, bic, icl, converged`; of
    the criteria less is better. `model` has the least `criterion`, or is at the `elbow`.
    """

    criterion: Criterion
    table: pl.DataFrame
    models: tuple[RegimeModel, ...]

    @property
    def model(self) -> RegimeModel:
        """The model that the criterion chooses."""
        if self.criterion == "elbow":
            return self.models[_elbow(self.table, self.models[0].n_points_)]
        return self.models[self.table[self.criterion].arg_min() or 0]

    @property
    def at_ceiling(self) -> bool:
        """True if the most regimes that were tried are the best: by BIC, if `elbow` chose."""
        curve = self.table["bic" if self.criterion == "elbow" else self.criterion]
        return 1 < len(curve) == (curve.arg_min() or 0) + 1


def select(
    x: NDArray[Any] | Sequence[NDArray[Any]], largest: int = 6, criterion: Criterion = "elbow", **options: Any
) -> Selection:
    """Fit models with 1 to `largest` regimes to (sequences, instances) or 1-D arrays, in seconds.

    AIC (Akaike 1974) is −2 log L + 2 p, BIC (Schwarz 1978) −2 log L + p log n with n the number of
    instances of all sequences; ICL (Biernacki, Celeux & Govaert 2000) takes the likelihood of the
    data together with the decoded regimes, so that regimes which can't be told apart count less.
    The elbow is where a regime gains the largest multiple of what the next one does: of those that
    BIC would take, as with data that no model is right for every regime more gains something.
    `options` are those of `RegimeModel`; to its starts come those that split a regime of the model
    with one regime less, so that the likelihood rises with the number. With too little data for so
    many regimes the curves end earlier. Raises `UsageError`, `TimingsError`.
    """
    if criterion not in get_args(Criterion):
        raise UsageError(f"criterion {criterion!r} is none of {', '.join(get_args(Criterion))}")
    if largest < 1:
        raise UsageError(f"{largest} regimes can't be fitted; ask for 1 or more")
    models: list[RegimeModel] = []
    for regimes in range(1, largest + 1):
        try:
            fewer = models[-1] if models else None
            models.append(RegimeModel(regimes, **options).fit_from(x, fewer))
        except HaloscopeError:
            if not models:
                raise
            break
    rows = [
        {
            "regimes": model.n_regimes,
            "log_likelihood": model.log_likelihood_,
            "parameters": model.n_parameters_,
            **{name: getattr(model, name)(x) for name in CRITERIA},
            "converged": model.converged_,
        }
        for model in models
    ]
    return Selection(criterion, pl.DataFrame(rows), tuple(models))


def _elbow(table: pl.DataFrame, points: int) -> int:
    """Return the row at the elbow; a gain that BIC would not pay for counts as what it asks."""
    most, last = table["bic"].arg_min() or 0, len(table) - 2
    if not most or last < 1:
        return most
    gains = np.diff(table["log_likelihood"].to_numpy())
    asked = np.diff(table["parameters"].to_numpy()) * np.log(points) / 2
    ratios = gains[:-1] / np.maximum(gains[1:], asked[1:])
    return 1 + int(ratios[: min(most, last)].argmax())
