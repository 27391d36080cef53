"""The roll-call of a program: the call of each rank, and the reason why they do not go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from haloscope.base.units import noun_text, ranks_text, time_text
from haloscope.watch.calls import call_text, state_text
from haloscope.watch.live import ANY, Call, Process
from haloscope.watch.standing import Ranks, Standing, operation, standings
from haloscope.watch.verdict import HangVerdict, judge
from haloscope.watch.wait_cycles import Waits

_MOST_GROUPS = 24
_PLACES = {
    "dead": "dead",
    "finished": "in MPI_Finalize, or after it",
    "unseen": "without a record here",
    "outside": "outside MPI",
    "polling": "polling",
    "moving": "going on",
    "stopped": "stopped by a signal",
}


@dataclass(frozen=True)
class RollCall:
    """`verdict` is the reason why the program does not go on; `groups` has a line per group of ranks."""

    verdict: HangVerdict
    groups: tuple[str, ...]

    @property
    def text(self) -> str:
        """The verdict's sentence, then the groups."""
        return "\n".join([self.verdict.text, *(f"  {group}" for group in self.groups)])


def roll_call(before: Sequence[Process], after: Sequence[Process]) -> RollCall:
    """Return the roll-call of one world from two looks at its records.

    A rank that is in the same call in both looks has made no progress. Each look is a list of the
    processes of one world.
    """
    ranks = Ranks(standings(before, after))
    return RollCall(judge(Waits(ranks)), tuple(_groups(ranks)))


def _groups(ranks: Ranks) -> list[str]:
    """Return a line per group of ranks in the same state; the number of lines is bounded."""
    for is_fine in (True, False):
        groups: dict[tuple[object, ...], list[Standing]] = {}
        for standing in ranks.standings.values():
            groups.setdefault(_key(standing, is_fine), []).append(standing)
        if len(groups) <= _MOST_GROUPS:
            break
    ordered = sorted(groups.values(), key=lambda group: (-len(group), group[0].rank))
    lines = [_line(group) for group in ordered[:_MOST_GROUPS]]
    if len(ordered) > _MOST_GROUPS:
        left = sum(len(group) for group in ordered[_MOST_GROUPS:])
        lines.append(
            f"… and {noun_text(left, 'rank')} in {noun_text(len(ordered) - _MOST_GROUPS, 'other state')}"
        )
    return lines


def _key(standing: Standing, is_fine: bool) -> tuple[object, ...]:
    call, kind = standing.call, standing.place
    state = standing.process.state if standing.process and kind == "outside" else ""
    region = standing.region if kind not in ("unseen", "finished") else ()
    if call is None or kind in ("finished", "unseen"):
        return (kind, state, region)
    name = call.communicator.key if call.communicator else None
    # In a ring each rank waits for a different one: with many ranks, group them without their partners.
    fine = (call.partner, call.source, call.tag, call.count) if is_fine else ()
    return (kind, operation(call), name, region, *fine)


def _line(group: Sequence[Standing]) -> str:
    first = group[0]
    ranks = ranks_text([standing.rank for standing in sorted(group, key=lambda standing: standing.rank)])
    words = [ranks]
    if first.place not in ("inside", "polling", "moving") or first.call is None:
        words.append(_PLACES[first.place])
        if first.place == "outside" and first.process and first.process.state:
            words[-1] += f" ({state_text(first.process)})"
    if first.call is not None and first.place not in ("finished", "unseen"):
        words.append(_calls_text([standing.call for standing in group if standing.call]))
        if first.place == "moving":
            words.append("(going on)")
    if first.region:
        words.append(f"in region {'/'.join(first.region)}")
    since = _since_text([standing.since for standing in group if standing.since is not None])
    if since and first.place in ("inside", "outside"):
        words.append(since if first.call else since.replace("since", "for"))
    return " ".join(words)


def _since_text(seconds: Sequence[float]) -> str:
    if not seconds:
        return ""
    least, most = min(seconds), max(seconds)
    if most - least <= 0.1 * most:
        return f"since {time_text(most)}"
    return f"since {time_text(least)} to {time_text(most)}"


def _calls_text(calls: Sequence[Call]) -> str:
    """Return calls of one function in words, as far as they are alike."""
    if len({(call.partner, call.source, call.tag, call.count, call.bytes) for call in calls}) == 1:
        return call_text(calls[0])
    partners = sorted({call.partner for call in calls if call.partner is not None and call.partner != ANY})
    alike = Call(
        calls[0].function,
        calls[0].what,
        partner=partners[0] if len(partners) == 1 else None,
        tag=calls[0].tag if len({call.tag for call in calls}) == 1 else None,
        communicator=calls[0].communicator,
    )
    text = call_text(alike)
    if len(partners) > 1 and calls[0].what != "collective":
        text += f", each with a different one of {len(partners)} partners"
    return text
