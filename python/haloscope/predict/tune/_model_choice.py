"""Choosing by a machine's fitted model, where nothing was measured at the points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from haloscope.base.errors import UsageError
from haloscope.predict.fitted._prediction import choose, predict
from haloscope.predict.tune._choice import Candidate
from haloscope.predict.tune._verify import Point

if TYPE_CHECKING:
    from haloscope.predict._machine import Machine

__all__ = ["choose_by_model", "model_points"]


def model_points(
    machine: Machine, collectives: Sequence[str], ranks: Sequence[int], sizes: Sequence[int]
) -> list[Point]:
    """Return the grid, over what was fitted where nothing is asked for."""
    fitted = {one.collective for one in machine.fitted}
    if not fitted:
        raise UsageError(
            f"{machine.name}: has no models of algorithms; haloscope model --fit SWEEP.jsonl "
            "puts them in"
        )
    unknown = sorted(set(collectives) - fitted)
    if unknown:
        raise UsageError(
            f"{machine.name}: nothing was fitted to {', '.join(unknown)}; there is "
            f"{', '.join(sorted(fitted))}"
        )
    return [
        Point(collective, count, 0 if collective == "barrier" else size)
        for collective in (collectives or sorted(fitted))
        for count in ranks
        for size in ([0] if collective == "barrier" else sizes)
    ]


def choose_by_model(
    machine: Machine, points: Iterable[Point], margin: float = 0.05
) -> dict[Point, Candidate]:
    """Return the fastest by the model; the library's own where it is not much slower."""
    with_default = {one.collective for one in machine.fitted if one.algorithm == "default"}
    chosen: dict[Point, Candidate] = {}
    for point in points:
        where = point.collective, point.ranks, point.bytes
        best = choose(machine, *where)
        chosen[point] = Candidate(best.algorithm, best.number or 0, best.segment, best.fanout)
        if point.collective in with_default:
            own = predict(machine, point.collective, "default", point.ranks, point.bytes)
            if own < best.time * (1 + margin):
                chosen[point] = Candidate()
    return chosen
