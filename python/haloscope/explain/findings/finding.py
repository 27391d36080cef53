"""A finding: a sentence, its gain, and the evidence for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from math import isfinite
from typing import Any


@dataclass(frozen=True)
class Evidence:
    """Rows of a table of the profile, and the numbers that a finding takes from them.

    `rows` selects rows by columns and their values. `values` are numbers by name: seconds, bytes or counts.
    Times of rows exclude nested regions, unless `nested`.
    """

    table: str
    rows: Mapping[str, str | int | list[int]]
    values: Mapping[str, float]
    nested: bool = False


@dataclass(frozen=True)
class Finding:
    """One performance problem of a run, and the time that its remedy is expected to save.

    `rule` is the name of the rule. `region` is the path of the region that causes the problem (None: no
    single one), `ranks` are the ranks that cause it (empty: all equally). `gain` is the time (s) by which
    this run would be shorter, expected between `gain_low` and `gain_high`; `share` is `gain` over the run
    time. Gains of the findings of a run can be added: no time is counted twice. `link` leads to the rule in
    the documentation.
    """

    rule: str
    sentence: str
    remedy: str
    region: str | None
    ranks: tuple[int, ...]
    gain: float
    gain_low: float
    gain_high: float
    share: float
    evidence: tuple[Evidence, ...]

    @property
    def link(self) -> str:
        """The section of the documentation about the rule."""
        return f"docs/reference/findings.md#{self.rule}"

    @property
    def is_finite(self) -> bool:
        """Whether all its numbers are finite: a damaged profile may have others."""
        own = (self.gain, self.gain_low, self.gain_high, self.share)
        return all(
            isfinite(value)
            for value in (*own, *chain(*(evidence.values.values() for evidence in self.evidence)))
        )

    def record(self) -> dict[str, Any]:
        """Return the finding as an object for JSON."""
        return {**asdict(self), "ranks": list(self.ranks), "link": self.link}
