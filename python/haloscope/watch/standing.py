"""The state of each rank: outside MPI, in a call or gone; and the ranks that its call waits for.

It is computed from two looks at the live records: a rank in the same call in both has made no progress.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from haloscope.watch.live import ANY, Call, Communicator, Process

# The data come from the root: other ranks wait for it alone, and it may wait for none.
_FROM_ROOT = ("MPI_Bcast", "MPI_Scatter", "MPI_Scatterv")

Place = Literal["inside", "outside", "polling", "moving", "stopped", "dead", "finished", "unseen"]
# They may still do what others need.
GOING: tuple[Place, ...] = ("outside", "polling", "moving", "stopped", "unseen")


@dataclass(frozen=True)
class Standing:
    """One rank: the call of the thread that called MPI_Init, and how long its state has lasted (s)."""

    rank: int
    place: Place
    call: Call | None = None
    since: float | None = None
    process: Process | None = None

    @property
    def region(self) -> tuple[str, ...]:
        """The region of the rank; () is the whole program."""
        return self.process.main.region if self.process else ()


@dataclass(frozen=True)
class Need:
    """Ranks that must do something before a rank goes on: all of `ranks`, or any of a communicator.

    `matched` is true if the ranks that the call waits for are in calls that fit it. Without any of the three
    fields, nothing is known.
    """

    ranks: tuple[int, ...] = ()
    any_of: Communicator | None = None
    matched: bool = False


def standings(before: Sequence[Process], after: Sequence[Process]) -> dict[int, Standing]:
    """Return the state of each rank of one world, from two looks; ranks without a record are `unseen`."""
    earlier = {process.rank: process for process in before}
    size = max((process.size for process in after), default=0)
    found = {rank: Standing(rank, "unseen") for rank in range(size)}
    for process in after:
        found[process.rank] = _standing(earlier.get(process.rank), process)
    return found


def _standing(before: Process | None, process: Process) -> Standing:
    rank, main = process.rank, process.main
    if process.finalized:
        return Standing(rank, "finished", process=process)
    since = main.call.since if main.call else main.idle
    state: Place = "inside" if main.call else "outside"
    if process.state == "dead":
        return Standing(rank, "dead", main.call, since, process)
    if process.state == "stopped" and main.call:  # its call may have been about to end
        return Standing(rank, "stopped", main.call, since, process)
    if before is not None and before.path == process.path:
        if _progress(before) != _progress(process):
            state = "moving"
        elif before.main.sums.polls != main.sums.polls or _mark(before) != _mark(process):
            state = "polling"  # in calls without time stamps
    return Standing(rank, state, main.call, since, process)


def _progress(process: Process) -> tuple[object, ...]:
    return tuple((thread.mark, thread.region) for thread in process.threads)


def _mark(process: Process) -> object:
    call = process.main.call
    return (call.function, call.mark) if call else None


def operation(call: Call) -> str:
    """Return the function without the suffix of large counts."""
    return call.function.removesuffix("_c")


def is_compatible(send: Call, receive: Call) -> bool:
    """Return whether a message of one call may match the other call, as far as is known."""
    tags = {send.tag, receive.tag}
    if None not in tags and ANY not in tags and len(tags) > 1:
        return "exchange" in (send.what, receive.what)  # these have two tags, of which one is known
    sent_on, received_on = send.communicator, receive.communicator
    return (
        sent_on is None
        or received_on is None
        or sent_on.inter
        or received_on.inter
        or sent_on.key == received_on.key
    )


class Ranks:
    """The states of all ranks of a world, with an index of senders by receiver."""

    def __init__(self, standings: Mapping[int, Standing]) -> None:
        self.standings = standings

    def __getitem__(self, rank: int) -> Standing:
        return self.standings.get(rank) or Standing(rank, "unseen")

    @cached_property
    def inside(self) -> dict[int, Call]:
        """The ranks that are in a call and make no progress, with the call."""
        return {
            rank: standing.call
            for rank, standing in self.standings.items()
            if standing.place == "inside" and standing.call is not None
        }

    @cached_property
    def collectives(self) -> dict[tuple[str, tuple[str, str]], list[int]]:
        """The ranks in each collective of each communicator."""
        found: dict[tuple[str, tuple[str, str]], list[int]] = {}
        for rank, call in self.inside.items():
            if call.gathers and call.communicator is not None:
                found.setdefault((operation(call), call.communicator.key), []).append(rank)
        return found

    @cached_property
    def _missing(self) -> dict[tuple[str, tuple[str, str]], tuple[int, ...] | None]:
        missing: dict[tuple[str, tuple[str, str]], tuple[int, ...] | None] = {}
        for key, there in self.collectives.items():
            communicator = self.inside[there[0]].communicator
            assert communicator is not None
            members = self.members(communicator)
            present = set(there)
            missing[key] = None if members is None else tuple(r for r in members if r not in present)
        return missing

    def members(self, communicator: Communicator) -> Sequence[int] | None:
        """Return the world ranks of a communicator, if they are known."""
        if communicator.inter:
            return None
        if communicator.ranks is not None:
            return communicator.ranks
        return range(communicator.size) if communicator.size == len(self.standings) else None

    def _may_go_on(self, communicator: Communicator) -> bool:
        """Return whether a member is in no call, or has made progress."""
        members = self.members(communicator)
        return members is None or any(self[rank].place in GOING for rank in members)

    @cached_property
    def _sends(self) -> dict[int, list[int]]:
        """The ranks that are sending to each rank."""
        found: dict[int, list[int]] = {}
        for rank, call in self.inside.items():
            if call.sends and call.partner is not None:
                found.setdefault(call.partner, []).append(rank)
        return found

    def need(self, rank: int) -> Need:
        """Return the need of a rank that is in a call."""
        call = self.inside[rank]
        if call.gathers:
            return self._find_collective_need(rank, call)
        halves = []
        if call.sends:
            halves.append(self._find_send_need(rank, call))
        if call.receives:
            halves.append(self._find_receive_need(rank, call))
        if len(halves) != 2:
            return halves[0] if halves else Need()
        ranks = tuple(dict.fromkeys(other for half in halves for other in half.ranks))
        return Need(ranks, matched=not ranks and any(half.matched for half in halves))

    def _find_collective_need(self, rank: int, call: Call) -> Need:
        if call.communicator is None:
            return Need()
        root = call.partner
        if operation(call) in _FROM_ROOT and root is not None:
            if root == rank and self._may_go_on(call.communicator):
                return Need()
            if root != rank:
                there = root in self.collectives[operation(call), call.communicator.key]
                return Need(matched=True) if there else Need((root,))
        missing = self._missing[operation(call), call.communicator.key]
        return Need() if missing is None else Need(missing, matched=not missing)

    def _find_receive_need(self, rank: int, call: Call) -> Need:
        if call.origin is None:
            return Need()
        senders = [r for r in self._sends.get(rank, ()) if call.origin in (r, ANY)]
        if any(is_compatible(self.inside[sender], call) for sender in senders):
            return Need(matched=True)
        return Need((call.origin,)) if call.origin != ANY else Need(any_of=call.communicator)

    def _find_send_need(self, rank: int, call: Call) -> Need:
        if call.partner is None:
            return Need()
        other = self.inside.get(call.partner)
        if (
            other is not None
            and other.receives
            and other.origin in (rank, ANY)
            and is_compatible(call, other)
        ):
            return Need(matched=True)
        return Need((call.partner,))
