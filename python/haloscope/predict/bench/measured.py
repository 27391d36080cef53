"""Fits of a machine model to measured points."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from haloscope.base.errors import MachineError
from haloscope.predict.bench.p2p_points import P2pPoint
from haloscope.predict.bench.sweep import median_interval
from haloscope.predict.bench.system import SMT, BenchSystem
from haloscope.predict.lines import fit_line, fit_pieces
from haloscope.predict.machine import (
    Hockney,
    Level,
    Link,
    LogGP,
    Machine,
    Matrix,
    MeasuredTime,
    PLogP,
    Protocol,
)

# Additions are timed between these sizes: smaller ones measure the call, larger ones the memory.
_OPERANDS = (1 << 10, 1 << 20)


def fit_machine(
    name: str, system: BenchSystem, points: Sequence[P2pPoint], description: str = "", source: str = ""
) -> Machine:
    """Fit a machine model.

    Args:
        name: Name of the model.
        system: The measured system.
        points: The measured points.
        description: Description of the machine.
        source: Where the numbers come from.

    Raises:
        MachineError: The latency of the farthest level was not measured.
    """
    levels = []
    for level in system.levels:
        fitted = fit_link([point for point in points if point.pair.level == level.name])
        if fitted is not None:
            levels.append(Level(name=level.name, cores=level.cores, **dict(fitted)))
    if not levels or levels[-1].cores != system.cores:
        raise MachineError(
            "no machine model: the latency between the farthest cores was not measured; "
            "omit --pair, and omit --test or give it latency"
        )
    return Machine(
        name=name,
        levels=tuple(levels),
        arithmetic=_fit_arithmetic(points),
        smt=fit_link([point for point in points if point.pair.level == SMT]),
        matrix=_make_matrix(points),
        description=description,
        source=source,
    )


def fit_link(points: Sequence[P2pPoint]) -> Link | None:
    """Fit the costs of messages of one level; None if its latency was not measured."""
    # The first pair represents the level; others are only shown.
    first = next((point.pair for point in points if point.test == "latency"), None)
    own = sorted((point for point in points if point.pair == first), key=lambda point: point.bytes)
    times = [point for point in own if point.test == "latency" and point.bytes > 0]
    if not times:
        return None
    sizes, medians = [point.bytes for point in times], [point.median for point in times]
    latency, low, high = median_interval(times[0].samples)
    parts: dict[str, Any] = {
        "latency": _to_time(latency),
        "latency_interval": (_to_time(low), _to_time(high)),
    }
    if len(times) >= 3:
        fitted = fit_line(sizes, medians)
        parts["hockney"] = Hockney(
            alpha=_to_time(fitted.alpha),
            beta=_to_time(fitted.beta),
            alpha_interval=_to_interval(fitted.alpha_interval),
            beta_interval=_to_interval(fitted.beta_interval),
        )
        if fitted.beta > 0:
            slow, fast = fitted.beta_interval[1], max(fitted.beta_interval[0], fitted.beta / 100)
            parts["bandwidth"] = _to_speed(fitted.beta)
            parts["bandwidth_interval"] = (_to_speed(slow), _to_speed(fast))
        parts["protocols"] = tuple(
            Protocol(
                first=point.first,
                latency=_to_time(point.alpha),
                bandwidth=_to_speed(point.beta) if point.beta > 0 else None,
            )
            for point in fit_pieces(sizes, medians)
        )
    parts["measured"] = _list_times(own, times)
    return Link(**parts, **_fit_overheads(own, latency, (low, high)))


def _list_times(points: Sequence[P2pPoint], times: Sequence[P2pPoint]) -> tuple[MeasuredTime, ...]:
    """Return the medians of latencies, with the gaps that were measured at the same sizes."""
    gap_times = find_gaps(points)
    rows = []
    # With all pairs, the smallest size exists twice; the first one is of the pair alone.
    for point in {point.bytes: point for point in reversed(times)}.values():
        middle, low, high = median_interval(point.samples)
        gap = _to_time(gap_times[point.bytes]) if point.bytes in gap_times else None
        rows.append(
            MeasuredTime(
                bytes=point.bytes, time=_to_time(middle), interval=(_to_time(low), _to_time(high)), gap=gap
            )
        )
    return tuple(sorted(rows, key=lambda row: row.bytes))


def _fit_overheads(
    points: Sequence[P2pPoint], latency: float, interval: tuple[float, float]
) -> dict[str, Any]:
    """Return the table of PLogP and the parameters of LogGP, if gaps and overheads were measured."""
    gap_times = find_gaps(points)
    overheads = {point.bytes: point for point in points if point.test == "overhead"}
    both = sorted(gap_times.keys() & overheads.keys())
    if not both:
        return {}
    rows = tuple(
        PLogP(
            bytes=size,
            g=_to_time(gap_times[size]),
            send=_to_time(overheads[size].median),
            receive=_to_time(float(np.median(overheads[size].receive))),
        )
        for size in both
    )
    if len(both) < 3:
        return {"plogp": rows}
    small = overheads[both[0]]
    sent, received = median_interval(small.samples), median_interval(small.receive)
    o, o_low, o_high = ((a + b) / 2 for a, b in zip(sent, received, strict=True))
    # A message of m bytes delays the next one by g + (m - 1) G.
    gap = fit_line([size - 1 for size in both], [gap_times[size] for size in both])
    return {
        "plogp": rows,
        "loggp": LogGP(
            L=_to_time(latency - 2 * o),
            o=_to_time(o),
            g=_to_time(gap.alpha),
            G=_to_time(gap.beta),
            L_interval=_to_interval((interval[0] - 2 * o_high, interval[1] - 2 * o_low)),
            o_interval=_to_interval((o_low, o_high)),
            g_interval=_to_interval(gap.alpha_interval),
            G_interval=_to_interval(gap.beta_interval),
        ),
    }


def find_gaps(points: Sequence[P2pPoint]) -> dict[int, float]:
    """Return g(m), the time between messages of a window (s), by bytes."""
    return {point.bytes: point.median for point in points if point.test == "bw"}


def _fit_arithmetic(points: Sequence[P2pPoint]) -> Decimal | None:
    chosen = {
        point.bytes: point.median
        for point in points
        if point.test == "reduce" and _OPERANDS[0] <= point.bytes <= _OPERANDS[1]
    }
    if len(chosen) < 3:
        return None
    beta = fit_line(list(chosen), list(chosen.values())).beta
    return _to_speed(beta) if beta > 0 else None


def _make_matrix(points: Sequence[P2pPoint]) -> Matrix | None:
    """Return the symmetric matrix of latencies at the smallest size, if all pairs were measured."""
    times = [point for point in points if point.test == "latency" and point.pair.level != SMT]
    size = min((point.bytes for point in times), default=0)
    known = {(point.pair.first, point.pair.second): point.median for point in times if point.bytes == size}
    cores = sorted({core for pair in known for core in pair})
    if len(known) < 2 or len(known) < len(cores) * (len(cores) - 1) / 2:
        return None
    known |= {(second, first): time for (first, second), time in known.items()}
    rows = tuple(tuple(0.0 if i == j else round(1e6 * known[i, j], 4) for j in cores) for i in cores)
    return Matrix(cores=tuple(cores), microseconds=rows)


def _to_time(seconds: float) -> Decimal:
    return Decimal(f"{max(seconds, 0.0):.4g}")


def _to_interval(interval: tuple[float, float]) -> tuple[Decimal, Decimal]:
    return _to_time(interval[0]), _to_time(interval[1])


def _to_speed(seconds_a_byte: float) -> Decimal:
    return Decimal(f"{1 / seconds_a_byte:.4g}")
