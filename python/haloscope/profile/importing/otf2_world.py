"""The participants of an OTF2 archive: ranks and threads, their hosts, and communicators."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from haloscope.base.arrays import AnyArray, Integers

if TYPE_CHECKING:
    from haloscope.profile.importing.otf2_archive import Archive

_MPI = 4  # a paradigm
_CPU_THREADS = (0, 1)  # types of locations: unknown, and a thread
_COMM_LOCATIONS, _COMM_GROUP, _COMM_SELF = 4, 5, 6  # types of groups
_HOST_CLASSES = ("node", "host", "compute node")
_UNKNOWN = -1


@dataclass
class ArchiveWorld:
    """The ranks of an archive, from its definitions.

    `ranks` maps a location to its rank and thread. Locations that are not threads, such as streams of an
    accelerator, have none.
    """

    archive: Archive
    ranks: dict[int, tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        members = self._members()
        threads = self.archive.threads
        self.ranks = {location: (rank, 0) for rank, location in enumerate(members) if location in threads}
        of_process: dict[int, list[int]] = {}
        for location, (rank, _) in self.ranks.items():
            of_process.setdefault(threads[location]["process"], []).append(rank)
        counted: dict[int, int] = {}
        for location, thread in threads.items():
            ranks = of_process.get(thread["process"], [])
            # If a process has several ranks, the rank of its other threads is unknown.
            if location not in self.ranks and thread["type"] in _CPU_THREADS and len(ranks) == 1:
                counted[ranks[0]] = counted.get(ranks[0], 0) + 1
                self.ranks[location] = (ranks[0], counted[ranks[0]])

    def _members(self) -> list[int]:
        """Return the location of each rank: MPI's, else the first thread of each process."""
        for (number, kind), members in self.archive.groups.items():
            if kind == _COMM_LOCATIONS and self.archive.paradigms[number, kind] == _MPI and members:
                return members
        first: dict[int, int] = {}
        for location, thread in self.archive.threads.items():
            if thread["type"] in _CPU_THREADS:
                first.setdefault(thread["process"], location)
        return [first[process] for process in sorted(first)]

    @cached_property
    def size(self) -> int:
        """The number of ranks."""
        return len(self._members())

    def host(self, rank: int) -> str | None:
        """Return the name of a rank's host, None if the archive does not have it."""
        location = self._members()[rank]
        process = self.archive.threads.get(location, {}).get("process", _UNKNOWN)
        number = self.archive.processes.get(process, {}).get("node", _UNKNOWN)
        for _ in range(len(self.archive.nodes)):
            node = self.archive.nodes.get(number)
            if node is None:
                return None
            if self.archive.text(node["class"]).lower() in _HOST_CLASSES:
                return self.archive.text(node["name"])
            number = node["parent"]
        return None

    def members(self, communicator: int) -> list[int]:
        """Return the world ranks of a communicator; empty if unknown, or if it has the caller only."""
        defined = self.archive.communicators.get(communicator, {})
        return self.archive.groups.get((defined.get("group", _UNKNOWN), _COMM_GROUP), [])

    def name(self, communicator: int) -> str:
        """Return the name of a communicator."""
        defined = self.archive.communicators.get(communicator)
        return f"communicator {communicator}" if defined is None else self.archive.text(defined["name"])

    def size_of(self, communicator: int) -> int | None:
        """Return the number of ranks of a communicator, None if unknown."""
        if members := self.members(communicator):
            return len(members)
        defined = self.archive.communicators.get(communicator, {})
        return 1 if (defined.get("group", _UNKNOWN), _COMM_SELF) in self.archive.groups else None

    def world_ranks(self, communicators: AnyArray, numbers: AnyArray, ranks: AnyArray) -> Integers:
        """Return the world rank of each rank number in a communicator, as seen by `ranks`; −1 if unknown."""
        found = np.full(len(numbers), _UNKNOWN, dtype=np.int64)
        for communicator in np.unique(communicators).tolist():
            here = np.flatnonzero(communicators == communicator)
            own = np.array(self.members(communicator), dtype=np.int64)
            remote = self._remote(communicator)
            if remote is not None:  # an inter-communicator: numbers are those of the other group
                is_first = np.isin(ranks[here], own)
                found[here[is_first]] = _take(remote, numbers[here[is_first]])
                found[here[~is_first]] = _take(own, numbers[here[~is_first]])
            elif len(own):
                found[here] = _take(own, numbers[here])
            elif self.size_of(communicator) == 1:
                found[here] = np.where(numbers[here] == 0, ranks[here], _UNKNOWN)
        found[(found < 0) | (found >= self.size)] = _UNKNOWN
        return found

    def _remote(self, communicator: int) -> Integers | None:
        defined = self.archive.communicators.get(communicator, {})
        if "remote" not in defined:
            return None
        return np.array(self.archive.groups.get((defined["remote"], _COMM_GROUP), []), dtype=np.int64)


def _take(members: Integers, numbers: AnyArray) -> Integers:
    """Return the members at these indices, −1 for indices out of range."""
    if not len(members):
        return np.full(len(numbers), _UNKNOWN, dtype=np.int64)
    places = numbers.astype(np.int64)
    inside = (places >= 0) & (places < len(members))
    return np.where(inside, members[np.where(inside, places, 0)], _UNKNOWN)
