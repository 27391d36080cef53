"""The events of threads without times: from rules for repetitions to sequences of symbols."""

from __future__ import annotations

import numpy as np
import polars as pl
from zlib_ng import zlib_ng

from haloscope.base.arrays import AnyArray, Integers
from haloscope.profile.store.framing import DamageError
from haloscope.profile.store.profile_data import ProfileData

_OFTEN = 4096
_DEPTH = 16  # more than rules of real runs have
_HEAD = 5  # bytes before those of an order
_ZlibError: type[Exception] = zlib_ng.error  # type: ignore[assignment]  # its stub says it is one


def words_to_bytes(words: AnyArray) -> bytes:
    """Return the eight bytes of each word, the lowest first."""
    return words.astype("<i8").tobytes()


def numbers(raw: bytes) -> Integers:
    """Return all numbers of seven bits a byte in `raw`, the lowest bits first."""
    data = np.frombuffer(raw, dtype=np.uint8)
    ends = np.flatnonzero(data < 0x80)
    if not len(ends):
        return np.zeros(0, dtype=np.int64)
    data = data[: ends[-1] + 1]
    starts = np.concatenate([[0], ends[:-1] + 1])
    index = np.arange(len(data)) - np.repeat(starts, ends - starts + 1)
    if index.max(initial=0) > 9:
        raise DamageError("a number of its trace is too long")
    values = (data & 0x7F).astype(np.uint64) << (7 * index).astype(np.uint64)
    return np.add.reduceat(values, starts).astype(np.int64)


def _plain(raw: bytes, most: int) -> bytes:
    """Return bytes behind their encoding and their size, unpacked; no more than `most`."""
    size = int.from_bytes(raw[1:_HEAD], "little")
    data = raw[_HEAD : _HEAD + size]
    if len(data) != size or raw[0] > 1:
        raise DamageError("an order of its trace was cut short")
    if raw[0] == 0:
        return data
    try:
        return zlib_ng.decompressobj().decompress(data, most + 1)
    except _ZlibError:
        raise DamageError("an order of its trace does not unpack") from None


class Structures:
    """The structures of a profile's trace. A symbol is a row of `symbols`."""

    def __init__(self, profile: ProfileData) -> None:
        self.symbols: pl.DataFrame = profile.frame("trace_symbols").sort("structure", "symbol")
        structures = self.symbols["structure"].to_numpy()
        self._identities, self._first = np.unique(structures, return_index=True)
        self._counts = np.diff(np.append(self._first, len(structures)))
        index = np.arange(len(structures)) - np.repeat(self._first, self._counts)
        if not np.array_equal(self.symbols["symbol"].to_numpy(), index):
            raise DamageError("symbols of its trace are missing")
        rules = profile.frame("trace_rules").sort("structure", "position")
        self._rule_structures = rules["structure"].to_numpy()
        self._rule_positions = rules["position"].to_numpy()
        self._words = rules["packed"].to_numpy()
        self._known: dict[int, Integers] = {}

    def sequence(self, structure: int, events: int, order: bytes) -> Integers:
        """Return the rows of `symbols` that follow each other, shape (events,).

        `order` has the sequence, if the structure has no rules. Raises `DamageError`.
        """
        if order:
            index = self._find_structure(structure)
            found = numbers(_plain(order, 10 * events))
            if np.any(found >= self._counts[index]):
                raise DamageError("an order of its trace names a missing symbol")
            found = self._first[index] + found
        elif structure in self._known:
            found = self._known[structure]
        else:
            found = self._known[structure] = self._expand(structure, events)
        if len(found) != events:
            raise DamageError("a sequence of its trace has another length")
        return found

    def _find_structure(self, structure: int) -> int:
        index = int(np.searchsorted(self._identities, structure))
        if index == len(self._identities) or self._identities[index] != structure:
            raise DamageError("a structure of its trace has no symbols")
        return index

    def _expand(self, structure: int, events: int) -> Integers:
        index = self._find_structure(structure)
        low = int(np.searchsorted(self._rule_structures, structure, "left"))
        high = int(np.searchsorted(self._rule_structures, structure, "right"))
        if not np.array_equal(self._rule_positions[low:high], np.arange(high - low)):
            raise DamageError("rules of its trace are missing")
        stream = numbers(words_to_bytes(self._words[low:high]))
        expanded: Integers = self._first[index] + _Rules(int(self._counts[index]), events).read(stream)
        return expanded


class _Rules:
    """Expanded rules: each is a stretch of one array, which begins with all symbols."""

    def __init__(self, symbols: int, events: int) -> None:
        self._symbols, self._events = symbols, events
        self._pool = np.arange(max(symbols, 1024))
        self._size = symbols
        self._starts: list[int] = []
        self._lengths: list[int] = []

    def read(self, stream: Integers) -> Integers:
        """Return the sequence, as numbers of symbols. Raises `DamageError`."""
        at = 1
        expanded = np.zeros(0, dtype=np.int64)
        rules = int(stream[0]) if len(stream) else -1
        for rule in range(rules + 1):
            if at >= len(stream) or at + 1 + 2 * int(stream[at]) > len(stream) or stream[at] < 0:
                raise DamageError("rules of its trace were cut short")
            end = at + 1 + 2 * int(stream[at])
            expanded = self._flatten(stream[at + 1 : end : 2], stream[at + 2 : end : 2])
            at = end
            if rule < rules:
                self._keep(expanded)
        return expanded

    def _keep(self, expanded: Integers) -> None:
        """Add the expansion of the next rule."""
        size = self._size + len(expanded)
        # Each rule expands to a part of the sequence, at most once at each depth of nested rules.
        if size > self._symbols + _DEPTH * self._events:
            raise DamageError("rules of its trace expand to too many events")
        if size > len(self._pool):
            pool = np.empty(2 * size, dtype=np.int64)
            pool[: self._size] = self._pool[: self._size]
            self._pool = pool
        self._pool[self._size : size] = expanded
        self._starts.append(self._size)
        self._lengths.append(len(expanded))
        self._size = size

    def _flatten(self, ids: Integers, counts: Integers) -> Integers:
        """Return the expansion of items. Raises `DamageError`."""
        is_rule, number = (ids & 1).astype(bool), ids >> 1
        limits = np.where(is_rule, len(self._starts), self._symbols)
        if np.any(number >= limits) or np.any(ids < 0) or np.any(counts < 1):
            raise DamageError("rules of its trace name missing symbols")
        start, length = number.copy(), np.ones_like(number)
        start[is_rule] = np.array(self._starts, dtype=np.int64)[number[is_rule]]
        length[is_rule] = np.array(self._lengths, dtype=np.int64)[number[is_rule]]
        if float((length.astype(np.float64) * counts).sum()) > self._events:
            raise DamageError("rules of its trace expand to too many events")
        parts = []
        first = 0
        # Repeated items are tiled; the items between them are gathered in one step.
        for item in [*np.flatnonzero(counts * length > _OFTEN).tolist(), len(ids)]:
            if item > first:
                between = slice(first, item)
                parts.append(self._gather(start[between], length[between], counts[between]))
            if item < len(ids):
                body = self._pool[start[item] : start[item] + length[item]]
                parts.append(np.tile(body, int(counts[item])))
            first = item + 1
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def _gather(self, start: Integers, length: Integers, counts: Integers) -> Integers:
        starts, lengths = np.repeat(start, counts), np.repeat(length, counts)
        ends = np.cumsum(lengths)
        index = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)
        gathered: Integers = self._pool[index]
        return gathered
