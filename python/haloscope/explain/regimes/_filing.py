"""Between a fitted model and what its file says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.errors import ProfileError
from haloscope.explain.regimes._families import family
from haloscope.explain.regimes._intervals import shares
from haloscope.explain.regimes._saved import Saved

if TYPE_CHECKING:
    from os import PathLike

    from haloscope.explain.regimes._emissions import Emission
    from haloscope.explain.regimes._model import RegimeModel

__all__ = ["emission_of", "filed", "restore"]


def filed(model: RegimeModel) -> Saved:
    """Return what is to be written of a fitted model."""
    return Saved(
        model.emission,
        model.memory,
        model.parameters_,
        model.start_,
        model.transition_,
        {"mean": model.means_, "std": model.stds_, "share": shares(model.transition_)},
        {
            "log_likelihood": model.log_likelihood_,
            "points": model.n_points_,
            "iterations": model.n_iter_,
            "converged": model.converged_,
        },
        dict(model.source_),
    )


def restore(model: RegimeModel, saved: Saved, path: str | PathLike[str]) -> None:
    """Make a model what it was when it was fitted. Raises `ProfileError`."""
    model.emission_ = emission_of(saved, path)
    model.means_, model.stds_ = model.emission_.means, model.emission_.stds
    model.parameters_ = model.emission_.parameters
    model.start_, model.transition_ = saved.start, saved.transition
    model.log_likelihood_ = saved.number("log_likelihood", float("nan"))
    model.n_points_, model.n_iter_ = int(saved.number("points")), int(saved.number("iterations"))
    model.converged_ = saved.fit.get("converged") is True
    model.warnings_, model.source_ = (), saved.source


def emission_of(saved: Saved, path: str | PathLike[str]) -> Emission:
    """Return the regimes of a file. Raises `ProfileError` if their durations are infinite."""
    emission = family(saved.family).from_parameters(saved.parameters)
    with np.errstate(all="ignore"):
        if not (np.isfinite(emission.means).all() and (emission.stds > 0).all()
                and np.isfinite(emission.stds).all()):  # fmt: skip
            raise ProfileError(f"{path}: has regimes without mean or deviation; fit it anew")
    return emission
