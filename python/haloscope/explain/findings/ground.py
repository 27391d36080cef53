"""Input of all rules: the times of a run, and the time that no finding has explained yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from haloscope.base.arrays import Floats
from haloscope.explain.findings.finding import Evidence, Finding
from haloscope.explain.findings.machine_limits import MachineMeasurements
from haloscope.explain.findings.run_times import FAMILIES, Family, RunTimes
from haloscope.profile import Profile

# Smallest low end of a gain that is reported, as a share of the run.
LEAST_GAIN = 0.02


@dataclass
class Ground(RunTimes):
    """One profile, prepared for the rules.

    `left[family]` is the mean time (s) per region in MPI calls that no finding has explained yet. `again` has
    matrices of the computing in repeated runs.
    """

    measured: MachineMeasurements = field(default_factory=MachineMeasurements)
    most_events: int | None = None
    again: Sequence[Floats] = ()

    def __post_init__(self) -> None:
        """Read the times; none is explained yet."""
        super().__post_init__()
        self.left: dict[Family, Floats] = {family: self.mpi[family].mean(axis=0) for family in FAMILIES}
        # The part of it that was spent waiting for ranks that compute longer.
        self.uneven: dict[Family, Floats] = {family: np.zeros(len(self.regions)) for family in FAMILIES}
        self._gained = 0.0

    @cached_property
    def uses_trace(self) -> bool:
        """Whether there is a trace with at most `most_events` events."""
        return has_small_trace(self.profile, self.most_events)

    def give_up_waiting(self) -> None:
        """Set the unexplained time to 0, because the cause of waiting cannot be determined."""
        for family in FAMILIES:
            self.left[family] = np.zeros(len(self.regions))
        self.computing = np.zeros_like(self.computing)

    def unexplained_time(self, region: str, family: Family) -> float:
        """Return the mean time (s) per rank in MPI in a region that no finding has explained yet."""
        return float(self.left[family][self.column_of(region)])

    def take_anywhere(self, family: Family, seconds: float) -> float:
        """Take seconds of a mean rank from the unexplained time of all regions; return the seconds taken."""
        whole = float(self.left[family].sum())
        taken = min(max(seconds, 0.0), whole)
        if taken > 0:
            self.left[family] *= 1 - taken / whole
        return taken

    def take(self, region: str, family: Family, seconds: float) -> float:
        """Take seconds of a mean rank from the unexplained time of a region; return the seconds taken."""
        column = self.column_of(region)
        taken = min(max(seconds, 0.0), float(self.left[family][column]))
        self.left[family][column] -= taken
        return taken

    def make_finding(
        self,
        rule: str,
        sentence: str,
        remedy: str,
        *,
        gains: tuple[float, float, float],
        evidence: Sequence[Evidence],
        region: str | None = None,
        ranks: Sequence[int] = (),
    ) -> list[Finding]:
        """Return a finding with `gains` (low, expected, high; s), or nothing if the low gain is too small.

        No gain exceeds the part of the run that earlier findings have left.
        """
        low, gain, high = (min(value, self.run_time - self._gained) for value in gains)
        if self.run_time <= 0 or low < LEAST_GAIN * self.run_time:
            return []
        path = None if region is None else self.full_path(region)
        share = gain / self.run_time
        self._gained += gain
        seen = tuple(
            replace(item, nested=True) if item.rows.get("region") in self.with_phases else item
            for item in evidence
        )
        return [Finding(rule, sentence, remedy, path, tuple(ranks), gain, low, high, share, seen)]

    def make_note(
        self, rule: str, sentence: str, remedy: str, *, evidence: Sequence[Evidence], region: str
    ) -> list[Finding]:
        """Return a finding without a gain."""
        return [
            Finding(rule, sentence, remedy, self.full_path(region), (), 0.0, 0.0, 0.0, 0.0, tuple(evidence))
        ]


def has_small_trace(profile: Profile, most_events: int | None) -> bool:
    """Return whether there is a trace with at most `most_events` events."""
    if not profile.has_trace or most_events is None:
        return profile.has_trace
    return int(profile.frame("trace_sequences", ["events"])["events"].sum()) <= most_events
