"""The family of a regime's times that fits best: by BIC, with a check on times that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haloscope.base.arrays import Bytes, Floats
from haloscope.base.errors import HaloscopeError
from haloscope.markov.emissions.families import FAMILIES, family
from haloscope.markov.fitting.chains import NATIVE
from haloscope.markov.fitting.regime_model import RegimeModel
from haloscope.markov.statistics.fit_quality import goodness

AUTO = "auto"
_SIMPLEST = "gaussian"
# Series and instances of each that are looked at.
_MOST_ROWS, _MOST_INSTANCES = 8, 512
_STEPS = 60
# Families without kernels of their own take ten times as long: they get one start, fewer instances, and are
# not tried on longer series.
_MOST_SLOW, _MOST_FITTED = 128, 1 << 12


@dataclass(frozen=True)
class _Score:
    """BIC of models of all runs (less is better), and the log likelihood of held-out times."""

    bic: float
    held_out: float
    models: Sequence[RegimeModel]


def choose_family(runs: Sequence[Sequence[Floats]], regimes: int = 3, seed: int = 0) -> str:
    """Return the family with the smallest BIC among those that predict held-out times as well as Gaussians.

    The first half of each series predicts the second one. Gamma and Student's t, whose fits are slow, are
    tried only if the others fit badly and a run has at most 4096 instances on average. All runs get the same
    family, so that their regimes can be compared.

    Args:
        runs: The series of each run, durations in seconds without NaN.
        regimes: Number of regimes.
        seed: Seed of the starts.
    """
    native = [kind.name for kind in NATIVE]
    samples = [_sample(rows, _MOST_INSTANCES) for rows in runs]
    scores = _score_families(native, samples, regimes, seed)
    if not scores:
        return _SIMPLEST
    best = _select(scores)
    if sum(len(row) for rows in runs for row in rows) > _MOST_FITTED * len(runs):
        return best
    if all(_fits(model, rows) for model, rows in zip(scores[best].models, samples, strict=True)):
        return best
    fewer = [_sample(rows, _MOST_SLOW) for rows in runs]
    return _select(_score_families(list(FAMILIES), fewer, regimes, seed) or scores)


def _sample(rows: Sequence[Floats], most: int) -> list[Floats]:
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(_MOST_ROWS, len(rows))).astype(np.int64))
    return [rows[row][:most] for row in chosen.tolist()]


def _score_families(
    names: Sequence[str], samples: Sequence[Sequence[Floats]], regimes: int, seed: int
) -> dict[str, _Score]:
    """Return the scores of the families that allow these times."""
    scores = {}
    for name in names:
        try:
            scores[name] = _score(name, samples, regimes, seed)
        except HaloscopeError:
            continue
    return scores


def _score(name: str, samples: Sequence[Sequence[Floats]], regimes: int, seed: int) -> _Score:
    def fit(rows: Sequence[Floats]) -> RegimeModel:
        starts = 3 if family(name) in NATIVE else 1
        return RegimeModel(regimes, name, n_init=starts, max_iter=_STEPS, random_state=seed).fit(list(rows))

    models = [fit(rows) for rows in samples]
    bic = sum(model.bic(list(rows)) for model, rows in zip(models, samples, strict=True))
    first = [[row[: len(row) // 2] for row in rows] for rows in samples]
    second = [[row[len(row) // 2 :] for row in rows] for rows in samples]
    held_out = sum(fit(rows).score(list(rest)) for rows, rest in zip(first, second, strict=True))
    return _Score(bic, held_out, models)


def _select(scores: dict[str, _Score]) -> str:
    """Return the name with the smallest BIC whose held-out times are as likely as with Gaussians."""
    least = scores[_SIMPLEST].held_out if _SIMPLEST in scores else -np.inf
    order = sorted(scores, key=lambda name: scores[name].bic)
    return next((name for name in order if scores[name].held_out >= least), order[0])


def _fits(model: RegimeModel, rows: Sequence[Floats]) -> bool:
    """Return whether no regime of the model is a bad one."""
    durations = np.full((len(rows), max(map(len, rows))), np.nan)
    for row, values in zip(durations, rows, strict=True):
        row[: len(values)] = values

    def decode(matrix: Floats) -> Bytes:
        return np.asarray(model.predict(matrix))

    found = goodness(durations, model.start_, model.transition_, model.emission_, decode)
    return not any("bad model" in line for line in found.verdicts)
