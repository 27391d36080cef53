"""Profiles with a trace, written from docs/format.md alone: ranks that do the same again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from support.profiles import Draft, columns_of, draft, path_rows, process_rows

ENTER, LEAVE, CALL, PART = 1, 2, 3, 4
WORLD = 7  # the identity of MPI_COMM_WORLD
TICK = 1e-9

Times = NDArray[np.int64]


def symbol(number: int, kind: int, **values: Any) -> dict[str, Any]:
    """A row of `trace_symbols`; fields that are not given do not concern the event."""
    whole = {"structure": 1, "symbol": number, "kind": kind, "call": "", "path": 0, "bytes": 0, "action": 0}
    whole |= {"communicator": 0, "partner": -1, "tag": -1, "size": 0, "thread": 0, "request": 0, "ranks": 2}
    return whole | values


def words_of(raw: bytes) -> list[int]:
    """Bytes as the words that columns of the file hold."""
    found: list[int] = np.frombuffer(raw + b"\0" * (-len(raw) % 8), dtype="<i8").tolist()
    return found


def packed_column(values: Sequence[int] | Times, width: int = 4) -> bytes:
    """A column of `trace_pieces`, without compression."""
    planes: bytes = np.array(values, dtype="<u8").view(np.uint8).reshape(-1, 8).T[:width].tobytes()
    return bytes([width, 0]) + len(planes).to_bytes(4, "little") + planes


def traced_draft(
    symbols: Sequence[dict[str, Any]],
    times: Sequence[Times],
    *,
    orders: Sequence[Sequence[int]] | None = None,
    machines: Sequence[int] | None = None,
    zeros: Sequence[int] | None = None,
    nanoseconds: Sequence[int] | None = None,
    offsets: Sequence[tuple[float, float]] | None = None,
    lost: Sequence[int] | None = None,
) -> Draft:
    """Return a profile in which every rank repeats all symbols, in their order.

    `times`: for each rank begin and end of its calls, (calls, 2), in ticks of 1 ns after its `zeros`. With
    `orders` each rank has these symbols instead, by their numbers, and no rules. Ranks without `machines`
    share one clock. Symbols without calls are begins and ends of regions, whose spans have no length.
    """
    ranks = len(times)
    every = range(ranks)
    calls = sum(row["kind"] == CALL for row in symbols)
    rounds = len(times[0]) // max(calls, 1)
    events = [len(symbols) * rounds] * ranks if orders is None else [len(order) for order in orders]
    written = draft(
        {"ranks": ranks}, paths=path_rows("r"), processes=process_rows(*["alpha", "beta"] * ranks)[:ranks]
    )
    if offsets is None:  # else they are a drift over the default duration
        durations = [float(of_rank[-1, 1]) * TICK for of_rank in times]
        written.tables["processes"] = {**written.tables["processes"], "duration": durations}
    written.version = (1, 3)
    written.info["trace"] = "full"
    pieces = [_piece(of_rank, calls > 0) for of_rank in times]
    written.tables |= {
        "trace_symbols": {name: [row[name] for row in symbols] for name in symbols[0]},
        "trace_pieces": {
            "rank": list(every),
            "thread": [0] * ranks,
            "gaps": [len(of_rank) for of_rank in times],
            "durations": [len(of_rank) if calls else 0 for of_rank in times],
            "bytes": [len(piece) for piece in pieces],
        },
        "trace_words": {"packed": [word for piece in pieces for word in words_of(piece)]},
        "trace_communicators": columns_of(
            "trace_communicators",
            [{"communicator": WORLD, "name": "MPI_COMM_WORLD", "size": ranks, "count": ranks, "stride": 1}],
        ),
        "trace_clocks": {
            "rank": list(every),
            "machine": list(machines or [1] * ranks),
            "zero": list(zeros or [0] * ranks),
            "nanosecond": list(nanoseconds or [0] * ranks),
            "tick": [TICK] * ranks,
            "offset_begin": [begin for begin, _ in offsets or [(0.0, 0.0)] * ranks],
            "offset_end": [end for _, end in offsets or [(0.0, 0.0)] * ranks],
            "lost": list(lost or [0] * ranks),
        },
    }
    own_orders = [b""] * ranks if orders is None else [_order(order) for order in orders]
    written.tables["trace_sequences"] = {
        "rank": list(every),
        "thread": [0] * ranks,
        "segment": [0] * ranks,
        "structure": [1] * ranks,
        "events": events,
        "order": [len(order) for order in own_orders],
    }
    if orders is None:
        rules = words_of(_rules([row["symbol"] for row in symbols], rounds))
        written.tables["trace_rules"] = {
            "structure": [1] * len(rules),
            "position": list(range(len(rules))),
            "packed": rules,
            "ranks": [ranks] * len(rules),
        }
    else:
        rows = [(rank, at, word) for rank in every for at, word in enumerate(words_of(own_orders[rank]))]
        written.tables["trace_orders"] = columns_of(
            "trace_orders", [{"rank": rank, "position": at, "packed": word} for rank, at, word in rows]
        )
    return written


def _piece(times: Times, are_calls: bool) -> bytes:
    gaps = times[:, 0] - np.concatenate([[0], times[:-1, 1]])
    durations = (times[:, 1] - times[:, 0])[: None if are_calls else 0]
    assert gaps.min() >= 0
    assert durations.min(initial=0) >= 0
    return packed_column(gaps) + packed_column(durations)


def _number(value: int) -> bytes:
    low, high = value & 127, value >> 7
    return bytes([low]) if not high else bytes([low | 128]) + _number(high)


def _rules(symbols: Sequence[int], rounds: int) -> bytes:
    """One rule with all symbols, and a sequence of it, `rounds` times."""
    rule = [len(symbols), *(part for number in symbols for part in (2 * number, 1))]
    return b"".join(map(_number, [1, *rule, 1, 1, rounds]))


def _order(symbols: Sequence[int]) -> bytes:
    raw = b"".join(map(_number, symbols))
    return b"\0" + len(raw).to_bytes(4, "little") + raw
