"""Alignment of clocks: afterwards, no message arrives before it was sent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import haloscope
from haloscope.profile.trace import Trace
from support.traced import matched
from support.traced_drafts import CALL, WORLD, symbol, traced_draft

Times = NDArray[np.int64]
# Ticks before the run, so that no clock with an error begins below 0.
BEFORE = 10_000_000


def ring(ranks: int, rounds: int, seed: int) -> list[Times]:
    """Draw begin and end of each rank's calls by one clock.

    Each rank sends to the next one and waits for the one before.
    """
    random = np.random.default_rng(seed)
    times = np.zeros((ranks, rounds, 2, 2), dtype=np.int64)  # a send and a receive
    at = np.full(ranks, BEFORE, dtype=np.int64)
    for turn in range(rounds):
        begin = at + random.integers(1, 200_000, ranks)
        times[:, turn, 0] = np.column_stack([begin, begin + 500])
        ready = begin + 700
        end = np.maximum(ready, np.roll(begin, 1) + 2000) + random.integers(0, 300, ranks)
        times[:, turn, 1] = np.column_stack([ready, end])
        at = end
    return [times[rank].reshape(rounds * 2, 2) for rank in range(ranks)]


def off(times: list[Times], errors: list[list[int]]) -> list[Times]:
    """Return the times by wrong clocks. Per rank, `errors` are nanoseconds at equidistant times of the run.

    Clocks are monotonic.
    """
    length = float(max(of_rank.max() for of_rank in times))
    moved = []
    for own, error in zip(times, errors, strict=True):
        places = np.linspace(BEFORE, length, len(error))
        read = own + np.rint(np.interp(own, places, error)).astype(np.int64)
        moved.append(np.maximum.accumulate(read.ravel()).reshape(-1, 2))
    return moved


def aligned(
    times: list[Times], folder: Path, *, machines: list[int] | None = None, lost: bool = False
) -> tuple[Trace, pl.DataFrame]:
    """The trace of a ring with these times, and its table of clocks. By default each rank has a machine.

    With `lost`, the record of rank 0's first receive is missing, and counted as dropped.
    """
    ranks, size = len(times), {"communicator": WORLD, "tag": 0, "size": 8}
    symbols = [
        symbol(0, CALL, call="MPI_Send", action=1, partner=1, bytes=8, **size),
        symbol(1, CALL, call="MPI_Recv", action=3, partner=ranks - 1, **size),
    ]
    orders = None
    if lost:
        times = [np.delete(times[0], 1, axis=0), *times[1:]]
        whole = [0, 1] * (len(times[1]) // 2)
        orders = [[0, *whole[2:]], *[whole] * (ranks - 1)]
    written = traced_draft(
        symbols,
        times,
        orders=orders,
        machines=machines or list(range(ranks)),
        lost=[1, *[0] * (ranks - 1)] if lost else None,
    )
    with haloscope.open(written.write(folder / "ring.halo")) as profile:
        return profile.trace(), profile.table("clocks")


def transits(trace: Trace) -> Times:
    """Return the time from the send to the arrival of each message."""
    known = matched(trace).drop_nulls(["started", "completed_received"])
    assert len(known)
    arrived = trace.calls["end"].gather(known["completed_received"])
    found: Times = (arrived - trace.calls["begin"].gather(known["started"])).to_numpy()
    return found


def times_of(trace: Trace, rank: int) -> Times:
    times: Times = trace.calls.filter(pl.col("rank") == rank).select("begin", "end").to_numpy()
    return times


errors = st.lists(st.integers(-3_000_000, 3_000_000), min_size=2, max_size=6)


@pytest.mark.slow
@example(several=[[0, 0], [0, 0]], seed=0)
@given(several=st.lists(errors, min_size=2, max_size=4), seed=st.integers(0, 5))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_message_arrives_before_it_was_sent(tmp_path: Path, several: list[list[int]], seed: int) -> None:
    read = off(ring(len(several), 60, seed), several)
    trace, clocks = aligned(read, tmp_path)
    assert transits(trace).min() >= 0
    moves = False
    for rank, of_rank in enumerate(read):
        after = times_of(trace, rank)
        assert np.diff(after.ravel()).min() >= 0  # in the order of its calls
        moves |= len(np.unique(after - of_rank)) > 1
    # Events of possible messages are not moved.
    pairs = zip(read, [*read[1:], read[0]], strict=True)
    if all((to[1::2, 1] >= source[::2, 0]).all() for source, to in pairs):
        assert not moves
        assert (clocks["shift"] == 0).all()
        assert (clocks["moved"] == 0).all()
    assert ((clocks["moved"] > 0) == (clocks["moved_max"] > 0)).all()


def test_one_machine_is_left_alone(tmp_path: Path) -> None:
    wrong = off(ring(3, 20, 0), [[0, 0], [-900_000, -900_000], [0, 0]])
    trace, clocks = aligned(wrong, tmp_path, machines=[1, 1, 1])
    for rank, of_rank in enumerate(wrong):
        assert np.array_equal(times_of(trace, rank), of_rank)
    assert (clocks["moved"] == 0).all()
    assert transits(trace).min() < 0


@pytest.mark.parametrize("error", [-5_000_000, 5_000_000])
def test_a_constant_error_is_shifted_and_few_events_are_moved(tmp_path: Path, error: int) -> None:
    times = ring(2, 400, 1)
    trace, clocks = aligned(off(times, [[0, 0], [error, error]]), tmp_path)
    assert transits(trace).min() >= 0
    # Exact up to the time of a message and of waiting for it. The clock of the first machine stays.
    within = 0.05 * abs(error)
    assert clocks["shift"][0] == 0
    assert abs(1e9 * clocks["shift"][1] + error) < within
    assert 1e9 * clocks["moved_max"].max() < within  # type: ignore[operator]
    for rank in (0, 1):
        assert np.abs(times_of(trace, rank) - times[rank]).max() < within


def test_ranks_with_lost_events_are_ignored_where_counts_differ(tmp_path: Path) -> None:
    times = ring(2, 20, 2)
    wrong = off(times, [[0, 0], [-900_000, -900_000]])
    trace, clocks = aligned(wrong, tmp_path, lost=True)
    assert trace.dropped.rows() == [(0, 1)]
    # A message to rank 0 is missing, so receives of rank 0 cannot be matched.
    assert len(trace.receives.filter(pl.col("rank") == 0)) == 19
    assert clocks["shift"][1] > 0  # from messages in the other direction
    known = matched(trace).filter(pl.col("dest") == 1)
    begin = trace.calls["begin"].gather(known["started"])
    assert (trace.calls["end"].gather(known["completed_received"]) >= begin).all()
