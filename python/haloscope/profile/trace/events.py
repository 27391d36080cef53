"""The events of a trace: symbol, rank, thread and time of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from haloscope.base.arrays import Flags, Integers
from haloscope.profile.store.framing import DamageError
from haloscope.profile.store.profile_data import ProfileData
from haloscope.profile.trace.thread_structure import Structures, words_to_bytes
from haloscope.profile.trace.trace_times import Clocks, read_times


class Kind:
    """The kinds of events in the file."""

    ENTER, LEAVE, CALL, PART, LOST = 1, 2, 3, 4, 5


class Action:
    """The actions on messages and collectives in the file."""

    SENT, BEGUN_SEND, RECEIVED, POSTED, COLLECTIVE, BEGUN_COLLECTIVE = 1, 2, 3, 4, 5, 6
    COMPLETED_SEND, COMPLETED_RECEIVE, COMPLETED_COLLECTIVE, CANCELLED = 7, 8, 9, 10
    COMPLETED_AS_POSTED = 11


# These begin a request.
BEGUN = (Action.BEGUN_SEND, Action.POSTED, Action.BEGUN_COLLECTIVE)


@dataclass(frozen=True)
class TraceEvents:
    """All events by rank and thread, in order; arrays of equal length.

    `symbol` are rows of `symbols`, `where` rows of `ranks` and `threads`. `begin` and `end` are nanoseconds;
    for parts and lost events they are the end of the event before. `call` is the row of the event's call
    among all calls; for a part it is the next call of the thread, −1 if there is none.
    """

    symbols: pl.DataFrame
    symbol: Integers
    where: Integers
    ranks: Integers
    threads: Integers
    begin: Integers
    end: Integers
    call: Integers

    def get_column(self, column: str) -> Integers:
        """Return a column of the symbols, for each event."""
        values: Integers = self.symbols[column].to_numpy()[self.symbol]
        return values


def read_events(profile: ProfileData, clocks: Clocks) -> TraceEvents:
    """Return the events of a profile with a trace, with the times of its `clocks`. Raises `DamageError`."""
    structures, times = Structures(profile), read_times(profile)
    kinds = structures.symbols["kind"].to_numpy()
    sequences = profile.frame("trace_sequences").sort("rank", "thread", "segment")
    profile.file.check_events(sequences["events"].cast(pl.Float64).sum(), "its trace has too many events")
    orders = _orders(profile)
    threads: list[tuple[int, int]] = []
    symbols: list[Integers] = []
    begins: list[Integers] = []
    ends: list[Integers] = []
    for (rank, thread), rows in sequences.group_by(["rank", "thread"], maintain_order=True):
        key = (int(rank), int(thread))
        segments = rows.select("segment", "structure", "events").iter_rows()
        symbol = np.concatenate(
            [
                structures.sequence(of, events, orders.get((*key, segment), b""))
                for segment, of, events in segments
            ]
        )
        if key not in times:
            raise DamageError("times of its trace are missing")
        begin, end = _ticks(kinds[symbol], times[key].gaps, times[key].durations, clocks.zero(key[0]))
        threads.append(key)
        symbols.append(symbol)
        begins.append(clocks.nanoseconds(key[0], begin))
        ends.append(clocks.nanoseconds(key[0], end))
    where = np.repeat(np.arange(len(threads)), [len(symbol) for symbol in symbols])
    symbol = _join(symbols)
    is_call = kinds[symbol] == Kind.CALL
    return TraceEvents(
        structures.symbols,
        symbol,
        where,
        np.array([rank for rank, _ in threads], dtype=np.int64),
        np.array([thread for _, thread in threads], dtype=np.int64),
        _join(begins),
        _join(ends),
        _calls(is_call, where),
    )


def _orders(profile: ProfileData) -> dict[tuple[int, int, int], bytes]:
    """Return the bytes of each order, by rank, thread and segment. Raises `DamageError`."""
    rows = profile.frame("trace_orders").sort("rank", "thread", "segment", "position")
    found: dict[tuple[int, int, int], bytes] = {}
    for key, of in rows.group_by(["rank", "thread", "segment"], maintain_order=True):
        rank, thread, segment = (int(value) for value in key)
        found[rank, thread, segment] = words_to_bytes(of["packed"].to_numpy())
    sizes = profile.frame("trace_sequences").filter(pl.col("order") > 0)
    for rank, thread, segment, size in sizes.select("rank", "thread", "segment", "order").iter_rows():
        if len(found.get((rank, thread, segment), b"")) != (size + 7) // 8 * 8:
            raise DamageError("an order of its trace is missing")
    return found


def _join(parts: list[Integers]) -> Integers:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _ticks(kinds: Integers, gaps: Integers, durations: Integers, zero: int) -> tuple[Integers, Integers]:
    """Return the ticks at which events begin and end."""
    is_timed = (kinds == Kind.CALL) | (kinds == Kind.ENTER) | (kinds == Kind.LEAVE)
    is_call = kinds == Kind.CALL
    if int(is_timed.sum()) != len(gaps) or int(is_call.sum()) != len(durations):
        raise DamageError("times of its trace do not fit its events")
    gap, duration = np.zeros(len(kinds), dtype=np.int64), np.zeros(len(kinds), dtype=np.int64)
    gap[is_timed], duration[is_call] = gaps, durations
    end = zero + np.cumsum(gap + duration)
    return end - duration, end


def _calls(is_call: Flags, where: Integers) -> Integers:
    """Return the row of each event's call among calls, the next one of its thread; −1 without one."""
    before: Integers = np.cumsum(is_call) - is_call
    owners = where[is_call]
    has_next = before < len(owners)
    result = np.where(has_next, before, -1)
    result[has_next] = np.where(owners[before[has_next]] == where[has_next], before[has_next], -1)
    return result
