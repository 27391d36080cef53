"""Two sides of runs in; what changed, as tables, sentences and a page: what `haloscope compare` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

from haloscope.explain.comparing.compare_page import write_compare_page
from haloscope.explain.comparing.parts import changed_parts, is_traced
from haloscope.explain.comparing.program_structure import changes, settings_changed
from haloscope.explain.comparing.run_comparison import Comparison
from haloscope.explain.comparing.sides import RECORDED, Side, read_sides
from haloscope.explain.comparing.time_differences import shared_series, time_claims

File = str | PathLike[str]

_SHORT = "one run a side and no series: whether times differ by more than noise cannot be said; name several \
runs of each side (haloscope compare A1 A2 A3 -- B1 B2 B3)"
_APART = "all runs of one side came before those of the other: what the machine did meanwhile counts as a \
difference; take turns"
_UNEVEN = "a side of one run: whether times differ by more than noise cannot be said; name several of each"


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
    >>> print(*compared.describe(), sep="\\n")
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
        write_compare_page(compared, Path(output))
    return compared


def _nothing(what: str) -> None:
    """Take no notice of a step."""


def _paths(files: File | Sequence[File]) -> list[Path]:
    return [Path(files)] if isinstance(files, (str, PathLike)) else [Path(file) for file in files]


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
