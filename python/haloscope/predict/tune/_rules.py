"""Rules of what algorithm a library is to use, and which of them a call meets.

The semantics are Open MPI's (`coll_tuned`, 4.1 and 5.0): of the communicator sizes listed for a
collective the greatest one that is not above the communicator's holds; of its rules, the last one
whose bytes are not above the call's, in the bytes that the library counts for the collective.
Their files are Open MPI's dynamic-rules text (versions 4 and 5), and JSON (version 6).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from haloscope.base.errors import UsageError

__all__ = [
    "DEFAULT",
    "IDENTIFIERS",
    "Rule",
    "block_bytes",
    "closed",
    "counted_bytes",
    "read_json",
    "read_text",
    "rule_for",
    "simplified",
    "write_json",
    "write_text",
]

DEFAULT = "default"
# Collectives whose size the library takes for all ranks together; users and OSU say it a rank.
# (Of allgatherv it takes the mean of the counts, as running 4.1.4 and 5.0.11 shows.)
_TIMES_RANKS = frozenset({"allgather", "alltoall", "gather", "scatter"})
_UNSIZED = frozenset({"alltoallv", "barrier"})


@dataclass(frozen=True, order=True)
class Rule:
    """From so many ranks and so many counted bytes on: this algorithm."""

    collective: str
    ranks: int
    bytes: int
    algorithm: str = DEFAULT
    number: int = 0
    segment: int = 0
    fanout: int = 0

    @property
    def default(self) -> bool:
        """True if the library is to decide itself."""
        return self.algorithm == DEFAULT

    def same_choice(self, other: Rule) -> bool:
        """Return True if both say the same, for whatever ranks and bytes."""
        return replace(self, ranks=0, bytes=0) == replace(other, ranks=0, bytes=0)


def counted_bytes(collective: str, ranks: int, size: int) -> int:
    """Return what Open MPI compares with a rule's bytes, for a call of OSU's `size`."""
    if collective in _UNSIZED:
        return 0
    return size * ranks if collective in _TIMES_RANKS else size


def block_bytes(collective: str, ranks: int, counted: int) -> int:
    """Return the reverse of `counted_bytes`: the size as OSU says it."""
    if collective in _UNSIZED:
        return 0
    return counted // ranks if collective in _TIMES_RANKS else counted


def rule_for(rules: Iterable[Rule], collective: str, ranks: int, counted: int) -> Rule | None:
    """Return the rule that a call meets; None where the library decides itself."""
    mine = [rule for rule in rules if rule.collective == collective and rule.ranks <= ranks]
    if not mine:
        return None
    nearest = max(rule.ranks for rule in mine)
    fitting = [rule for rule in mine if rule.ranks == nearest and rule.bytes <= counted]
    found = max(fitting, key=lambda rule: rule.bytes, default=None)
    return None if found is None or found.default else found


def closed(rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules, and default where none is: at size 0, and for the communicator sizes between.

    Without these the first rule of a size would hold for all larger communicators too, and a list
    that does not begin at 0 makes the library ignore the whole file.
    """
    complete = set(rules)
    listed = {(rule.collective, rule.ranks) for rule in rules}
    for collective, ranks in listed:
        if (collective, ranks + 1) not in listed:
            complete.add(Rule(collective, ranks + 1, 0))
        at_zero = any(
            rule.bytes == 0 for rule in rules if (rule.collective, rule.ranks) == (collective, ranks)
        )
        if not at_zero:
            complete.add(Rule(collective, ranks, 0))
    return simplified(complete)


def simplified(rules: Iterable[Rule]) -> list[Rule]:
    """Return the rules in order, without those that repeat the one before."""
    kept: list[Rule] = []
    for rule in sorted(rules):
        last = kept[-1] if kept else None
        same_list = last and (last.collective, last.ranks) == (rule.collective, rule.ranks)
        if not (last and same_list and last.same_choice(rule)):
            kept.append(rule)
    return kept


IDENTIFIERS = {
    "allgather": 0,
    "allgatherv": 1,
    "allreduce": 2,
    "alltoall": 3,
    "alltoallv": 4,
    "alltoallw": 5,
    "barrier": 6,
    "bcast": 7,
    "exscan": 8,
    "gather": 9,
    "gatherv": 10,
    "reduce": 11,
    "reduce_scatter": 12,
    "reduce_scatter_block": 13,
    "scan": 14,
    "scatter": 15,
    "scatterv": 16,
}
_COLLECTIVES = {number: name for name, number in IDENTIFIERS.items()}
# A tree of no children and no chains at all: what the library takes when it is asked for the
# algorithm without a fan-out, and its rules reader doesn't.
_FANOUTS = {("bcast", "chain"): 4, ("bcast", "knomial"): 4, ("reduce", "chain"): 4}


def write_text(rules: Iterable[Rule]) -> str:
    """Return the file's text. Where the rules leave a gap the library's own decision is written."""
    complete = closed(list(rules))
    by_collective = {name: list(group) for name, group in groupby(complete, lambda rule: rule.collective)}
    lines = [f"{len(by_collective)}  # collectives"]
    for name, ones in by_collective.items():
        by_ranks = {ranks: list(group) for ranks, group in groupby(ones, lambda one: one.ranks)}
        lines += [f"{IDENTIFIERS[name]}  # {name}", f"{len(by_ranks)}  # communicator sizes"]
        for ranks, group in by_ranks.items():
            lines += [f"{ranks}  # ranks", f"{len(group)}  # rules"]
            lines += [_line(rule) for rule in group]
    return "\n".join(lines) + "\n"


