"""The run's length as an exact function of latency: convex, with straight pieces.

The time of each path through the event graph is a linear function of latency; its slope is the number of
latencies on the path. The run's length is that of the longest path, the maximum of these lines. A replay for
one latency gives the length and the slope there, so one of the lines. Where two lines meet, either the
maximum has a corner, or a replay finds a line above both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haloscope.base.arrays import Bytes, Flags, Floats
from haloscope.profile.waiting.graph import ABSENT, COUNTED, Question, Tape

# Share of the run's length: replays that differ by less are on one line.
_SAME = 1e-12


@dataclass(frozen=True)
class Pieces:
    """A convex function of straight pieces.

    From `begin[i]` on it is `time[i]` + `slope[i]` × (x − `begin[i]`). `x` is the time added per unit. The
    last piece ends at `end`. All have one unit of time. `is_whole`: no corner is missing.
    """

    begin: Floats
    time: Floats
    slope: Floats
    end: float
    is_whole: bool

    def scale(self, factor: float) -> Pieces:
        """Return the same in a different unit of time."""
        return Pieces(self.begin * factor, self.time * factor, self.slope, self.end * factor, self.is_whole)

    def evaluate(self, x: float) -> float:
        """Return the run's length for `x`, 0 to `end`."""
        piece = max(int(np.searchsorted(self.begin, x, side="right")) - 1, 0)
        return float(self.time[piece] + self.slope[piece] * (x - self.begin[piece]))


@dataclass(frozen=True)
class _Line:
    x: float
    time: float
    slope: float

    def evaluate(self, x: float) -> float:
        return self.time + self.slope * (x - self.x)


def pieces(tape: Tape, roles: Bytes, end: float, most: int = 10_000) -> Pieces:
    """Return the run's length for all parameters from 0 to `end` (ns), of at most about `most` pieces."""
    first, last = _lines(tape, roles, [0.0, end])
    known = [first, last]
    gaps = [(first, last)]
    is_whole = True
    while gaps:
        if len(known) > most:
            is_whole = False
            break
        meetings = [(left, right, _meeting(left, right)) for left, right in gaps]
        corners = [(left, right, x) for left, right, x in meetings if x is not None]
        found = _lines(tape, roles, [x for *_, x in corners])
        gaps = []
        for (left, right, x), line in zip(corners, found, strict=True):
            if line.time - left.evaluate(x) > _SAME * line.time:
                known.append(line)
                gaps += [(left, line), (line, right)]
    return _join_lines(known, end, is_whole)


def _lines(tape: Tape, roles: Bytes, parameters: Sequence[float]) -> list[_Line]:
    if not parameters:
        return []
    answers = tape.play([Question(x, roles) for x in parameters])
    return [_Line(x, float(time), float(slope)) for x, (time, slope) in zip(parameters, answers, strict=True)]


def _meeting(left: _Line, right: _Line) -> float | None:
    """Return the point at which two lines meet, if it is between their points; None if they are equal."""
    if right.slope <= left.slope or right.time - left.evaluate(right.x) <= _SAME * right.time:
        return None
    x = (left.evaluate(0) - right.evaluate(0)) / (right.slope - left.slope)
    return x if left.x < x < right.x else None


def _join_lines(known: list[_Line], end: float, is_whole: bool) -> Pieces:
    lines = sorted(known, key=lambda line: (line.slope, line.x))
    begins, kept = [0.0], [lines[0]]
    for line in lines[1:]:
        if line.slope <= kept[-1].slope:
            continue
        x = (kept[-1].evaluate(0) - line.evaluate(0)) / (line.slope - kept[-1].slope)
        begins.append(min(max(x, begins[-1]), end))
        kept.append(line)
    times = [line.evaluate(x) for line, x in zip(kept, begins, strict=True)]
    slopes = [line.slope for line in kept]
    return Pieces(np.array(begins), np.array(times), np.array(slopes), end, is_whole)


def find_tolerance(tape: Tape, masks: Sequence[Flags], longer: Sequence[float]) -> tuple[Floats, Floats]:
    """Return the time that can be added per unit of edges in each mask until a run is that much longer.

    Args:
        tape: The event graph.
        masks: Groups of edges, (groups,) each.
        longer: Shares of the run's length by which it becomes longer.

    Returns:
        The time in ns, (masks, longer), infinite if the run never becomes longer; and the slope at 0,
        (masks,), the number of units on the critical path.
    """
    roles = [np.where(mask, COUNTED, 0).astype(np.uint8) for mask in masks]
    goals = tape.length * (1 + np.asarray(longer, dtype=np.float64))
    # If x is added once on any path, the run is longer than x. All lines are below the run's length, so the
    # length reaches a goal before any line does: Newton's method, with the lines of all goals.
    most = np.tile(goals, (len(masks), 1))
    slopes = np.zeros(len(masks))
    asked = [(i, 0.0) for i in range(len(masks))]
    is_open = np.ones(most.shape, dtype=np.bool_)
    while asked:
        answers = tape.play([Question(x, roles[i]) for i, x in asked])
        for (i, x), (time, slope) in zip(asked, answers, strict=True):
            if x == 0:
                slopes[i] = slope
            elif slope == 0:
                most[i] = np.inf
            is_open[i] &= ~((most[i] == x) & (time <= goals * (1 + _SAME))) & (most[i] < np.inf)
            if slope > 0:
                most[i] = np.minimum(most[i], np.where(is_open[i], x + (goals - time) / slope, most[i]))
        asked = [(i, x) for i in range(len(masks)) for x in np.unique(most[i][is_open[i]]).tolist()]
    return most, slopes


def find_length_without_waiting(tape: Tape, masks: Sequence[Flags]) -> Floats:
    """Return the run's length (ns) without waiting in the groups of each mask, (masks,)."""
    if not masks:
        return np.empty(0)
    roles = [np.where(mask, ABSENT, 0).astype(np.uint8) for mask in masks]
    answers: Floats = tape.play([Question(0.0, role) for role in roles])
    return answers[:, 0]
