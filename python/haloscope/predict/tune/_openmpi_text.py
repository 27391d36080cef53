"""Open MPI's dynamic-rules text, versions 4 and 5."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from haloscope.base.errors import UsageError
from haloscope.predict.tune._rules import DEFAULT, Rule, closed

__all__ = ["IDENTIFIERS", "read_text", "write_text"]

IDENTIFIERS = {
    "allgather": 0, "allgatherv": 1, "allreduce": 2, "alltoall": 3, "alltoallv": 4, "alltoallw": 5,
    "barrier": 6, "bcast": 7, "exscan": 8, "gather": 9, "gatherv": 10, "reduce": 11,
    "reduce_scatter": 12, "reduce_scatter_block": 13, "scan": 14, "scatter": 15, "scatterv": 16,
}  # fmt: skip
_COLLECTIVES = {number: name for name, number in IDENTIFIERS.items()}
# A tree of no children and no chains at all: what the library takes when it is asked for the
# algorithm without a fan-out, and its rules reader doesn't.
_FANOUTS = {("bcast", "chain"): 4, ("bcast", "knomial"): 4, ("reduce", "chain"): 4}


def write_text(rules: Iterable[Rule]) -> str:
    """The file's text. Where the rules leave a gap the library's own decision is written."""
    complete = closed(list(rules))
    by_collective = {
        name: list(group) for name, group in groupby(complete, lambda rule: rule.collective)
    }
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


def _read_rules(
    numbers: _Numbers, collective: str, names: Mapping[tuple[str, int], str]
) -> Sequence[Rule]:
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
