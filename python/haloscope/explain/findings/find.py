"""The rules of findings, declared once, and their application to a profile."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from haloscope.base.arrays import Floats
from haloscope.explain.findings.absence import find_absent_ranks
from haloscope.explain.findings.alike import estimate_detour
from haloscope.explain.findings.calling import (
    find_polling,
    find_repeated_communicators,
    find_slow_algorithms,
    find_unmarked_communication,
)
from haloscope.explain.findings.finding import Finding
from haloscope.explain.findings.ground import Ground
from haloscope.explain.findings.lateness import find_late_messages
from haloscope.explain.findings.machine_limits import MachineMeasurements
from haloscope.explain.findings.messaging import (
    find_blocking_transfers,
    find_host_staging,
    find_scattered_partners,
    find_small_messages,
)
from haloscope.explain.findings.unevenness import find_imbalance, find_shared_cpus, find_slow_places
from haloscope.profile import Profile
from haloscope.profile.tables import shows_main_threads


@dataclass(frozen=True)
class FindingRule:
    """One rule: the function `find`, and its description for the documentation.

    `names` are the names of its findings, `finds` is the problem, `threshold` the condition, and `tables` the
    tables that it reads.
    """

    find: Callable[[Ground], list[Finding]]
    names: tuple[str, ...]
    finds: str
    threshold: str
    tables: tuple[str, ...]


# In the order of causes. Time that one rule explains is not counted by later rules.
RULES = (
    FindingRule(
        find_shared_cpus,
        ("shared_cpu",),
        "several ranks are bound to the same CPU, or to fewer CPUs than ranks",
        "more ranks than CPUs in one set of CPUs, and the host has others or it is one CPU",
        ("binding", "ranks"),
    ),
    FindingRule(
        find_absent_ranks,
        ("no_core", "asleep"),
        "ranks have no CPU outside MPI: other threads have their core, or they sleep",
        "the time without a CPU, minus that in MPI, makes a rank later than the one with the most work by 1 %"
        " of the run; the gain is at most the observed waiting",
        ("slices", "ranks"),
    ),
    FindingRule(
        find_slow_places,
        ("slow_place",),
        "one host, or one rank, computes longer by the same factor everywhere",
        "a factor of 1.08 or more, equal within 8 % in all regions with 5 % of the computing; at least two"
        " such regions, or a host with at least two ranks",
        ("ranks",),
    ),
    FindingRule(
        find_imbalance,
        ("imbalance",),
        "some ranks compute longer in a region, and others wait for them",
        "regions in which the slowest rank exceeds the mean by 1 % of the run, and by more than ranks with"
        " equal work differ: 15 % of the computing, or 4 robust spreads (8 ranks or more), or the 95 %"
        " interval"
        " of repeated runs; the gain is at most the observed waiting",
        ("ranks", "slices"),
    ),
    FindingRule(
        find_repeated_communicators,
        ("communicators_made",),
        "communicators are created repeatedly",
        "10 or more per rank",
        ("calls",),
    ),
    FindingRule(
        find_small_messages,
        ("small_messages",),
        "many small messages go to one partner instead of one larger message",
        "4096 B or less on average, and 4 or more to one partner before the sender receives anything or its"
        " region ends",
        ("sizes", "calls", "ranks"),
    ),
    FindingRule(
        find_late_messages,
        ("late_sender", "late_receiver", "protocol_limit", "serial_chain"),
        "ranks wait for messages, or for a receiver to take them, although all compute equally long",
        "steady waits: with a trace a median of at least half the mean; without, a mean of 200 µs or more in"
        " blocking calls, a longest wait of at most 30 means, and no more ranks than CPUs",
        ("waits", "calls", "sizes", "binding"),
    ),
    FindingRule(
        find_slow_algorithms,
        ("slow_algorithm",),
        "a different algorithm is faster for a collective",
        "a point of a sweep (`haloscope bench collective`) with the same operation and number of ranks, and a"
        " size within a factor of 1.5",
        ("collectives",),
    ),
    FindingRule(
        find_scattered_partners,
        ("scattered_partners",),
        "partners are on other nodes, although a different placement brings them together",
        "a simple placement reduces the bytes between nodes by 15 % or more",
        ("partners", "regions"),
    ),
    FindingRule(
        find_blocking_transfers,
        ("blocking_transfer",),
        "ranks wait for messages in transfer, and compute nothing meanwhile",
        "a quarter of a region's messages or more go to other nodes; their unexplained time is at least 1.5"
        " times that of copying them (5 GB/s), and the longest wait at most 30 means",
        ("calls", "sizes", "regions"),
    ),
    FindingRule(
        find_host_staging,
        ("host_staging",),
        "data of a GPU are copied to the host and sent from there",
        "a send reads from memory that a device copy has filled, and these copies take 4 % of the run or"
        " more",
        ("regions",),
    ),
    FindingRule(
        find_polling,
        ("polling",),
        "frequent polls take time from computing",
        "20 ns, 60 ns and 150 ns per poll that finds nothing; not for a rank that only polls",
        ("ranks",),
    ),
    FindingRule(
        find_unmarked_communication,
        ("outside_regions",),
        "most communication is outside all marked regions",
        "half of the time of messages and collectives, and a tenth of the run; no gain",
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
    """Find the performance problems of a run.

    Args:
        profile: The profile, or the path of its file.
        measured: Measurements of the machine, for rules that depend on its speed.
        most_events: A trace with more events is ignored.
        repeats: Other runs of the same program on the same number of ranks. Two or more distinguish uneven
            work from differences that processes have by chance.

    Returns:
        The findings, largest gain first. Empty if no rule applies.

    Raises:
        ProfileError: A profile is damaged.
        UsageError: One of `repeats` is of a different program, or has different ranks.
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
    if not profile.data.source.rows("ranks") or not shows_main_threads(profile.data):
        return []
    ground = Ground(profile, measured, most_events)
    if not ground.is_sound:
        return []
    ground.again = [_read_repetition(ground, path) for path in repeats]
    least = estimate_detour(ground)  # of a short run, less may be chance
    found = [finding for rule in RULES for finding in rule.find(ground) if finding.is_finite]
    found = [finding for finding in found if not 0 < finding.gain < least]
    return sorted(found, key=lambda finding: finding.gain, reverse=True)


def _read_repetition(ground: Ground, path: str | os.PathLike[str]) -> Floats:
    with Profile(path) as other:
        return other.data.guard(lambda: ground.read_computing(Ground(other)))
