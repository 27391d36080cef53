"""Rules of what algorithm a library is to use, and which of them a call meets.

The semantics are Open MPI's (`coll_tuned`, 4.1 and 5.0): of the communicator sizes listed for a
collective the greatest one that is not above the communicator's holds; of its rules, the last one
whose bytes are not above the call's, in the bytes that the library counts for the collective.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

__all__ = ["DEFAULT", "Rule", "block_bytes", "closed", "counted_bytes", "rule_for", "simplified"]

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
        """True if both say the same, for whatever ranks and bytes."""
        return replace(self, ranks=0, bytes=0) == replace(other, ranks=0, bytes=0)


def counted_bytes(collective: str, ranks: int, size: int) -> int:
    """What Open MPI compares with a rule's bytes, for a call of OSU's `size`."""
    if collective in _UNSIZED:
        return 0
    return size * ranks if collective in _TIMES_RANKS else size


def block_bytes(collective: str, ranks: int, counted: int) -> int:
    """The reverse of `counted_bytes`: the size as OSU says it."""
    if collective in _UNSIZED:
        return 0
    return counted // ranks if collective in _TIMES_RANKS else counted


def rule_for(rules: Iterable[Rule], collective: str, ranks: int, counted: int) -> Rule | None:
    """The rule that a call meets; None where the library decides itself."""
    mine = [rule for rule in rules if rule.collective == collective and rule.ranks <= ranks]
    if not mine:
        return None
    nearest = max(rule.ranks for rule in mine)
    fitting = [rule for rule in mine if rule.ranks == nearest and rule.bytes <= counted]
    found = max(fitting, key=lambda rule: rule.bytes, default=None)
    return None if found is None or found.default else found


def closed(rules: Sequence[Rule]) -> list[Rule]:
    """The rules, and default where none is: at size 0, and for the communicator sizes between.

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
    """The rules in order, without those that repeat the one before."""
    kept: list[Rule] = []
    for rule in sorted(rules):
        last = kept[-1] if kept else None
        same_list = last and (last.collective, last.ranks) == (rule.collective, rule.ranks)
        if not (last and same_list and last.same_choice(rule)):
            kept.append(rule)
    return kept
