"""The verdict on a program that does not go on, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from haloscope.base.units import ranks_text, time_text
from haloscope.watch.calls import call_text, state_text
from haloscope.watch.live import ANY, Call
from haloscope.watch.standing import Standing, is_compatible, operation
from haloscope.watch.wait_cycles import Waits

_MOST_STEPS = 4  # steps of a cycle that are printed


@dataclass(frozen=True)
class HangVerdict:
    """The reason why a program does not go on.

    `kind` is `deadlock of sends`, `deadlock of receives`, `deadlock`, `wrong tag`, `self`,
    `different collectives`, `missing collective`, `never sent`, `never received`, `dead`, `late`, `unseen`,
    `unknown` or `none`. `ranks` are the ranks that others wait for, or that wait for each other.
    """

    kind: str
    text: str
    ranks: tuple[int, ...] = ()

    @property
    def is_hang(self) -> bool:
        """Whether the program cannot go on by itself."""
        return self.kind not in ("none", "late", "unseen", "unknown")


def judge(waits: Waits) -> HangVerdict:
    """Return the last cause in the chain of ranks that wait for each other."""
    dead = waits.roots("dead")
    if dead:
        return _judge_dead(waits, dead)
    cycle = waits.cycle()
    if cycle:
        return _judge_mismatch(waits, cycle) or _judge_cycle(waits, cycle)
    finished = waits.roots("finished")
    if finished:
        return _judge_finished(waits, finished)
    return _judge_late(waits)


def _judge_dead(waits: Waits, dead: Sequence[int]) -> HangVerdict:
    others = waits.waiting_for(dead[0])
    standing = waits.ranks[dead[0]]
    process = (
        f"process {standing.process.pid} on {standing.process.host}" if standing.process else "its process"
    )
    what = f"{ranks_text(dead)} {_is(dead)} dead ({process} is gone)"
    return HangVerdict("dead", f"{what}: {_wait_text(waits, others)} for {_it(dead)}", tuple(dead))


def _judge_finished(waits: Waits, finished: Sequence[int]) -> HangVerdict:
    others = waits.waiting_for(finished[0])
    first = waits.ranks.inside[others[0]]
    ended = f"{ranks_text(finished)} {_has(finished)} come to MPI_Finalize"
    waiting = f"{_wait_text(waits, others)} for {_it(finished)}"
    if first.gathers:
        return HangVerdict(
            "missing collective", f"{ended} without {operation(first)}: {waiting}", tuple(finished)
        )
    if first.sends:
        return HangVerdict("never received", f"{ended} and will not receive: {waiting}", tuple(finished))
    unread = _describe_unreceived(waits, finished[0], others[0])
    if unread:
        return HangVerdict("wrong tag", f"{ended}: {waiting}; {unread}", tuple(finished))
    return HangVerdict("never sent", f"{ended} and will not send: {waiting}", tuple(finished))


def _describe_unreceived(waits: Waits, sender: int, receiver: int) -> str:
    """Return that messages were sent and not received, if the records show that."""
    sent, received = waits.ranks[sender].process, waits.ranks[receiver].process
    if sent is None or received is None:
        return ""
    left = sent.partners.get(receiver, (0, 0))[0] - received.partners.get(sender, (0, 0))[1]
    if left <= 0:
        return ""
    messages = "a message" if left == 1 else f"{left} messages"
    return f"{messages} of {sender} to {receiver} came with a different tag or communicator"


def _judge_mismatch(waits: Waits, cycle: Sequence[int]) -> HangVerdict | None:
    """Return which argument of the calls of two neighbours in a cycle keeps them from matching."""
    inside = waits.ranks.inside
    by_communicator: dict[tuple[str, str], dict[str, int]] = {}
    for at, rank in enumerate(cycle):
        call, after = inside.get(rank), cycle[(at + 1) % len(cycle)]
        other = inside.get(after)
        if call is None or other is None:
            continue
        if call.gathers and call.communicator:
            by_communicator.setdefault(call.communicator.key, {})[operation(call)] = rank
        if rank != after:
            pair = _describe_wrong_pair(rank, call, after, other)
            if pair:
                return HangVerdict("wrong tag", pair, (min(rank, after), max(rank, after)))
    for operations in by_communicator.values():
        if len(operations) > 1:
            return _judge_different(waits, operations)
    return None


def _describe_wrong_pair(rank: int, call: Call, after: int, other: Call) -> str:
    if call.sends and other.receives:
        sender, send, receiver, receive = rank, call, after, other
    elif call.receives and other.sends:
        sender, send, receiver, receive = after, other, rank, call
    else:
        return ""
    if send.partner != receiver or receive.origin not in (sender, ANY) or is_compatible(send, receive):
        return ""
    if send.tag != receive.tag and ANY not in (send.tag, receive.tag):
        wrong = f"with tag {receive.tag}, but the message of {sender} has tag {send.tag}"
    else:
        names = [call.communicator.name if call.communicator else "?" for call in (receive, send)]
        wrong = f"on {names[0]}, but the message of {sender} is on {names[1]}"
    return f"rank {receiver} receives from {sender} {wrong} ({receive.function}, {send.function})"


def _judge_different(waits: Waits, operations: dict[str, int]) -> HangVerdict:
    texts, all_ranks, name = [], [], ""
    for function, rank in sorted(operations.items(), key=lambda item: item[1]):
        communicator = waits.ranks.inside[rank].communicator
        assert communicator is not None
        members = sorted(waits.ranks.collectives[function, communicator.key])
        texts.append(f"{ranks_text(members)} in {function}")
        all_ranks += members
        name = communicator.name
    return HangVerdict(
        "different collectives",
        f"different collectives on {name}: {', '.join(texts)}",
        tuple(sorted(all_ranks)),
    )


def _judge_cycle(waits: Waits, cycle: Sequence[int]) -> HangVerdict:
    calls = [waits.ranks.inside[rank] for rank in cycle]
    ranks = tuple(sorted(cycle))
    sends, receives = all(call.sends for call in calls), all(call.receives for call in calls)
    if len(cycle) == 1:
        return HangVerdict("self", f"{ranks_text(ranks)} waits for itself {call_text(calls[0])}", ranks)
    way = _cycle_text(cycle)
    if sends and not receives:
        return HangVerdict(
            "deadlock of sends", f"deadlock of sends without receives: {ranks_text(ranks)} {way}", ranks
        )
    if receives and not sends:
        return HangVerdict(
            "deadlock of receives",
            f"deadlock: {ranks_text(ranks)} all wait to receive, and no rank sends: {way}",
            ranks,
        )
    steps = "; ".join(_step(waits, rank, after) for rank, after in _pairs(cycle)[:_MOST_STEPS])
    more = "; …" if len(cycle) > _MOST_STEPS else ""
    return HangVerdict("deadlock", f"deadlock of {ranks_text(ranks)}: {steps}{more}", ranks)


def _pairs(cycle: Sequence[int]) -> list[tuple[int, int]]:
    return [(rank, cycle[(at + 1) % len(cycle)]) for at, rank in enumerate(cycle)]


def _cycle_text(cycle: Sequence[int]) -> str:
    shown = [str(rank) for rank in cycle[: 2 * _MOST_STEPS]]
    if len(cycle) > len(shown):
        shown.append("…")
    return f"({' → '.join([*shown, str(cycle[0])])})"


def _step(waits: Waits, rank: int, after: int | None = None) -> str:
    text = f"rank {rank} {call_text(waits.ranks.inside[rank])}"
    return text if after is None else f"{text} waits for {after}"


def _judge_late(waits: Waits) -> HangVerdict:
    """Return a verdict on ranks that could all go on: the cause is outside MPI, or without a record here."""
    stopped = waits.roots("stopped") or waits.find("stopped")
    if stopped:
        return _judge_stopped(waits, stopped)
    outside = waits.roots("outside", "polling")
    if outside:
        return _judge_outside(waits, outside)
    unseen = waits.roots("unseen")
    if unseen:
        blocked = _wait_text(waits, waits.waiting_for(unseen[0]))
        return HangVerdict(
            "unseen",
            f"{blocked} for {ranks_text(unseen)}, without a record here: ask on their nodes",
            tuple(unseen),
        )
    moving = waits.roots("moving")
    if moving or not waits.needs:
        return HangVerdict("none", "no hang: the ranks that others wait for make progress", tuple(moving))
    matched = sorted(rank for rank, need in waits.needs.items() if need.matched)
    if matched:
        return HangVerdict(
            "unknown",
            f"{ranks_text(matched)} wait in calls that fit each other: the MPI library or the network is at "
            "work, or stuck",
            tuple(matched),
        )
    waiting = sorted(waits.needs)
    return HangVerdict(
        "unknown", f"{_wait_text(waits, waiting)} for a reason that is not in the records", tuple(waiting)
    )


def _judge_stopped(waits: Waits, stopped: Sequence[int]) -> HangVerdict:
    others = waits.waiting_for(stopped[0])
    who = ranks_text(stopped)
    what = f"{_wait_text(waits, others)} for {who}, stopped" if others else f"{who} {_is(stopped)} stopped"
    process = waits.ranks[stopped[0]].process
    where = f" {process.pid} on {process.host}" if process else ""
    remedy = f"continue {_it(stopped)} in the debugger, or with kill -CONT{where}"
    more = ", …" if len(stopped) > 1 else ""
    return HangVerdict("late", f"{what} by a signal: {remedy}{more}", tuple(stopped))


def _judge_outside(waits: Waits, outside: Sequence[int]) -> HangVerdict:
    first = waits.ranks[outside[0]]
    others = waits.waiting_for(outside[0])
    names = ", ".join(dict.fromkeys(_state_text(waits.ranks[rank]) for rank in outside[: 2 * _MOST_STEPS]))
    waiting = f"{_wait_text(waits, others)} for {ranks_text(outside)}, {names}"
    since = f" for {time_text(first.since)}" if first.since is not None and first.place == "outside" else ""
    return HangVerdict("late", f"{waiting}{since}", tuple(outside))


def _state_text(standing: Standing) -> str:
    """Return the state of a rank that is in no blocking call."""
    region = f" in region {'/'.join(standing.region)}" if standing.region else ""
    if standing.place == "polling":
        name = standing.call.function if standing.call else "calls such as MPI_Test"
        return f"polling in {name}{region}"
    does = state_text(standing.process) if standing.process else ""
    return f"{does}{', ' if does else ''}outside MPI{region}"


def _wait_text(waits: Waits, ranks: Sequence[int]) -> str:
    calls = sorted({operation(waits.ranks.inside[rank]) for rank in ranks})
    inside = f" in {calls[0]}" if len(calls) == 1 else ""
    return f"{ranks_text(ranks)} {'waits' if len(ranks) == 1 else 'wait'}{inside}"


def _is(ranks: Sequence[int]) -> str:
    return "is" if len(ranks) == 1 else "are"


def _has(ranks: Sequence[int]) -> str:
    return "has" if len(ranks) == 1 else "have"


def _it(ranks: Sequence[int]) -> str:
    return "it" if len(ranks) == 1 else "them"
