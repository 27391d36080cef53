"""What a finding is: a sentence that is true, what it would bring, and where to look that up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from math import isfinite
from typing import Any


@dataclass(frozen=True)
class Evidence:
    """Rows of a table of the profile, and what they say.

    `rows` are columns of the table and the values that they have in these rows; `values` are numbers that
    come out of them, by name: seconds, bytes or counts. Rows are those without nested regions, unless
    `nested`.
    """

    table: str
    rows: Mapping[str, str | int | list[int]]
    values: Mapping[str, float]
    nested: bool = False


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong in a run, and what it would bring to put it right.

    `rule` is the name of the rule that found it, `region` the path of the region that causes it (null: none
    alone), `ranks` those that cause it (empty: all alike). `gain` is the time (s) by which this run would be
    shorter, expected to be between `gain_low` and `gain_high`; `share` is `gain` over the time of the run.
    Gains of all findings of a run can be added: no time is in two of them. `link` leads to the rule in the
    documentation.
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
        """Where the documentation explains the rule."""
        return f"docs/reference/findings.md#{self.rule}"

    @property
    def is_finite(self) -> bool:
        """Whether all its figures are numbers: those of a damaged profile may not be."""
        own = (self.gain, self.gain_low, self.gain_high, self.share)
        return all(
            isfinite(value) for value in (*own, *chain(*(one.values.values() for one in self.evidence)))
        )

    def record(self) -> dict[str, Any]:
        """Return the finding as it stands in JSON."""
        return {**asdict(self), "ranks": list(self.ranks), "link": self.link}
