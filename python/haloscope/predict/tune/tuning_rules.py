"""Rules for the algorithms of a library, and their files.

The semantics are those of Open MPI (`coll_tuned`, 4.1 and 5.0). For a collective, the largest listed
communicator size that does not exceed the communicator's applies. Of its rules, the last one applies whose
bytes do not exceed those of the call, as the library counts them.
Their files are Open MPI's dynamic-rules text (versions 4 and 5), and JSON (version 6).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

DEFAULT = "default"
# Collectives whose size the library counts over all ranks; users and OSU count it per rank.
# (For allgatherv it uses the mean of the counts, as seen with 4.1.4 and 5.0.11.)
_TIMES_RANKS = frozenset({"allgather", "alltoall", "gather", "scatter"})
_UNSIZED = frozenset({"alltoallv", "barrier"})


@dataclass(frozen=True, order=True)
class TuningRule:
    """The algorithm from a number of ranks and a number of counted bytes on."""

    collective: str
    ranks: int
    bytes: int
    algorithm: str = DEFAULT
    number: int = 0
    segment: int = 0
    fanout: int = 0

    @property
    def is_default(self) -> bool:
        """Whether the library decides itself."""
        return self.algorithm == DEFAULT


def count_bytes(collective: str, ranks: int, size: int) -> int:
    """Return the bytes that Open MPI compares with a rule, for a call of OSU's `size`."""
    if collective in _UNSIZED:
        return 0
    return size * ranks if collective in _TIMES_RANKS else size


def close_rules(rules: Sequence[TuningRule]) -> list[TuningRule]:
    """Return the rules with defaults added: at size 0, and for the communicator sizes between.

    Without these a rule would also apply to all larger communicators, and the library ignores a whole file
    with a list that does not begin at 0.
    """
    complete = set(rules)
    listed = {(rule.collective, rule.ranks) for rule in rules}
    for collective, ranks in listed:
        if (collective, ranks + 1) not in listed:
            complete.add(TuningRule(collective, ranks + 1, 0))
        at_zero = any(
            rule.bytes == 0 for rule in rules if (rule.collective, rule.ranks) == (collective, ranks)
        )
        if not at_zero:
            complete.add(TuningRule(collective, ranks, 0))
    return _drop_repetitions(complete)


def _drop_repetitions(rules: Iterable[TuningRule]) -> list[TuningRule]:
    """Return the rules in order, without repetitions of the previous rule."""
    distinct: list[TuningRule] = []
    for rule in sorted(rules):
        last = distinct[-1] if distinct else None
        same_list = last and (last.collective, last.ranks) == (rule.collective, rule.ranks)
        if not (last and same_list and replace(last, ranks=0, bytes=0) == replace(rule, ranks=0, bytes=0)):
            distinct.append(rule)
    return distinct


_IDENTIFIERS = {
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
# Default fan-outs of the library, which its reader of rules does not apply: without them, a tree has no
# children.
_FANOUTS = {("bcast", "chain"): 4, ("bcast", "knomial"): 4, ("reduce", "chain"): 4}


def write_text(rules: Iterable[TuningRule]) -> str:
    """Return the text of the file. Gaps between rules get the library's default."""
    complete = close_rules(list(rules))
    by_collective = {name: list(group) for name, group in groupby(complete, lambda rule: rule.collective)}
    lines = [f"{len(by_collective)}  # collectives"]
    for name, members in by_collective.items():
        by_ranks = {ranks: list(group) for ranks, group in groupby(members, lambda entry: entry.ranks)}
        lines += [f"{_IDENTIFIERS[name]}  # {name}", f"{len(by_ranks)}  # communicator sizes"]
        for ranks, group in by_ranks.items():
            lines += [f"{ranks}  # ranks", f"{len(group)}  # rules"]
            lines += [_format_line(rule) for rule in group]
    return "\n".join(lines) + "\n"


def _format_line(rule: TuningRule) -> str:
    fanout = rule.fanout or _FANOUTS.get((rule.collective, rule.algorithm), 0)
    return f"{rule.bytes} {rule.number} {fanout} {rule.segment}  # {rule.algorithm}"


def write_json(rules: Iterable[TuningRule]) -> str:
    """Return the text of the file: closed ranges, of which the first match applies; gaps get the default."""
    complete = close_rules(list(rules))
    collectives: dict[str, list[dict[str, Any]]] = {}
    for collective in dict.fromkeys(rule.collective for rule in complete):
        mine = [rule for rule in complete if rule.collective == collective]
        for ranks in dict.fromkeys(rule.ranks for rule in mine if not rule.is_default):
            entry = {
                "comm_size_min": ranks,
                "comm_size_max": ranks,
                "comm_rank_distribution": "any",
                "rules": _make_entries([rule for rule in mine if rule.ranks == ranks]),
            }
            collectives.setdefault(collective, []).append(entry)
    whole = {"rule_file_version": 3, "module": "tuned", "collectives": collectives}
    return json.dumps(whole, indent=2) + "\n"


def _make_entries(rules: Sequence[TuningRule]) -> list[dict[str, Any]]:
    ends = [rule.bytes - 1 for rule in rules[1:]]
    entries = []
    for rule, end in zip(rules, [*ends, None], strict=True):
        if rule.is_default:
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
        entries.append(entry)
    return entries
