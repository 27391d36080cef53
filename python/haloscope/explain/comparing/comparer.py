"""The work of `haloscope compare`: reads two sides of runs, and reports changes as tables, sentences and a
page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

from haloscope.explain.comparing.compare_page import write_compare_page
from haloscope.explain.comparing.parts import compare_parts, has_waiting
from haloscope.explain.comparing.program_structure import compare_settings, compare_structure
from haloscope.explain.comparing.run_comparison import Comparison
from haloscope.explain.comparing.sides import RECORDED, Side, read_sides
from haloscope.explain.comparing.time_differences import compare_times, find_shared_series
from haloscope.explain.findings import crowding_text

File = str | PathLike[str]

_SHORT = "one run per side and no series, so noise is unknown and times are not tested; give several \
runs of each side (haloscope compare A1 A2 A3 -- B1 B2 B3)"
_APART = "all runs of one side came before those of the other, so changes of the machine count; run \
the sides alternately"
_UNEVEN = "one side has one run, so noise is unknown and differences of times are not tested; give several \
runs of each"


def compare(
    first: File | Sequence[File],
    second: File | Sequence[File],
    *,
    output: File | None = None,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Compare runs of two versions, settings or machines: region by region, counts first, then times.

    Files that cannot be read, and runs with missing ranks, are left out and listed in `remarks`.

    Args:
        first: Profiles of side A, or files that `haloscope.open` reads. Times need several.
        second: Those of side B.
        output: HTML page to write.
        progress: Called with the name of each step when it begins.

    Returns:
        The differences.

    Raises:
        UsageError: The runs cannot be compared.
        ProfileError: No run of a side can be read.
        OutputError: The page cannot be written.

    Examples:
        >>> compared = haloscope.compare(["old-1.halo", "old-2.halo"], ["new-1.halo", "new-2.halo"])
        >>> print(*compared.describe(), sep="\\n")
        >>> compared.frame.filter(kind="time", sure=True)
    """
    step = progress or _ignore_step
    step("reading")
    sides = read_sides(_as_paths(first), _as_paths(second))
    step("comparing")
    compared = Comparison(
        *sides,
        structure=compare_structure(*sides),
        claims=compare_times(*sides),
        parts=compare_parts(*sides),
        settings=compare_settings(*sides),
        remarks=_list_remarks(*sides),
    )
    if output is not None:
        step("page")
        write_compare_page(compared, Path(output))
    return compared


def _ignore_step(what: str) -> None:
    """Ignore a step."""


def _as_paths(files: File | Sequence[File]) -> list[Path]:
    return [Path(files)] if isinstance(files, (str, PathLike)) else [Path(file) for file in files]


def _list_remarks(first: Side, second: Side) -> list[str]:
    sides = (first, second)
    lines = [f"left out: {line}" for side in sides for line in side.skipped]
    counts = [len(side.runs) for side in sides]
    if counts == [1, 1] and not find_shared_series(first, second):
        lines.append(_SHORT)
    if counts != [1, 1] and 1 in counts:
        lines.append(_UNEVEN)
    first_run, second_run = (side.first for side in sides)
    if first_run.program != second_run.program:
        lines.append(f"A is {first_run.program}, B is {second_run.program}: regions are compared by name")
    unlike = _find_different_settings(first, second)
    if unlike:
        lines.append(
            f"the sides were recorded with different settings ({unlike}), which may change counts or times"
        )
    if crowded := first_run.crowded or second_run.crowded:
        lines.append(f"{crowding_text(crowded)}: counts are exact, times are not")
    lines += _check_order(first, second)
    if not has_waiting(*sides):
        lines.append(
            "waiting is not separated from transfer, as not all runs have a trace (haloscope run --trace)"
        )
    if any(run.times["mpi"].is_null().all() for side in sides for run in side.runs):
        lines.append("the time in MPI is unknown, so differences are not split into computing and MPI")
    unknown = sorted(set().union(*(run.unknown for side in sides for run in side.runs)))
    if not any((run.facts["table"] == "memory").any() for side in sides for run in side.runs):
        unknown = [table for table in unknown if table != "memory"]  # without a GPU there is no such table
    if unknown:
        lines.append(f"not compared, as one side does not have it: {', '.join(unknown)}")
    return lines


def _find_different_settings(first: Side, second: Side) -> str:
    first_run, second_run = (side.first for side in (first, second))
    keys = [
        key for key in RECORDED if (first_run.info.get(key) or None) != (second_run.info.get(key) or None)
    ]
    keys += ["series"] if first_run.series != second_run.series else []
    return ", ".join(keys)


def _check_order(first: Side, second: Side) -> list[str]:
    """Return a remark if all runs of one side came before those of the other."""
    starts = [[run.info["start"] for run in side.runs] for side in (first, second)]
    known = all(isinstance(start, int | float) for side in starts for start in side)
    if min(map(len, starts)) < 2 or not known:
        return []
    if max(starts[0]) < min(starts[1]) or max(starts[1]) < min(starts[0]):
        return [_APART]
    return []
