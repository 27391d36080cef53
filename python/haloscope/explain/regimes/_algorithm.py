"""Algorithm 1 of Heldman, Rudi & Bessac (ICS 2025): regimes from some ranks, for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.errors import UsageError
from haloscope.explain import _kernels
from haloscope.explain.regimes.fitting._sequences import Sequences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from haloscope.explain.regimes.fitting._regime_model import RegimeModel
    from haloscope.explain.regimes.timings._timings import Timings

__all__ = ["Regimes", "chosen", "find_regimes", "regimes_by", "representative"]

RANKS = 20  # section 3.1


@dataclass(frozen=True)
class Regimes:
    """What Algorithm 1 found.

    `training` are the rows of `timings` that `model` was fitted to; `states` the regime of each
    rank and instance, 0 the fastest, 255 where there is no instance.
    """

    timings: Timings
    model: RegimeModel
    training: NDArray[np.int64]
    states: NDArray[np.uint8]


def find_regimes(
    timings: Timings,
    model: RegimeModel,
    *,
    ranks: int = RANKS,
    instances: slice | NDArray[np.integer] | None = None,
) -> Regimes:
    """Fit `model` to representative ranks, and decode all instances of all ranks with it.

    `ranks` are chosen as in section 3.1, by `representative`; `instances` are those that the model
    is fitted to (by default all), as a slice or as numbers in order: they are taken as neighbours
    in time. A reduced series (`timings.reduced`, Remark 1) has one row, which is taken. Raises
    `TimingsError`, and `UsageError` if no instance is chosen.
    """
    training = representative(timings, ranks)
    return regimes_by(model.fit(chosen(timings, training, instances)), timings, training)


def regimes_by(model: RegimeModel, timings: Timings, training: NDArray[np.int64]) -> Regimes:
    """Decode all instances of all ranks with a model that was fitted to the rows `training`."""
    model.source_ = {
        "name": timings.name,
        "region": timings.region,
        "ranks": timings.ranks[training].tolist(),
        "instances": int(timings.counts[training].max()),
    }
    everything = Sequences.of_timings(timings)
    states = model.decoded(everything).reshape(timings.durations.shape)
    return Regimes(timings, model, training, states)


def representative(timings: Timings, number: int = RANKS) -> NDArray[np.int64]:
    """Return the rows of `number` ranks, equidistant among all, sorted by their median instance."""
    if number < 1:
        raise UsageError(f"{number} ranks to be fitted; take 1 or more")
    everything = Sequences.of_timings(timings)
    medians = _kernels.medians(everything.values, everything.places, _kernels.available_threads())
    order = np.argsort(medians, kind="stable").astype(np.int64)
    places = np.linspace(0, len(order) - 1, min(number, len(order))).round().astype(np.int64)
    rows: NDArray[np.int64] = order[places]
    return rows


def chosen(
    timings: Timings, rows: NDArray[np.int64], instances: slice | NDArray[np.integer] | None
) -> list[NDArray[np.float64]]:
    """The series of these rows, or these instances of them. Raises `UsageError` if none is left."""
    every = [timings.durations[row, : timings.counts[row]] for row in rows.tolist()]
    if instances is None:
        return every
    if isinstance(instances, slice):
        parts = [row[instances] for row in every]
    else:
        parts = [row[instances[instances < len(row)]] for row in every]
    if not any(len(part) for part in parts):
        raise UsageError("no rank has any of the chosen instances; choose others")
    return parts
