"""The nodes for ranks, and the number of ranks of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.arrays import Integers
from haloscope.base.errors import UsageError
from haloscope.base.units import noun_text

if TYPE_CHECKING:
    from haloscope.profile import Profile

# host, host:4, host slots=4 max_slots=8, as Open MPI and MPICH write them.
_HOST = re.compile(r"([A-Za-z0-9][\w.-]*)(?::([0-9]{1,6})|(?:\s+\S+)*?\s+slots\s*=\s*([0-9]{1,6}))?(?:\s.*)?")
_MOST_BYTES = 1 << 24


@dataclass(frozen=True)
class Nodes:
    """Nodes in the order in which a launcher fills them, with the number of ranks of each."""

    names: tuple[str, ...]
    ranks: tuple[int, ...]

    @property
    def by_slot(self) -> Integers:
        """The node of each slot; slots of one node are consecutive."""
        return np.repeat(np.arange(len(self.ranks)), self.ranks)

    @property
    def first(self) -> Integers:
        """The first slot of each node."""
        return np.concatenate([[0], np.cumsum(self.ranks)[:-1]]).astype(np.int64)

    def __str__(self) -> str:
        sizes = sorted(set(self.ranks), reverse=True)
        return " and ".join(
            f"{noun_text(self.ranks.count(size), 'node')} of {noun_text(size, 'rank')}" for size in sizes
        )


def read_recorded_nodes(profile: Profile) -> tuple[Nodes, Integers]:
    """Return the nodes of a run, and the node of each rank. Raises `UsageError` if they are unknown."""
    ranks = np.arange(int(profile.info["ranks"]))
    hosts = profile.hosts
    node = hosts.codes(ranks)
    if (node < 0).any():
        raise UsageError(f"{profile.path}: has no hosts for some ranks; give them with --hosts")
    counts = np.bincount(node, minlength=len(hosts.names))
    return Nodes(tuple(hosts.names), tuple(counts.tolist())), node


def read_nodes(text: str, ranks: int) -> Nodes:
    """Return the nodes of `8` (a number of equal nodes), `a:4,b:4`, or a host file; filled in order.

    Raises `UsageError` if the text is invalid, or the nodes have too few slots.
    """
    if text.isascii() and text.isdecimal():
        return _make_equal_nodes(int(text), ranks)
    file = Path(text)
    if "," not in text and file.is_file():
        hosts = list(_parse_hosts(_read_lines(file), text))
    else:
        hosts = list(_parse_hosts(text.split(","), "--hosts"))
    if not hosts:
        raise UsageError(f"--hosts {text}: has no host")
    return _fill_nodes(hosts, ranks)


def _make_equal_nodes(count: int, ranks: int) -> Nodes:
    if not 0 < count <= ranks:
        raise UsageError(
            f"--hosts {count}: {noun_text(ranks, 'rank')} can use 1 to {noun_text(ranks, 'node')}"
        )
    each, more = divmod(ranks, count)
    sizes = tuple(each + (node < more) for node in range(count))
    return Nodes(tuple(f"node{node}" for node in range(count)), sizes)


def _read_lines(file: Path) -> list[str]:
    try:
        with file.open("rb") as stream:
            text = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    if len(text) > _MOST_BYTES:
        raise UsageError(f"{file}: is not a list of hosts: larger than {_MOST_BYTES} bytes")
    lines = text.decode(errors="replace").splitlines()
    return [line for line in (line.partition("#")[0].strip() for line in lines) if line]


def _parse_hosts(words: Sequence[str], where: str) -> Iterator[tuple[str, int]]:
    for word in words:
        found = _HOST.fullmatch(word.strip())
        if found is None:
            raise UsageError(f"{where}: {word!r} is not a host, such as n1, n1:4 or n1 slots=4")
        yield found[1], int(found[2] or found[3] or 1)


def _fill_nodes(hosts: Sequence[tuple[str, int]], ranks: int) -> Nodes:
    room: dict[str, int] = {}
    for name, slots in hosts:  # slots of repeated hosts add up
        room[name] = room.get(name, 0) + slots
    total = sum(room.values())
    if total < ranks:
        raise UsageError(
            f"--hosts: {noun_text(len(room), 'host')} with {noun_text(total, 'slot')} for"
            f" {noun_text(ranks, 'rank')}"
        )
    sizes: dict[str, int] = {}
    for name, slots in room.items():
        sizes[name] = min(slots, ranks - sum(sizes.values()))
    used = {name: size for name, size in sizes.items() if size}
    return Nodes(tuple(used), tuple(used.values()))