def _line(rule: Rule) -> str:
    fanout = rule.fanout or _FANOUTS.get((rule.collective, rule.algorithm), 0)
    return f"{rule.bytes} {rule.number} {fanout} {rule.segment}  # {rule.algorithm}"


def read_text(text: str, names: Mapping[tuple[str, int], str] | None = None) -> list[Rule]:
    """Return the rules of a file; `names` gives the library's names of (collective, number).

    Raises `UsageError` where the library would ignore the file without a word.
    """
    numbers = _Numbers(text)
    rules: list[Rule] = []
    for _ in range(numbers.next("the number of collectives")):
        identifier = numbers.next("a collective's number")
        if identifier not in _COLLECTIVES:
            raise UsageError(f"rules: no collective has the number {identifier}: 0 to 16")
        for _ in range(numbers.next("the number of communicator sizes")):
            rules += _read_rules(numbers, _COLLECTIVES[identifier], names or {})
    return rules


def _read_rules(numbers: _Numbers, collective: str, names: Mapping[tuple[str, int], str]) -> Sequence[Rule]:
    ranks = numbers.next("a communicator size")
    rules = []
    for index in range(numbers.next("the number of rules")):
        size, number, fanout, segment = (numbers.next("a rule") for _ in range(4))
        if index == 0 and size:
            raise UsageError(
                f"rules: {collective} for {ranks} ranks begins at {size} bytes: Open MPI ignores "
                "the whole file unless the first rule is for 0"
            )
        name = names.get((collective, number), str(number)) if number else DEFAULT
        rules.append(Rule(collective, ranks, size, name, number, segment, fanout))
    return rules


class _Numbers:
    """The numbers of a file, one after the other, without comments."""

    def __init__(self, text: str) -> None:
        self._words = self._all(text)

    @staticmethod
    def _all(text: str) -> Iterator[str]:
        for line in text.splitlines():
            yield from line.partition("#")[0].split()

    def next(self, what: str) -> int:
        word = next(self._words, None)
        if word is None:
            raise UsageError(f"rules: the file ends where {what} should be")
        if not word.isdigit():
            raise UsageError(f"rules: {word} stands where {what} should be, a number")
        return int(word)


def write_json(rules: Iterable[Rule]) -> str:
    """Return the file's text: ranges with both ends, where the first match wins; gaps are the default."""
    complete = closed(list(rules))
    collectives: dict[str, list[dict[str, Any]]] = {}
    for collective in dict.fromkeys(rule.collective for rule in complete):
        mine = [rule for rule in complete if rule.collective == collective]
        for ranks in dict.fromkeys(rule.ranks for rule in mine if not rule.default):
            entry = {
                "comm_size_min": ranks,
                "comm_size_max": ranks,
                "comm_rank_distribution": "any",
                "rules": _messages([rule for rule in mine if rule.ranks == ranks]),
            }
            collectives.setdefault(collective, []).append(entry)
    whole = {"rule_file_version": 3, "module": "tuned", "collectives": collectives}
    return json.dumps(whole, indent=2) + "\n"


def _messages(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    ends = [rule.bytes - 1 for rule in rules[1:]]
    made = []
    for rule, end in zip(rules, [*ends, None], strict=True):
        if rule.default:
            continue
        entry: dict[str, Any] = {
            "msg_size_min": rule.bytes,
            "msg_size_max": "inf" if end is None else end,
            "alg": rule.number or rule.algorithm,
        }
        if rule.segment:
            entry["seg_size"] = rule.segment
        if rule.fanout:
            entry["faninout"] = rule.fanout
        made.append(entry)
    return made


def read_json(text: str, names: Mapping[tuple[str, int], str] | None = None) -> list[Rule]:
    """Return the rules of a file; `names` gives the library's names of (collective, number)."""
    try:
        whole = json.loads(text)
        if whole["rule_file_version"] != 3 or whole["module"] != "tuned":
            raise UsageError("rules: this is no file of version 3 for the module tuned")
        rules: list[Rule] = []
        for collective, entries in whole["collectives"].items():
            if collective not in IDENTIFIERS:
                raise UsageError(
                    f"rules: {collective} is no collective of Open MPI's: it ignores the whole file"
                )
            for entry in entries:
                rules += _read_entry(collective, entry, names or {})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"rules: not the JSON that Open MPI 6 reads: {error}") from None
    return closed(rules)


def _read_entry(
    collective: str, entry: Mapping[str, Any], names: Mapping[tuple[str, int], str]
) -> list[Rule]:
    ranks, last = entry["comm_size_min"], entry["comm_size_max"]
    rules: dict[int, Rule] = {}
    for item in entry["rules"]:
        low, high, algorithm = item["msg_size_min"], item["msg_size_max"], item["alg"]
        number = algorithm if isinstance(algorithm, int) else 0
        name = names.get((collective, number), str(number)) if number else str(algorithm)
        extras = item.get("seg_size", 0), item.get("faninout", 0)
        rules[low] = Rule(collective, ranks, low, name, number, *extras)
        if high != "inf":
            rules.setdefault(high + 1, Rule(collective, ranks, high + 1))
    if last != "inf":
        return [*rules.values(), Rule(collective, last + 1, 0, DEFAULT)]
    return list(rules.values())
