"""All rules, declared once, and what they find in a profile."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from haloscope.base.arrays import Floats
from haloscope.explain.findings.calling import communicators_made, outside_regions, polling, slow_algorithm
from haloscope.explain.findings.finding import Finding
from haloscope.explain.findings.ground import Ground, MachineMeasurements
from haloscope.explain.findings.lateness import late_messages
from haloscope.explain.findings.messaging import blocking_transfer, small_messages
from haloscope.explain.findings.offnode import scattered_partners
from haloscope.explain.findings.staging import host_staging
from haloscope.explain.findings.unevenness import imbalance, shared_cpu, slow_place
from haloscope.profile import Profile


@dataclass(frozen=True)
class FindingRule:
    """What finds things that go wrong in one way.

    `names` are those of its findings, `finds` says what, `threshold` when, `tables` are where it looks.
    """

    find: Callable[[Ground], list[Finding]]
    names: tuple[str, ...]
    finds: str
    threshold: str
    tables: tuple[str, ...]


# In the order of causes: what one has explained, the next ones do not count again.
RULES = (
    FindingRule(
        shared_cpu,
        ("shared_cpu",),
        "ranks are bound to fewer CPUs than they are",
        "more ranks than CPUs in one set of CPUs, and the host has others or it is one CPU",
        ("binding", "ranks"),
    ),
    FindingRule(
        slow_place,
        ("slow_place",),
        "one host, or one rank, computes longer by the same factor everywhere",
        "a factor of 1.08 or more, alike to 8 % in all regions with 5 % of the computing; two such regions,"
        " or a host of two ranks or more",
        ("ranks",),
    ),
    FindingRule(
        imbalance,
        ("imbalance",),
        "some ranks compute longer in a region, and others wait for them",
        "regions in which the longest is over the mean by 1 % of the run, and by more than equal work differs"
        " by: 15 % of the computing, or 4 spreads of 8 ranks or more, or what repetitions say; what is waited"
        " bounds the gain",
        ("ranks", "slices"),
    ),
    FindingRule(
        communicators_made,
        ("communicators_made",),
        "communicators are made again and again",
        "10 or more on each rank",
        ("calls",),
    ),
    FindingRule(
        small_messages,
        ("small_messages",),
        "many small messages go to one partner, where one would do",
        "4096 B or less on average, and 4 or more to one partner before the sender gets anything or its"
        " region ends",
        ("sizes", "calls", "ranks"),
    ),
    FindingRule(
        late_messages,
        ("late_sender", "late_receiver", "protocol_limit", "serial_chain"),
        "ranks wait for messages, or to be rid of them, though all compute equally long",
        "steady waits: with a trace a median of half the mean or more; without, 200 µs or more in blocking"
        " calls, the longest of 30 means or less, and no more ranks than CPUs",
        ("waits", "calls", "sizes", "binding"),
    ),
    FindingRule(
        slow_algorithm,
        ("slow_algorithm",),
        "collectives that another algorithm makes faster",
        "a point of a sweep (`haloscope bench collective`) with the same operation and ranks, and bytes"
        " within a factor of 1.5",
        ("collectives",),
    ),
    FindingRule(
        scattered_partners,
        ("scattered_partners",),
        "partners are on other nodes, although a renumbering brings them together",
        "a simple placement keeps 15 % of the bytes that leave nodes, or more, within them",
        ("partners", "regions"),
    ),
    FindingRule(
        blocking_transfer,
        ("blocking_transfer",),
        "ranks wait for messages on their way, and compute nothing meanwhile",
        "a quarter of a region's messages or more go to other nodes; what is left of their time is 1.5 times"
        " that of copying them (5 GB/s) or more, the longest wait 30 means or less",
        ("calls", "sizes", "regions"),
    ),
    FindingRule(
        host_staging,
        ("host_staging",),
        "a GPU's data are copied to the host, and sent from there",
        "any bytes that a copy brought to where a send then began, if these copies take 4 % of the run or"
        " more",
        ("regions",),
    ),
    FindingRule(
        polling,
        ("polling",),
        "looking for messages takes time from computing",
        "20 ns, 60 ns and 150 ns a look that finds nothing; not where a rank does nothing but look",
        ("ranks",),
    ),
    FindingRule(
        outside_regions,
        ("outside_regions",),
        "most communication is in no marked region",
        "half of the time of messages and collectives, and a tenth of the run; gains nothing",
        ("ranks",),
    ),
)


def findings(
    profile: Profile | str | os.PathLike[str],
    measured: MachineMeasurements | None = None,
    *,
    most_events: int | None = None,
    repeats: Sequence[str | os.PathLike[str]] = (),
) -> list[Finding]:
    """Return what is wrong in a run, what would bring most first; nothing of a program that is all right.

    `measured` is what was measured on the machine beforehand, for rules that go by its speed. A trace of more
    than `most_events` events is not looked at. `repeats` are other runs of the program on as many ranks: two
    or more tell uneven work from what processes differ by in any run. Raises `ProfileError` if a profile is
    damaged, `UsageError` if one of `repeats` is of another program or had other ranks.
    """
    if not isinstance(profile, Profile):
        with Profile(profile) as opened:
            return findings(opened, measured, most_events=most_events, repeats=repeats)
    return profile.data.guard(
        lambda: _find_problems(profile, measured or MachineMeasurements(), most_events, repeats)
    )


def _find_problems(
    profile: Profile,
    measured: MachineMeasurements,
    most_events: int | None,
    repeats: Sequence[str | os.PathLike[str]],
) -> list[Finding]:
    if not profile.data.source.rows("ranks"):
        return []
    ground = Ground(profile, measured, most_events)
    if not ground.is_sound:
        return []
    ground.again = [_read_computing(ground, path) for path in repeats]
    found = [finding for rule in RULES for finding in rule.find(ground) if finding.is_finite]
    return sorted(found, key=lambda one: one.gain, reverse=True)


def _read_computing(ground: Ground, path: str | os.PathLike[str]) -> Floats:
    with Profile(path) as other:
        return other.data.guard(lambda: ground.computing_in(Ground(other)))
