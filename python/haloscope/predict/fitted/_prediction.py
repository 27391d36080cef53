"""What fitted models say: a time, and the algorithm to choose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.errors import UsageError
from haloscope.predict.fitted._observation import Observation, Theta
from haloscope.predict.fitted._parameters import generic_rows
from haloscope.predict.schedule import Plan

if TYPE_CHECKING:
    from haloscope.predict._machine import Machine
    from haloscope.predict.fitted._parameters import FittedAlgorithm

__all__ = ["Chosen", "choose", "predict"]


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
    return _time(machine, model, Plan(ranks, size, segment, fanout), mapping)


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
        raise UsageError(f"{machine.name}: nothing was fitted to {collective}; haloscope model --fit does it")
    timed = [
        Chosen(
            algorithm,
            (model := _of(machine, collective, algorithm)).number,
            segment,
            fanout,
            _time(machine, model, Plan(ranks, size, segment, fanout), mapping),
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
        " haloscope model --fit SWEEP.jsonl does it"
    )


def _time(machine: Machine, model: FittedAlgorithm, plan: Plan, mapping: str) -> float:
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
