"""Open MPI's rules: dynamic-rules text (versions 4 and 5), and JSON (version 6)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from haloscope.base.errors import UsageError
from haloscope.predict.tune._rules import DEFAULT, Rule, closed

__all__ = ["IDENTIFIERS", "read_json", "read_text", "write_json", "write_text"]

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
    """The file's text. Where the rules leave a gap the library's own decision is written."""
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
    """The rules of a file; `names` gives the library's names of (collective, number).

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
    """The file's text: ranges with both ends, where the first match wins; gaps are the default."""
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
    """The rules of a file; `names` gives the library's names of (collective, number)."""
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
