"""Finds ranks that can still go on, and cycles of ranks that wait for each other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from haloscope.watch.live import Communicator
from haloscope.watch.standing import GOING, Need, Place, Ranks


@dataclass
class _Open:
    """The open needs, while the ranks that can go on are searched."""

    ready: deque[int] = field(default_factory=deque)
    needs: dict[int, int] = field(default_factory=dict)  # by rank: number of ranks that it still waits for
    waiting: dict[int, list[int]] = field(default_factory=dict)  # by rank: the ranks that wait for it
    hopeful: dict[tuple[str, str], list[int]] = field(default_factory=dict)  # that wait for any member
    alike: dict[int, list[int]] = field(default_factory=dict)  # by rank: others in the same collective


class Waits:
    """The needs of all ranks in calls, and their consequences.

    `free` are the ranks that can go on if each rank outside MPI does what others need; `stuck` are the
    ranks in calls that cannot go on in any case.
    """

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks
        self.needs: dict[int, Need] = {rank: ranks.need(rank) for rank in ranks.inside}
        self.free = self._find_free()
        self.stuck = sorted(set(self.needs) - self.free)

    def _find_free(self) -> set[int]:
        """Return the smallest set of ranks with all outside MPI, and all whose needs are in the set."""
        free: set[int] = set()
        state = self._open_needs()
        while state.ready:
            rank = state.ready.popleft()
            if rank in free:
                continue
            free.add(rank)
            state.ready.extend(state.alike.get(rank, ()))
            for other in state.waiting.get(rank, ()):
                state.needs[other] -= 1
                if state.needs[other] == 0:
                    state.ready.append(other)
            for key in [key for key in state.hopeful if self._is_member(rank, self._hopes[key])]:
                state.ready.extend(state.hopeful.pop(key))
        return free

    def _open_needs(self) -> _Open:
        state = _Open(deque(r for r, standing in self.ranks.standings.items() if standing.place in GOING))
        first: dict[int, int] = {}  # by need: its first rank
        for rank, need in self.needs.items():
            if need.any_of is not None:
                state.hopeful.setdefault(need.any_of.key, []).append(rank)
            elif not need.ranks:
                state.ready.append(rank)
            elif first.setdefault(id(need.ranks), rank) != rank:
                state.alike.setdefault(first[id(need.ranks)], []).append(rank)
            else:
                state.needs[rank] = len(need.ranks)
                for other in need.ranks:
                    state.waiting.setdefault(other, []).append(rank)
        return state

    @cached_property
    def _hopes(self) -> dict[tuple[str, str], Communicator]:
        """The communicators on which a rank waits for a message from any member."""
        return {need.any_of.key: need.any_of for need in self.needs.values() if need.any_of is not None}

    def _is_member(self, rank: int, communicator: Communicator) -> bool:
        members = self.ranks.members(communicator)
        return members is None or rank in members

    def blockers(self, rank: int) -> Iterator[int]:
        """Yield the ranks that a rank waits for and that cannot go on."""
        need = self.needs.get(rank, Need())
        ranks: Iterable[int] = need.ranks
        if need.any_of is not None:
            ranks = [other for other in self.ranks.members(need.any_of) or () if other != rank] or (rank,)
        return (other for other in ranks if other not in self.free)

    def roots(self, *places: Place) -> list[int]:
        """Return the ranks in these states that other ranks wait for."""
        there = {rank for rank, standing in self.ranks.standings.items() if standing.place in places}
        wanted: set[int] = set()
        for ranks in {id(need.ranks): need.ranks for need in self.needs.values()}.values():
            wanted.update(ranks)
        hopes = self._hopes.values()
        if {"dead", "finished"} & set(places):  # not to blame where a different rank could send
            hopes = {
                n.any_of.key: n.any_of for n in map(self.needs.get, self.stuck) if n and n.any_of
            }.values()
        wanted |= {rank for rank in there if any(self._is_member(rank, each) for each in hopes)}
        return sorted(wanted & there)

    def find(self, place: Place) -> list[int]:
        """Return the ranks in this state."""
        return [rank for rank, standing in self.ranks.standings.items() if standing.place == place]

    def waiting_for(self, rank: int) -> list[int]:
        """Return the ranks whose calls wait for a rank."""
        return sorted(other for other, need in self.needs.items() if self._is_needed(rank, need))

    def _is_needed(self, rank: int, need: Need) -> bool:
        if need.any_of is not None:
            return self._is_member(rank, need.any_of)
        return rank in need.ranks

    def cycle(self) -> list[int]:
        """Return ranks each of which waits for the next, and the last for the first; [] without a cycle."""
        done: set[int] = set()
        for start in self.stuck:
            places: dict[int, int] = {}
            rank: int | None = start
            while rank is not None and rank not in places and rank not in done:
                places[rank] = len(places)
                rank = next(self.blockers(rank), None)
            if rank is not None and rank in places:
                return list(places)[places[rank] :]
            done.update(places)
        return []
