"""The hidden Markov model of timings, with scikit-learn's interface, and the number of its regimes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from haloscope.base.arrays import AnyArray, Bytes, Floats, Indices
from haloscope.base.errors import HaloscopeError, TimingsError, UsageError
from haloscope.markov.emissions import family
from haloscope.markov.emissions.emission import Emission
from haloscope.markov.fitting.chains import NONE, Parameters, PreparedSequences, Sequences, Series
from haloscope.markov.fitting.intervals import Intervals, Likelihood, shares
from haloscope.markov.fitting.saved import Saved, emission_of, read_model, write
from haloscope.markov.fitting.searching import Climb, Search, Searched, SearchLimits, disagreement, doubts
from haloscope.profile.kernels import MOST_STATES, Chain, available_threads


class RegimeModel:
    """Regimes of timing series in seconds: a Markov chain of states, each with its durations.

    After Heldman, Rudi & Bessac (ICS 2025, doi 10.1145/3721145.3730413), section 2.2. Wherever a
    method takes `x`, it is (sequences, instances), one series, or a list of 1-D arrays; NaN at the
    end of a row means that the series has ended. States are numbered by their mean, fastest first.

    Fitted: `means_`, `stds_` (seconds), `transition_` (row: from), `start_`, `log_likelihood_` (natural,
    total), `n_iter_` and `converged_` of the last climb, `parameters_` of the family by name,
    `n_parameters_`, `n_points_` and `warnings_`, a line each. `source_` describes the fitted times, for its
    file.
    """

    means_: Floats
    stds_: Floats
    transition_: Floats
    start_: Floats
    emission_: Emission
    parameters_: dict[str, Floats]
    log_likelihood_: float
    n_points_: int
    n_iter_: int
    converged_: bool
    warnings_: tuple[str, ...]
    source_: Mapping[str, Any] = {}

    def __init__(  # noqa: PLR0913 - after scikit-learn, whose models have many
        self,
        n_regimes: int = 3,
        emission: str = "gaussian",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: int | None = 0,
        *,
        memory: bool = True,
        stickiness: float = 0.0,
        threads: int | None = None,
    ) -> None:
        """Check and keep options. Raises `UsageError` for one that is out of range.

        `n_init` starts are tried, the three likeliest climb to the end, and the likeliest is kept;
        `random_state` is the seed of all starts after the third except the last, which grows by splits, and
        of `sample`. A climb ends when the expected gain of log likelihood per instance is below `tol`.
        Without `memory` the regime of each instance is independent (a mixture). `stickiness` is a number of
        further instances that stay in each regime. By default all processors are used; the result does not
        depend on `threads`.
        """
        if not 1 <= n_regimes <= MOST_STATES:
            raise UsageError(f"{n_regimes} regimes cannot be fitted; ask for 1 to {MOST_STATES}")
        if n_init < 1 or max_iter < 1 or stickiness < 0 or (threads is not None and threads < 1):
            raise UsageError("n_init, max_iter and threads are at least 1, stickiness at least 0")
        family(emission)
        self.n_regimes, self.emission, self.n_init = n_regimes, emission, n_init
        self.max_iter, self.tol, self.random_state = max_iter, tol, random_state
        self.memory, self.stickiness, self.threads = memory, stickiness, threads

    def __repr__(self) -> str:
        return f"RegimeModel(n_regimes={self.n_regimes}, emission={self.emission!r})"

    def fit(self, x: Series) -> RegimeModel:
        """Estimate all parameters by maximum likelihood; returns itself.

        With more than a million instances in several sequences, a part of the sequences is fitted first and
        chooses the start. For regimes that are neither Gaussian nor log-normal, the limit is an eighth of
        that. No state is narrower than 1e-4 of the distance between the quartiles of all durations (of their
        logarithms, for log-normal regimes); `warnings_` names states at this limit. Raises `TimingsError`.
        """
        return self.fit_from(x, None)

    def fit_from(self, x: Series, fewer: RegimeModel | None) -> RegimeModel:
        """Fit with one more start for each regime of a fitted model of one regime `fewer`.

        With these starts, a model with more regimes is never less likely.
        """
        sequences = Sequences.from_series(x)
        if sequences.points < self.n_regimes:
            raise TimingsError(f"{sequences.points} instances are too few for {self.n_regimes} regimes")
        kind = family(self.emission)
        rules = SearchLimits(self.max_iter, self.tol, self.memory, self.stickiness)
        search = Search(kind, self.n_regimes, self.n_init, self.random_state, rules, self._threads)
        found = search.run(sequences, None if fewer is None else fewer._parameters)
        best = found.best
        order = np.argsort(best.parameters.emission.means, kind="stable")
        self._keep(best.reorder(order), found, sequences)
        return self

    def predict(self, x: Series) -> Bytes | list[Bytes]:
        """Return the most likely regimes (Viterbi), in the shape of `x`; 255 where a row has ended."""
        sequences = Sequences.from_series(x)
        return sequences.restore(self.decode(sequences))

    def decode(self, sequences: Sequences) -> Bytes:
        """Return the most likely regimes, laid out as the values of `sequences`."""
        return self._work(sequences).decode(self._parameters)

    def predict_proba(self, x: Series) -> Floats | list[Floats]:
        """Return the probability of each regime (last axis) at each instance, given the whole series."""
        sequences = Sequences.from_series(x)
        return sequences.restore_rows(self._work(sequences).posterior(self._parameters))

    def score(self, x: Series) -> float:
        """Return the natural log likelihood of all sequences together."""
        return float(self._work(Sequences.from_series(x)).log_likelihoods(self._parameters).sum())

    def aic(self, x: Series) -> float:
        """Return Akaike's criterion, −2 log L + 2 p; lower is better."""
        return -2 * self.score(x) + 2 * self.n_parameters_

    def bic(self, x: Series) -> float:
        """Return Schwarz's criterion, −2 log L + p log n for n instances; lower is better."""
        sequences = Sequences.from_series(x)
        penalty = self.n_parameters_ * float(np.log(sequences.points))
        likelihoods = self._work(sequences).log_likelihoods(self._parameters)
        return -2 * float(likelihoods.sum()) + penalty

    def icl(self, x: Series) -> float:
        """Return `bic` for the likelihood of the instances together with their decoded regimes.

        Integrated completed likelihood: Biernacki, Celeux & Govaert 2000, doi 10.1109/34.865189.
        """
        sequences = Sequences.from_series(x)
        states = self.decode(sequences)
        inside = states != NONE
        chosen = states[inside].astype(np.intp)
        density = self.emission_.log_density(sequences.values[inside])
        total = density[np.arange(len(chosen)), chosen].sum() + self._path(sequences, states)
        return -2 * float(total) + self.n_parameters_ * float(np.log(sequences.points))

    def intervals(self, x: Series, level: float = 0.95) -> Intervals:
        """Return confidence intervals of means, deviations and shares, for the `x` that was fitted.

        They come from the observed information, and hold for many instances of independent series from the
        model. Ranks that slow down together are not independent, so their intervals are too narrow.
        """
        if not 0 < level < 1:
            raise UsageError(f"the level {level:g} is not between 0 and 1")
        s, chain = Sequences.from_series(x).pack(), self._parameters.chain
        return Likelihood(s.values, s.places, self.emission_, chain, self.memory, self._threads).intervals(
            level
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model as JSON, whole or not at all. Raises `OutputError`.

        docs/reference/regimes-model.md describes the file.
        """
        _ = self._parameters
        write(self._make_record(), path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> RegimeModel:
        """Read what `save` wrote: a fitted model. Raises `ProfileError`."""
        saved = read_model(path)
        model = cls(len(saved.start), saved.family, memory=saved.memory)
        model.emission_ = emission_of(saved, path)
        model.means_, model.stds_ = model.emission_.means, model.emission_.stds
        model.parameters_ = model.emission_.parameters
        model.start_, model.transition_ = saved.start, saved.transition
        model.log_likelihood_ = saved.number("log_likelihood", float("nan"))
        model.n_points_, model.n_iter_ = int(saved.number("points")), int(saved.number("iterations"))
        model.converged_ = saved.fit.get("converged") is True
        model.warnings_, model.source_ = (), saved.source
        return model

    def _make_record(self) -> Saved:
        """Return the content of the model's file."""
        return Saved(
            self.emission,
            self.memory,
            self.parameters_,
            self.start_,
            self.transition_,
            {"mean": self.means_, "std": self.stds_, "share": shares(self.transition_)},
            {
                "log_likelihood": self.log_likelihood_,
                "points": self.n_points_,
                "iterations": self.n_iter_,
                "converged": self.converged_,
            },
            dict(self.source_),
        )

    def sample(self, n: int, *, random_state: int | None = None) -> tuple[Floats, Indices]:
        """Draw one series of `n` durations; returns them and their regimes."""
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(seed)
        draws = rng.random(n).tolist()
        start, rows = np.cumsum(self.start_), np.cumsum(self.transition_, axis=1)
        states = np.empty(n, dtype=np.intp)
        row = start
        for i, draw in enumerate(draws):
            states[i] = state = min(int(np.searchsorted(row, draw, "right")), self.n_regimes - 1)
            row = rows[state]
        return self.emission_.sample(states, rng), states

    @property
    def n_parameters_(self) -> int:
        """The number of estimated parameters."""
        regimes = self.n_regimes
        chain = regimes * regimes - 1 if self.memory else regimes - 1
        kind = family(self.emission)
        return chain + regimes * kind.n_parameters + kind.n_shared

    @property
    def _threads(self) -> int:
        return self.threads or available_threads()

    @property
    def _parameters(self) -> Parameters:
        if not hasattr(self, "emission_"):
            raise UsageError("this RegimeModel is not fitted yet; call fit first")
        return Parameters(Chain(self.start_, self.transition_), self.emission_)

    def _work(self, sequences: Sequences) -> PreparedSequences:
        return PreparedSequences(sequences, type(self._parameters.emission), self._threads)

    def _keep(self, best: Climb, found: Searched, sequences: Sequences) -> None:
        chain, self.emission_ = best.parameters.chain, best.parameters.emission
        self.start_, self.transition_ = chain.start, chain.transition
        self.means_, self.stds_ = self.emission_.means, self.emission_.stds
        self.parameters_ = self.emission_.parameters
        self.log_likelihood_, self.n_iter_ = best.log_likelihood, best.steps
        self.converged_, self.n_points_ = best.converged, sequences.points
        self.warnings_ = (*doubts(best, sequences, self.n_parameters_), *disagreement(found))

    def _path(self, sequences: Sequences, states: Bytes) -> float:
        """Return the log probability of the sequences' paths through the regimes."""
        with np.errstate(divide="ignore"):
            start, transition = np.log(self.start_), np.log(self.transition_)
        total = 0.0
        for begin, length in zip(sequences.begins.tolist(), sequences.lengths.tolist(), strict=True):
            path = states[begin : begin + length].astype(np.intp)
            total += start[path[0]] if length else 0.0
            total += transition[path[:-1], path[1:]].sum()
        return float(total)


Criterion = Literal["elbow", "aic", "bic", "icl"]
CRITERIA: tuple[Criterion, ...] = ("aic", "bic", "icl")  # that have a value for each model


@dataclass(frozen=True)
class Selection:
    """The models with 1, 2, … regimes, and their criteria.

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
        """True if the largest number that was tried is the best one (by BIC, if `elbow` chose)."""
        curve = self.table["bic" if self.criterion == "elbow" else self.criterion]
        return 1 < len(curve) == (curve.arg_min() or 0) + 1


def select(
    x: AnyArray | Sequence[AnyArray], largest: int = 6, criterion: Criterion = "elbow", **options: Any
) -> Selection:
    """Fit models with 1 to `largest` regimes to (sequences, instances) or 1-D arrays, in seconds.

    AIC (Akaike 1974) is −2 log L + 2 p, BIC (Schwarz 1978) −2 log L + p log n with n the number of instances
    of all sequences; ICL (Biernacki, Celeux & Govaert 2000) uses the likelihood of the data together with the
    decoded regimes, so that regimes that overlap count less. At the elbow, a regime gains the largest
    multiple of the next one's gain. Gains below BIC's penalty do not count, because with real data each
    further regime gains a little.

    Further starts split a regime of the model with one regime less, so the likelihood rises with the number.

    Args:
        x: Durations in seconds, (sequences, instances) or 1-D arrays.
        criterion: The criterion.
        largest: Largest number of regimes. With too few data for it, the curves end earlier.
        options: Options of `RegimeModel`.

    Raises:
        UsageError: If an option is out of range.
        TimingsError: If the durations are unsuitable.
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
    """Return the row at the elbow; gains below BIC's penalty count as the penalty."""
    most, last = table["bic"].arg_min() or 0, len(table) - 2
    if not most or last < 1:
        return most
    gains = np.diff(table["log_likelihood"].to_numpy())
    asked = np.diff(table["parameters"].to_numpy()) * np.log(points) / 2
    ratios = gains[:-1] / np.maximum(gains[1:], asked[1:])
    return 1 + int(ratios[: min(most, last)].argmax())
