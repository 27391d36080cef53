"""What threads did, without when: from rules of what repeats to sequences of symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from haloscope.explain._directory import DamageError

if TYPE_CHECKING:
    import polars as pl

    from haloscope.explain._profile import Profile

__all__ = ["Structures", "numbers", "words_to_bytes"]

Numbers = NDArray[np.int64]
_MOST_EVENTS = 1 << 33  # of one structure: more are damage


def words_to_bytes(words: NDArray[Any]) -> bytes:
    """Return the eight bytes of each word, the lowest first."""
    return words.astype("<i8").tobytes()


def numbers(raw: bytes) -> Numbers:
    """Return all numbers of seven bits a byte in `raw`, the lowest bits first."""
    data = np.frombuffer(raw, dtype=np.uint8)
    ends = np.flatnonzero(data < 0x80)
    if not len(ends):
        return np.zeros(0, dtype=np.int64)
    data = data[: ends[-1] + 1]
    starts = np.concatenate([[0], ends[:-1] + 1])
    place = np.arange(len(data)) - np.repeat(starts, ends - starts + 1)
    if place.max(initial=0) > 9:
        raise DamageError("a number of its trace is too long")
    values = (data & 0x7F).astype(np.uint64) << (7 * place).astype(np.uint64)
    return np.add.reduceat(values, starts).astype(np.int64)


class Structures:
    """The structures of a profile's trace. A symbol is a row of `symbols`."""

    def __init__(self, profile: Profile) -> None:
        self.symbols: pl.DataFrame = profile.frame("trace_symbols").sort("structure", "symbol")
        structures = self.symbols["structure"].to_numpy()
        self._identities, self._first = np.unique(structures, return_index=True)
        self._counts = np.diff(np.append(self._first, len(structures)))
        place = np.arange(len(structures)) - np.repeat(self._first, self._counts)
        if not np.array_equal(self.symbols["symbol"].to_numpy(), place):
            raise DamageError("symbols of its trace are missing")
        rules = profile.frame("trace_rules").sort("structure", "position")
        self._rule_structures = rules["structure"].to_numpy()
        self._rule_positions = rules["position"].to_numpy()
        self._words = rules["packed"].to_numpy()
        self._known: dict[int, Numbers] = {}

    def sequence(self, structure: int, events: int) -> Numbers:
        """Return the rows of `symbols` that follow each other, shape (events,). Raises `DamageError`."""
        if structure not in self._known:
            self._known[structure] = self._expanded(structure)
        found = self._known[structure]
        if len(found) != events:
            raise DamageError("a sequence of its trace has another length")
        return found

    def _expanded(self, structure: int) -> Numbers:
        place = int(np.searchsorted(self._identities, structure))
        if place == len(self._identities) or self._identities[place] != structure:
            raise DamageError("a structure of its trace has no symbols")
        low, high = np.searchsorted(self._rule_structures, [structure, structure], "left")
        high = np.searchsorted(self._rule_structures, structure, "right")
        if not np.array_equal(self._rule_positions[low:high], np.arange(high - low)):
            raise DamageError("rules of its trace are missing")
        stream = numbers(words_to_bytes(self._words[low:high]))
        return self._first[place] + _expand(stream, int(self._counts[place]))


def _expand(stream: Numbers, symbols: int) -> Numbers:
    """Return the sequence that rules and items in `stream` stand for, as numbers of symbols."""
    pool = [np.arange(symbols)]
    starts, lengths = [0], [0]  # of each rule in the pool
    size = symbols
    at = 1
    rules = int(stream[0]) if len(stream) else 0
    for rule in range(rules + 1):
        if at >= len(stream) or at + 1 + 2 * stream[at] > len(stream):
            raise DamageError("rules of its trace were cut short")
        count = int(stream[at])
        items = stream[at + 1 : at + 1 + 2 * count]
        at += 1 + 2 * count
        ids, counts = items[0::2], items[1::2]
        if rule:
            starts.append(size)
        flat = pool[0] if len(pool) == 1 else np.concatenate(pool)
        pool = [flat]
        expanded = _flattened(flat, ids, counts, np.array(starts), np.array(lengths), rule, symbols)
        starts[rule], lengths[rule:] = size, [len(expanded), 0]
        size += len(expanded)
        if rule == rules:
            return expanded
        pool.append(expanded)
    raise AssertionError  # the sequence is the last


def _flattened(
    pool: Numbers, ids: Numbers, counts: Numbers, starts: Numbers, lengths: Numbers, rules: int, symbols: int
) -> Numbers:
    """Return what the items stand for, given the rules before them, which lie in the pool."""
    is_rule = (ids & 1).astype(bool)
    number = ids >> 1
    if np.any(number[is_rule] >= rules) or np.any(number[~is_rule] >= symbols) or np.any(counts < 1):
        raise DamageError("rules of its trace name what is not there")
    start = np.where(is_rule, starts[np.where(is_rule, number, 0)], number)
    length = np.where(is_rule, lengths[np.where(is_rule, number, 0)], 1)
    total = float((length.astype(np.float64) * counts).sum())
    if total > _MOST_EVENTS:
        raise DamageError("rules of its trace stand for too many events")
    parts = []
    # Runs of few items that come often are tiled; all others are gathered at once.
    often = counts * length > 4096
    bounds = np.flatnonzero(often)
    first = 0
    for place in [*bounds.tolist(), len(ids)]:
        if place > first:
            parts.append(_gathered(pool, start[first:place], length[first:place], counts[first:place]))
        if place < len(ids):
            body = pool[start[place] : start[place] + length[place]]
            parts.append(np.tile(body, int(counts[place])))
        first = place + 1
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _gathered(pool: Numbers, start: Numbers, length: Numbers, counts: Numbers) -> Numbers:
    starts, lengths = np.repeat(start, counts), np.repeat(length, counts)
    ends = np.cumsum(lengths)
    index = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)
    return pool[index]
