"""Two sides of runs in; what changed, as tables, sentences and a page: what `haloscope compare` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import count_text
from haloscope.explain.comparing.parts import cause_lines, changed_parts, is_traced
from haloscope.explain.comparing.sides import RECORDED, Side, read_sides
from haloscope.explain.comparing.program_structure import changes, settings_changed, structure_lines
from haloscope.explain.comparing.time_differences import TimeClaim, shared_series, time_claims, time_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    File = str | PathLike[str]

__all__ = ["COMPARED", "Comparison", "compare"]

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
_SHORT = "one run a side and no series: whether times differ by more than noise cannot be said; name several \
runs of each side (haloscope compare A1 A2 A3 -- B1 B2 B3)"
_APART = "all runs of one side came before those of the other: what the machine did meanwhile counts as a \
difference; take turns"
_UNEVEN = "a side of one run: whether times differ by more than noise cannot be said; name several of each"


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

    def told(self) -> list[str]:
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


def compare(
    first: File | Sequence[File],
    second: File | Sequence[File],
    *,
    output: File | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Compare runs of two versions, settings or machines: region by region, counts first, then times.

    `first` and `second` are profiles, or what `haloscope.open` reads, several of each where times are to be
    compared. `output` is the HTML page to write. `progress` is called at the begin of each step. Files that
    cannot be read, and runs that lack ranks, are left out by name (`remarks`).

    Raises `UsageError` for runs that cannot be compared, `ProfileError` if no run of a side can be read,
    `OutputError` if the page cannot be written.

    >>> compared = haloscope.compare(["old-1.halo", "old-2.halo"], ["new-1.halo", "new-2.halo"])
    >>> print(*compared.told(), sep="\\n")
    >>> compared.frame.filter(kind="time", sure=True)
    """
    step = progress or _nothing
    step("reading")
    sides = read_sides(_paths(first), _paths(second))
    step("comparing")
    compared = Comparison(
        *sides,
        structure=changes(*sides),
        claims=time_claims(*sides),
        parts=changed_parts(*sides),
        settings=settings_changed(*sides),
        remarks=_remarks(*sides),
    )
    if output is not None:
        step("page")
        from haloscope.explain.comparing.compare_page import write_compare_page

        write_compare_page(compared, Path(output))
    return compared


def _nothing(what: str) -> None:
    """Take no notice of a step."""


def _paths(files: File | Sequence[File]) -> list[Path]:
    return [Path(files)] if isinstance(files, (str, PathLike)) else [Path(file) for file in files]


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
        lines += [f"{rest} {told}: not surely faster or slower"] if rest else []
    return lines


def _remarks(first: Side, second: Side) -> list[str]:
    sides = (first, second)
    lines = [f"left out: {line}" for side in sides for line in side.skipped]
    counts = [len(side.runs) for side in sides]
    if counts == [1, 1] and not shared_series(first, second):
        lines.append(_SHORT)
    if counts != [1, 1] and 1 in counts:
        lines.append(_UNEVEN)
    one, other = (side.first for side in sides)
    if one.program != other.program:
        lines.append(f"A is {one.program}, B is {other.program}: regions are compared by their names")
    unlike = _recorded_otherwise(first, second)
    if unlike:
        lines.append(
            f"the sides were recorded in different ways ({unlike}): counts or times may differ by that"
        )
    lines += _apart_in_time(first, second)
    if not is_traced(*sides):
        lines.append("without traces of all runs (haloscope run --trace) waiting is not told from transfer")
    if any(run.times["mpi"].is_null().all() for side in sides for run in side.runs):
        lines.append("how much of the time is in MPI is not known, so nothing is said of where it went")
    unknown = sorted(set().union(*(run.unknown for side in sides for run in side.runs)))
    if not any((run.facts["table"] == "memory").any() for side in sides for run in side.runs):
        unknown = [table for table in unknown if table != "memory"]  # there is nothing to know without a GPU
    if unknown:
        lines.append(f"not compared, as one side does not know it: {', '.join(unknown)}")
    return lines


def _recorded_otherwise(first: Side, second: Side) -> str:
    one, other = (side.first for side in (first, second))
    keys = [key for key in RECORDED if (one.told.get(key) or None) != (other.told.get(key) or None)]
    keys += ["series"] if one.series != other.series else []
    return ", ".join(keys)


def _apart_in_time(first: Side, second: Side) -> list[str]:
    """Return a remark if all runs of one side came before those of the other."""
    starts = [[run.told["start"] for run in side.runs] for side in (first, second)]
    known = all(isinstance(start, int | float) for side in starts for start in side)
    if min(map(len, starts)) < 2 or not known:
        return []
    if max(starts[0]) < min(starts[1]) or max(starts[1]) < min(starts[0]):
        return [_APART]
    return []
