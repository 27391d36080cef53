"""The nodes that ranks are placed on, and how many each takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.arrays import Integers
from haloscope.base.errors import UsageError

if TYPE_CHECKING:
    from haloscope.profile import Profile

# host, host:4, host slots=4 max_slots=8, as Open MPI and MPICH write them.
_HOST = re.compile(r"([A-Za-z0-9][\w.-]*)(?::([0-9]{1,6})|(?:\s+\S+)*?\s+slots\s*=\s*([0-9]{1,6}))?(?:\s.*)?")
_MOST_BYTES = 1 << 24


@dataclass(frozen=True)
class Nodes:
    """Nodes in the order in which a launcher fills them, with the ranks that each takes."""

    names: tuple[str, ...]
    ranks: tuple[int, ...]

    @property
    def by_slot(self) -> Integers:
        """The node of each slot; slots of one node follow each other."""
        return np.repeat(np.arange(len(self.ranks)), self.ranks)

    @property
    def first(self) -> Integers:
        """The first slot of each node."""
        return np.concatenate([[0], np.cumsum(self.ranks)[:-1]]).astype(np.int64)

    def __str__(self) -> str:
        sizes = sorted(set(self.ranks), reverse=True)
        return " and ".join(f"{self.ranks.count(size)} nodes of {size}" for size in sizes)


def read_recorded_nodes(profile: Profile) -> tuple[Nodes, Integers]:
    """Return the nodes of a run, and that of each rank. Raises `UsageError` where they are not known."""
    ranks = np.arange(int(profile.info["ranks"]))
    hosts = profile.hosts
    node = hosts.codes(ranks)
    if (node < 0).any():
        raise UsageError(f"{profile.path}: does not say where all ranks ran; say --hosts")
    counts = np.bincount(node, minlength=len(hosts.names))
    return Nodes(tuple(hosts.names), tuple(counts.tolist())), node


def read_nodes(text: str, ranks: int) -> Nodes:
    """Return the nodes of `8` (so many, alike), `a:4,b:4`, or a host file; filled in order.

    Raises `UsageError` where they make no sense, or have no room for so many ranks.
    """
    if text.isascii() and text.isdecimal():
        return _alike(int(text), ranks)
    file = Path(text)
    if "," not in text and file.is_file():
        hosts = list(_hosts(_lines(file), text))
    else:
        hosts = list(_hosts(text.split(","), "--hosts"))
    if not hosts:
        raise UsageError(f"--hosts {text}: names no host")
    return _filled(hosts, ranks)


def _alike(count: int, ranks: int) -> Nodes:
    if not 0 < count <= ranks:
        raise UsageError(f"--hosts {count}: {ranks} ranks run on 1 to {ranks} nodes")
    each, more = divmod(ranks, count)
    sizes = tuple(each + (node < more) for node in range(count))
    return Nodes(tuple(f"node{node}" for node in range(count)), sizes)


def _lines(file: Path) -> list[str]:
    try:
        with file.open("rb") as stream:
            text = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    if len(text) > _MOST_BYTES:
        raise UsageError(f"{file}: is no list of hosts: larger than {_MOST_BYTES} bytes")
    lines = text.decode(errors="replace").splitlines()
    return [line for line in (line.partition("#")[0].strip() for line in lines) if line]


def _hosts(words: Sequence[str], where: str) -> Iterator[tuple[str, int]]:
    for word in words:
        found = _HOST.fullmatch(word.strip())
        if found is None:
            raise UsageError(f"{where}: {word!r} is no host, such as n1, n1:4 or n1 slots=4")
        yield found[1], int(found[2] or found[3] or 1)


def _filled(hosts: Sequence[tuple[str, int]], ranks: int) -> Nodes:
    room: dict[str, int] = {}
    for name, slots in hosts:  # a host that comes several times has so many slots
        room[name] = room.get(name, 0) + slots
    total = sum(room.values())
    if total < ranks:
        raise UsageError(f"--hosts: {len(room)} hosts have {total} slots, and there are {ranks} ranks")
    sizes: dict[str, int] = {}
    for name, slots in room.items():
        sizes[name] = min(slots, ranks - sum(sizes.values()))
    used = {name: size for name, size in sizes.items() if size}
    return Nodes(tuple(used), tuple(used.values()))
