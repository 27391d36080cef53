"""What is different between two sides of runs, as tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import count_text
from haloscope.explain.comparing.parts import cause_lines
from haloscope.explain.comparing.program_structure import structure_lines
from haloscope.explain.comparing.sides import Side
from haloscope.explain.comparing.time_differences import TimeClaim, time_frame

File = str | PathLike[str]

# The columns of `Comparison.frame`.
COMPARED = {
    "kind": pl.String,
    "region": pl.String,
    "what": pl.String,
    "first_count": pl.Int64,
    "second_count": pl.Int64,
    "first_time": pl.Float64,
    "second_time": pl.Float64,
    "change": pl.Float64,
    "change_low": pl.Float64,
    "change_high": pl.Float64,
    "faster": pl.Float64,
    "faster_low": pl.Float64,
    "faster_high": pl.Float64,
    "sure": pl.Boolean,
    "sentence": pl.String,
}


@dataclass(frozen=True)
class Comparison:
    """What is different between sides A and B.

    `structure` has a row a count that is not the same in all runs, `parts` where the time of an average rank
    went; `claims` are sentences on times, `settings` say how runs were started otherwise, and `remarks` what
    was left out or has to be known.
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
        """A row a claim about times."""
        return time_frame(self.claims)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All three tables below each other, with the columns `COMPARED`; what a row does not have is null.

        `kind` is `structure`, `time` or `part`. Of structure `sure` says that all runs of each side agree.
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
        """Whether a count changed for certain, or a time surely differs."""
        return bool((~self.structure["varies"]).any()) or any(claim.sure for claim in self.claims)

    def describe(self) -> list[str]:
        """Return the sentences for people, structure first."""
        lines = [_who(side) for side in (self.first, self.second)]
        lines += [f"settings: {line}" for line in self.settings]
        counts = structure_lines(self.structure, self.first, self.second)
        lines += [f"counts: {line}" for line in counts] or ["counts: all alike"]
        lines += [f"time: {line}" for line in _time_lines(self.claims)]
        lines += [f"where: {line}" for line in self.where()]
        return [*lines, *(f"note: {line}" for line in self.remarks)]

    def where(self) -> list[str]:
        """Return where the time went, if it is sure that the program's time differs, or nobody can know."""
        several = min(len(side.runs) for side in (self.first, self.second)) > 1
        if several and not self.claims[0].sure:
            return []
        return cause_lines(self.parts, several)


def _who(side: Side) -> str:
    runs, first = len(side.runs), side.first
    what = f"{printable(first.program)} on {count_text(first.ranks)} rank{'' if first.ranks == 1 else 's'}"
    names = ", ".join(printable(str(run.path)) for run in side.runs[:3])
    return f"{side.name}: {runs} run{'' if runs == 1 else 's'} of {what}: {names}{', …' if runs > 3 else ''}"


def _time_lines(claims: Sequence[TimeClaim]) -> list[str]:
    """Return the program's sentence, all that are sure, and how many others there are."""
    lines = [claim.text for index, claim in enumerate(claims) if index == 0 or claim.sure]
    open_ = [claim for claim in claims[1:] if not claim.sure and claim.faster[1] is not None]
    for what, told in (("own time", "other regions"), ("series", "comparisons of instances")):
        rest = sum(claim.what.startswith(what) for claim in open_)
        lines += [f"{rest} {told}: not significantly faster or slower"] if rest else []
    return lines
