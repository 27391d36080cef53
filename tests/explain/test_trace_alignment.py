"""Clocks that are off by anything: what a trace says of its messages is possible afterwards."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from haloscope.explain.trace import RECEIVES
from haloscope.explain.trace._alignment import aligned
from haloscope.explain.trace._events import Events, Kind

Numbers = NDArray[np.int64]


def ring(ranks: int, rounds: int, seed: int) -> tuple[Events, pl.DataFrame, pl.DataFrame, Numbers]:
    """Events of ranks that send to the next one and wait for the one before, by one clock.

    With the messages, and a column for each rank with its times: begin and end of each of its calls.
    """
    random = np.random.default_rng(seed)
    times = np.zeros((ranks, rounds, 2, 2), dtype=np.int64)  # of a send and of a receive
    at = np.zeros(ranks, dtype=np.int64)
    for turn in range(rounds):
        begin = at + random.integers(1, 200_000, ranks)
        times[:, turn, 0] = np.column_stack([begin, begin + 500])
        ready = begin + 700
        end = np.maximum(ready, np.roll(begin, 1) + 2000) + random.integers(0, 300, ranks)
        times[:, turn, 1] = np.column_stack([ready, end])
        at = end
    flat = times.reshape(ranks, rounds * 2, 2)
    where = np.repeat(np.arange(ranks), rounds * 2)
    calls = np.arange(ranks * rounds * 2)
    symbols = pl.DataFrame({"kind": [Kind.CALL]})
    begin, end = flat[..., 0].ravel(), flat[..., 1].ravel()
    threads = np.zeros(ranks, dtype=np.int64)
    events = Events(symbols, np.zeros_like(where), where, np.arange(ranks), threads, begin, end, calls)
    own = calls.reshape(ranks, rounds, 2)

    def messages(rows: Numbers, other: int) -> pl.DataFrame:
        rank = np.repeat(np.arange(ranks), rounds)
        columns = {"rank": rank, "thread": 0, "started": rows, "completed": rows, "tag": 0, "communicator": 0}
        partner = (rank + other) % ranks
        return pl.DataFrame(columns | {"partner": partner, "bytes": 8}).select(list(RECEIVES)).cast(RECEIVES)  # type: ignore[arg-type]

    return events, messages(own[..., 0].ravel(), 1), messages(own[..., 1].ravel(), -1), own


def off(events: Events, errors: list[list[int]]) -> Events:
    """The same by clocks that are so many nanoseconds off at even places of the run, a list for each rank."""
    length = float(events.end.max())
    begin, end = events.begin.copy(), events.end.copy()
    for rank, error in enumerate(errors):
        own = events.where == rank
        for times in (begin, end):
            places = np.linspace(0, length, len(error))
            times[own] += np.rint(np.interp(times[own], places, error)).astype(np.int64)
    return Events(
        events.symbols, events.symbol, events.where, events.ranks, events.threads, begin, end, events.call
    )


def transits(events: Events, own: Numbers) -> Numbers:
    sent = events.begin[own[..., 0]]
    arrived: Numbers = events.end[own[..., 1]]
    return arrived - np.roll(sent, 1, axis=0)


NOBODY = pl.Series([], dtype=pl.Int32)
errors = st.lists(st.integers(-3_000_000, 3_000_000), min_size=2, max_size=6)


@given(several=st.lists(errors, min_size=2, max_size=4), seed=st.integers(0, 5))
@settings(max_examples=60)
def test_no_message_arrives_before_it_was_sent(several: list[list[int]], seed: int) -> None:
    events, sends, receives, own = ring(len(several), 60, seed)
    given_times = off(events, several)
    machines = np.arange(len(several))
    found = aligned(given_times, machines, sends, receives, NOBODY)
    after = found.events
    assert transits(after, own).min() >= 0
    for rank in machines:
        mine = after.where == rank
        steps = np.diff(np.column_stack([after.begin[mine], after.end[mine]]).ravel())
        assert steps.min() >= 0  # in the order in which it did it
    # All that was moved is counted, and what is counted was moved.
    if transits(given_times, own).min() >= 0:
        assert found.moved.is_empty()
        assert not any(shift.any() for shift in found.shifts.values())
    assert (found.moved["events"] > 0).all()
    assert (found.moved["longest"] > 0).all()
    assert set(found.moved["rank"]) <= set(machines.tolist())


def test_one_machine_is_left_alone() -> None:
    events, sends, receives, own = ring(3, 20, 0)
    wrong = off(events, [[0, 0], [-900_000, -900_000], [0, 0]])
    found = aligned(wrong, np.zeros(3, dtype=np.int64), sends, receives, NOBODY)
    assert found.events is wrong
    assert found.moved.is_empty()
    assert transits(wrong, own).min() < 0


@pytest.mark.parametrize("error", [-5_000_000, 5_000_000])
def test_what_is_off_all_the_time_is_shifted_and_little_is_moved(error: int) -> None:
    events, sends, receives, own = ring(2, 400, 1)
    wrong = off(events, [[0, 0], [error, error]])
    found = aligned(wrong, np.arange(2), sends, receives, NOBODY)
    assert transits(found.events, own).min() >= 0
    # To within what a message and waiting for it take; that of the first machine stays.
    assert np.abs(found.shifts[1] + error).max() < 0.05 * abs(error)
    assert not found.shifts[0].any()
    assert found.moved["longest"].max() in (None, *range(int(0.05 * abs(error))))


def test_ranks_that_lost_events_say_nothing_where_counts_differ() -> None:
    events, sends, receives, _ = ring(2, 20, 2)
    wrong = off(events, [[0, 0], [-900_000, -900_000]])
    fewer = receives.slice(1)
    found = aligned(wrong, np.arange(2), sends, fewer, pl.Series([0], dtype=pl.Int32))
    sure = aligned(wrong, np.arange(2), sends, receives, pl.Series([0], dtype=pl.Int32))
    assert found.shifts[1].any()  # by the messages of the other direction
    assert transits(sure.events, np.arange(80).reshape(2, 20, 2)).min() >= 0
