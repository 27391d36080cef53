"""From points to a machine model: what is fitted, and from what."""

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


def machine(
    name: str, system: BenchSystem, points: Sequence[P2pPoint], description: str = "", source: str = ""
) -> Machine:
    """Return the model of what was measured. Raises `MachineError` if no level was."""
    levels = []
    for level in system.levels:
        chosen = [one for one in points if one.pair.level == level.name]
        made = link(chosen)
        if made is not None:
            levels.append(Level(name=level.name, cores=level.cores, **dict(made)))
    if not levels or levels[-1].cores != system.cores:
        raise MachineError(
            "no machine model: the latency between the farthest cores was not measured; "
            "leave out --pair, and --test or name latency there"
        )
    return Machine(
        name=name,
        levels=tuple(levels),
        arithmetic=_arithmetic(points),
        smt=link([one for one in points if one.pair.level == SMT]),
        matrix=_matrix(points),
        description=description,
        source=source,
    )


def link(points: Sequence[P2pPoint]) -> Link | None:
    """Return what messages of one level cost, if its latency was measured."""
    # The first pair of a level stands for it; others are only shown.
    first = next((one.pair for one in points if one.test == "latency"), None)
    own = sorted((one for one in points if one.pair == first), key=lambda one: one.bytes)
    times = [one for one in own if one.test == "latency" and one.bytes > 0]
    if not times:
        return None
    sizes, medians = [one.bytes for one in times], [one.median for one in times]
    latency, low, high = median_interval(times[0].samples)
    parts: dict[str, Any] = {"latency": _time(latency), "latency_interval": (_time(low), _time(high))}
    if len(times) >= 3:
        fitted = fit_line(sizes, medians)
        parts["hockney"] = Hockney(
            alpha=_time(fitted.alpha),
            beta=_time(fitted.beta),
            alpha_interval=_pair(fitted.alpha_interval),
            beta_interval=_pair(fitted.beta_interval),
        )
        if fitted.beta > 0:
            slow, fast = fitted.beta_interval[1], max(fitted.beta_interval[0], fitted.beta / 100)
            parts["bandwidth"] = _speed(fitted.beta)
            parts["bandwidth_interval"] = (_speed(slow), _speed(fast))
        parts["protocols"] = tuple(
            Protocol(
                first=one.first,
                latency=_time(one.alpha),
                bandwidth=_speed(one.beta) if one.beta > 0 else None,
            )
            for one in fit_pieces(sizes, medians)
        )
    parts["measured"] = _measured(own, times)
    return Link(**parts, **_parallel_models(own, latency, (low, high)))


def _measured(points: Sequence[P2pPoint], times: Sequence[P2pPoint]) -> tuple[MeasuredTime, ...]:
    """Return the medians of latencies, with gaps where they were measured at the same size."""
    apart = gaps(points)
    rows = []
    # With all pairs the smallest size is there twice; the first is of the pair alone.
    for one in {one.bytes: one for one in reversed(times)}.values():
        middle, low, high = median_interval(one.samples)
        gap = _time(apart[one.bytes]) if one.bytes in apart else None
        rows.append(
            MeasuredTime(bytes=one.bytes, time=_time(middle), interval=(_time(low), _time(high)), gap=gap)
        )
    return tuple(sorted(rows, key=lambda row: row.bytes))


def _parallel_models(
    points: Sequence[P2pPoint], latency: float, interval: tuple[float, float]
) -> dict[str, Any]:
    """Return PLogP's table and LogGP's numbers, if gaps and overheads were measured."""
    apart = gaps(points)
    overheads = {one.bytes: one for one in points if one.test == "overhead"}
    both = sorted(apart.keys() & overheads.keys())
    if not both:
        return {}
    rows = tuple(
        PLogP(
            bytes=size,
            g=_time(apart[size]),
            send=_time(overheads[size].median),
            receive=_time(float(np.median(overheads[size].receive))),
        )
        for size in both
    )
    if len(both) < 3:
        return {"plogp": rows}
    small = overheads[both[0]]
    sent, received = median_interval(small.samples), median_interval(small.receive)
    o, o_low, o_high = ((a + b) / 2 for a, b in zip(sent, received, strict=True))
    # The next message waits g + (m - 1) G for one of m bytes.
    gap = fit_line([size - 1 for size in both], [apart[size] for size in both])
    return {
        "plogp": rows,
        "loggp": LogGP(
            L=_time(latency - 2 * o),
            o=_time(o),
            g=_time(gap.alpha),
            G=_time(gap.beta),
            L_interval=_pair((interval[0] - 2 * o_high, interval[1] - 2 * o_low)),
            o_interval=_pair((o_low, o_high)),
            g_interval=_pair(gap.alpha_interval),
            G_interval=_pair(gap.beta_interval),
        ),
    }


def gaps(points: Sequence[P2pPoint]) -> dict[int, float]:
    """Return g(m), the seconds from message to message of a window, by bytes."""
    return {one.bytes: one.median for one in points if one.test == "bw"}


def _arithmetic(points: Sequence[P2pPoint]) -> Decimal | None:
    chosen = {
        one.bytes: one.median
        for one in points
        if one.test == "reduce" and _OPERANDS[0] <= one.bytes <= _OPERANDS[1]
    }
    if len(chosen) < 3:
        return None
    beta = fit_line(list(chosen), list(chosen.values())).beta
    return _speed(beta) if beta > 0 else None


def _matrix(points: Sequence[P2pPoint]) -> Matrix | None:
    """Return latencies of the smallest size, if it was measured between all pairs; both ways alike."""
    times = [one for one in points if one.test == "latency" and one.pair.level != SMT]
    size = min((one.bytes for one in times), default=0)
    known = {(one.pair.first, one.pair.second): one.median for one in times if one.bytes == size}
    cores = sorted({core for pair in known for core in pair})
    if len(known) < 2 or len(known) < len(cores) * (len(cores) - 1) / 2:
        return None
    known |= {(second, first): time for (first, second), time in known.items()}
    rows = tuple(tuple(0.0 if i == j else round(1e6 * known[i, j], 4) for j in cores) for i in cores)
    return Matrix(cores=tuple(cores), microseconds=rows)


def _time(seconds: float) -> Decimal:
    return Decimal(f"{max(seconds, 0.0):.4g}")


def _pair(interval: tuple[float, float]) -> tuple[Decimal, Decimal]:
    return _time(interval[0]), _time(interval[1])


def _speed(seconds_a_byte: float) -> Decimal:
    return Decimal(f"{1 / seconds_a_byte:.4g}")
