"""Reads GOAL text and runs it, slowly, on a network of one latency: what LogGOPSim does with o, g, G = 0."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from pathlib import Path

_OPERATION = re.compile(
    r"(\w+): (?:calc (\d+)|(send|recv) (\d+)b (?:to|from) (\d+) tag (\d+))(?: cpu (\d+))?"
)
_REQUIRES = re.compile(r"(\w+) requires (\w+)")


@dataclass
class Operation:
    """A line: `calc` with nanoseconds, `send` or `recv` with bytes, peer and tag."""

    kind: str
    size: int
    peer: int = -1
    tag: int = 0
    requires: list[int] = field(default_factory=list)


def read_goal(path: Path) -> list[list[Operation]]:
    """Return the operations of each rank; requirements are indices of earlier operations."""
    ranks: list[list[Operation]] = []
    labels: dict[str, int] = {}
    count, inside = -1, False
    for line in path.read_text("ascii").splitlines():
        if line.startswith("num_ranks "):
            count = int(line.split()[1])
        elif line.startswith("rank "):
            assert line == f"rank {len(ranks)} {{"
            assert not inside
            ranks.append([])
            labels, inside = {}, True
        elif line == "}":
            assert ranks[-1]
            inside = False
        elif line:
            assert inside
            _line(line, ranks[-1], labels)
    assert len(ranks) == count
    assert not inside
    return ranks


def _line(line: str, operations: list[Operation], labels: dict[str, int]) -> None:
    required = _REQUIRES.fullmatch(line)
    if required:
        later, earlier = (labels[label] for label in required.groups())
        assert earlier < later
        operations[later].requires.append(earlier)
        return
    found = _OPERATION.fullmatch(line)
    assert found, line
    label, nanoseconds, kind, size, peer, tag, _ = found.groups()
    assert label not in labels
    labels[label] = len(operations)
    if kind:
        operations.append(Operation(kind, int(size), int(peer), int(tag)))
    else:
        operations.append(Operation("calc", int(nanoseconds)))


def messages(ranks: list[list[Operation]], kind: str) -> Counter[tuple[int, int, int]]:
    """Return how many are sent, or received: `send` or `recv`, by sender, receiver and bytes."""
    found: Counter[tuple[int, int, int]] = Counter()
    for rank, operations in enumerate(ranks):
        for operation in operations:
            if operation.kind == kind:
                sender, receiver = (rank, operation.peer) if kind == "send" else (operation.peer, rank)
                found[sender, receiver, operation.size] += 1
    return found


def finish_times(ranks: list[list[Operation]], latency: int) -> list[int]:
    """Return when each rank is done. Asserts that all messages meet and nothing waits for ever."""
    done: dict[tuple[int, int], int] = {}
    sent: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
    waiting = [deque(range(len(operations))) for operations in ranks]
    progress = True
    while progress:
        progress = False
        for rank, operations in enumerate(ranks):
            for index in [*waiting[rank]]:
                one = operations[index]
                if any((rank, earlier) not in done for earlier in one.requires):
                    continue
                begin = max((done[rank, earlier] for earlier in one.requires), default=0)
                if one.kind == "recv":
                    queue = sent[one.peer, rank, one.tag]
                    if not queue:
                        continue
                    done[rank, index] = max(begin, queue.popleft() + latency)
                else:
                    if one.kind == "send":
                        sent[rank, one.peer, one.tag].append(begin)
                    done[rank, index] = begin + (one.size if one.kind == "calc" else 0)
                waiting[rank].remove(index)
                progress = True
    assert not any(waiting), "operations that wait for ever"
    assert not any(sent.values()), "messages that nobody received"
    return [max(done[rank, index] for index in range(len(ops))) for rank, ops in enumerate(ranks)]
