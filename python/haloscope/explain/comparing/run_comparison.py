"""Differences between two sides of runs, as tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import noun_text
from haloscope.explain.comparing.parts import cause_lines
from haloscope.explain.comparing.program_structure import count_headline, structure_lines
from haloscope.explain.comparing.sides import Side
from haloscope.explain.comparing.time_differences import TimeClaim, longer_text, make_time_frame

File = str | PathLike[str]


_SERIES = ("comparison of instances", "comparisons of instances")
# The columns of `Comparison.frame`.
COMPARED = {
    **dict.fromkeys(("kind", "region", "what"), pl.String),
    "first_count": pl.Int64,
    "second_count": pl.Int64,
    **dict.fromkeys(("first_time", "second_time", "change", "change_low", "change_high"), pl.Float64),
    **dict.fromkeys(("faster", "faster_low", "faster_high"), pl.Float64),
    "sure": pl.Boolean,
    "sentence": pl.String,
}


@dataclass(frozen=True)
class Comparison:
    """The differences between sides A and B.

    `structure` has one row per count that is not equal in all runs, `parts` the mean time per rank by region
    and part. `claims` are statements about times, `settings` differences of the settings, and `remarks` notes
    about files left out and about limits of the comparison.
    """

    first: Side
    second: Side
    structure: pl.DataFrame
    claims: Sequence[TimeClaim]
    parts: pl.DataFrame
    settings: Sequence[str]
    remarks: Sequence[str]

    @cached_property
    def times(self) -> pl.DataFrame:
        """One row per claim about times."""
        return make_time_frame(self.claims)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All three tables stacked, with the columns `COMPARED`; missing values are null.

        `kind` is `structure`, `time` or `part`. For structure, `sure` means that all runs of each side agree.
        """
        structure = self.structure.select(
            pl.lit("structure").alias("kind"),
            "region",
            pl.format("{} {}", "table", "quantity").alias("what"),
            pl.when(pl.col("table") != "spread").then("first_count").alias("first_count"),
            pl.when(pl.col("table") != "spread").then("second_count").alias("second_count"),
            (~pl.col("varies")).alias("sure"),
        )
        times = self.times.select(pl.lit("time").alias("kind"), pl.all())
        parts = self.parts.select(pl.lit("part").alias("kind"), pl.all().exclude("part"), what="part")
        empty = pl.DataFrame(schema=COMPARED)
        return pl.concat([empty, structure, times, parts], how="diagonal").select(list(COMPARED))

    @property
    def has_changed(self) -> bool:
        """Whether a count changed, or a time differs significantly."""
        return bool((~self.structure["varies"]).any()) or any(claim.sure for claim in self.claims)

    @property
    def headline(self) -> str:
        """One sentence: how the counts changed, and whether the time did."""
        return f"{count_headline(self.structure, self.first, self.second)}; {self._time_headline()}"

    def _time_headline(self) -> str:
        claim, runs = self.claims[0], [len(side.runs) for side in (self.first, self.second)]
        amount, low, high = claim.faster
        if amount is None:
            return "the times are unknown"
        if low is None or high is None:
            return "one run per side cannot show a difference of time"
        if claim.sure:
            bounds = ", ".join(f"{bound:.1f}" for bound in sorted((abs(low), abs(high))))
            return f"B takes {abs(amount):.1f} % {'less time' if amount > 0 else 'longer'} [{bounds}]"
        with_runs = noun_text(runs[0], "run") if runs[0] == runs[1] else f"{runs[0]} and {runs[1]} runs"
        reach = longer_text(-max(abs(low), abs(high))).replace("+", "±")
        return f"no time difference can be shown with {with_runs} per side: {reach}"

    def describe(self) -> list[str]:
        """Return the comparison as sentences: the main one, then both sides, then structure first."""
        lines = [self.headline, *(_describe_side(side) for side in (self.first, self.second))]
        lines += [f"settings: {line}" for line in self.settings]
        counts = structure_lines(self.structure, self.first, self.second)
        lines += [f"counts: {line}" for line in counts] or ["counts: all equal"]
        lines += [f"time: {line}" for line in _list_time_lines(self.claims)]
        lines += [f"where: {line}" for line in self.where()]
        return [*lines, *(f"note: {line}" for line in self.remarks)]

    def where(self) -> list[str]:
        """Return the parts of the difference, if the program's time differs significantly or each side has
        one run."""
        several = min(len(side.runs) for side in (self.first, self.second)) > 1
        if several and not self.claims[0].sure:
            return []
        return cause_lines(self.parts, several)


def _describe_side(side: Side) -> str:
    runs, first = len(side.runs), side.first
    program = f"{printable(first.program)} on {noun_text(first.ranks, 'rank')}"
    names = ", ".join(printable(str(run.path)) for run in side.runs[:3])
    return f"{side.name}: {noun_text(runs, 'run')} of {program}: {names}{', …' if runs > 3 else ''}"


def _list_time_lines(claims: Sequence[TimeClaim]) -> list[str]:
    """Return the program's sentence, all significant ones, and the number of the others."""
    lines = [claim.text for index, claim in enumerate(claims) if index == 0 or claim.sure]
    open_ = [claim for claim in claims[1:] if not claim.sure and claim.faster[1] is not None]
    names = {"own time": ("other region", "other regions"), "series": _SERIES}
    for what, (noun, plural) in names.items():
        rest = sum(claim.what.startswith(what) for claim in open_)
        lines += [f"{noun_text(rest, noun, plural)}: not significantly faster or slower"] if rest else []
    return lines
