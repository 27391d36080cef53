"""Rules of what algorithm a library is to use, and their files.

The semantics are Open MPI's (`coll_tuned`, 4.1 and 5.0): of the communicator sizes listed for a
collective the greatest one that is not above the communicator's holds; of its rules, the last one
whose bytes are not above the call's, in the bytes that the library counts for the collective.
Their files are Open MPI's dynamic-rules text (versions 4 and 5), and JSON (version 6).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

DEFAULT = "default"
# Collectives whose size the library takes for all ranks together; users and OSU say it a rank.
# (Of allgatherv it takes the mean of the counts, as running 4.1.4 and 5.0.11 shows.)
_TIMES_RANKS = frozenset({"allgather", "alltoall", "gather", "scatter"})
_UNSIZED = frozenset({"alltoallv", "barrier"})


@dataclass(frozen=True, order=True)
class TuningRule:
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

    def same_choice(self, other: TuningRule) -> bool:
        """Return True if both say the same, for whatever ranks and bytes."""
        return replace(self, ranks=0, bytes=0) == replace(other, ranks=0, bytes=0)


def counted_bytes(collective: str, ranks: int, size: int) -> int:
    """Return what Open MPI compares with a rule's bytes, for a call of OSU's `size`."""
    if collective in _UNSIZED:
        return 0
    return size * ranks if collective in _TIMES_RANKS else size


def close_rules(rules: Sequence[TuningRule]) -> list[TuningRule]:
    """Return the rules, and default where none is: at size 0, and for the communicator sizes between.

    Without these the first rule of a size would hold for all larger communicators too, and a list
    that does not begin at 0 makes the library ignore the whole file.
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
    return _simplified(complete)


def _simplified(rules: Iterable[TuningRule]) -> list[TuningRule]:
    """Return the rules in order, without those that repeat the one before."""
    kept: list[TuningRule] = []
    for rule in sorted(rules):
        last = kept[-1] if kept else None
        same_list = last and (last.collective, last.ranks) == (rule.collective, rule.ranks)
        if not (last and same_list and last.same_choice(rule)):
            kept.append(rule)
    return kept


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
# A tree of no children and no chains at all: what the library takes when it is asked for the
# algorithm without a fan-out, and its rules reader doesn't.
_FANOUTS = {("bcast", "chain"): 4, ("bcast", "knomial"): 4, ("reduce", "chain"): 4}


def write_text(rules: Iterable[TuningRule]) -> str:
    """Return the file's text. Where the rules leave a gap the library's own decision is written."""
    complete = close_rules(list(rules))
    by_collective = {name: list(group) for name, group in groupby(complete, lambda rule: rule.collective)}
    lines = [f"{len(by_collective)}  # collectives"]
    for name, ones in by_collective.items():
        by_ranks = {ranks: list(group) for ranks, group in groupby(ones, lambda one: one.ranks)}
        lines += [f"{_IDENTIFIERS[name]}  # {name}", f"{len(by_ranks)}  # communicator sizes"]
        for ranks, group in by_ranks.items():
            lines += [f"{ranks}  # ranks", f"{len(group)}  # rules"]
            lines += [_line(rule) for rule in group]
    return "\n".join(lines) + "\n"


def _line(rule: TuningRule) -> str:
    fanout = rule.fanout or _FANOUTS.get((rule.collective, rule.algorithm), 0)
    return f"{rule.bytes} {rule.number} {fanout} {rule.segment}  # {rule.algorithm}"


def write_json(rules: Iterable[TuningRule]) -> str:
    """Return the file's text: ranges with both ends, where the first match wins; gaps are the default."""
    complete = close_rules(list(rules))
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


def _messages(rules: Sequence[TuningRule]) -> list[dict[str, Any]]:
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
