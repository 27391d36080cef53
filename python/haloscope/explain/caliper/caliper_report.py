"""Caliper's text reports of a run: a tree of regions with their times, and the time in MPI functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from haloscope.base.errors import printable
from haloscope.explain.caliper.cali_writer import CALIPER_METRICS
from haloscope.explain.caliper.caliper_tree import CaliperTree, make_caliper_tree
from haloscope.profile import Profile

__all__ = ["make_mpi_report", "make_runtime_report"]

_WIDEST = 48
_TIMES = ("Min time/rank", "Avg time/rank", "Max time/rank")


def make_runtime_report(profile: Profile, communication: bool = False) -> str:
    """Return the tree of regions with inclusive times over ranks (s) and their shares.

    With `communication`, communication regions have their messages by instance. The program is a row only if
    it has no regions.
    """
    tree = make_caliper_tree(profile)
    rows = {row["node"]: row for row in tree.regions.iter_rows(named=True)}
    whole = sum(row["own_time_total"] for node, row in rows.items() if node or len(rows) == 1)
    more = [name for name in CALIPER_METRICS if communication and _is_communication(name)]
    header = ["Path", *_TIMES, "Time %", *more]
    lines = [
        [
            "  " * depth + _shorten(tree.names[node]),
            *(f"{rows[node][CALIPER_METRICS[name]]:.6f}" for name in _TIMES),
            f"{100 * rows[node]['time_total'] / whole:.6f}" if whole else "",
            *(
                _count_cell(rows[node][CALIPER_METRICS[name]]) if tree.communication[node] else ""
                for name in more
            ),
        ]
        for node, depth in _walk(tree, rows)
    ]
    return _format_table(header, lines)


def make_mpi_report(profile: Profile, _communication: bool = False) -> str:
    """Return the calls of each MPI function and their time (s) over all ranks, the longest first."""
    calls = (
        make_caliper_tree(profile)
        .calls.group_by("call")
        .sum()
        .sort(["time_total", "call"], descending=[True, False])
    )
    whole = float(calls["time_total"].sum())
    lines = [
        [
            row["call"],
            str(row["calls"]),
            f"{row['time_total']:.6f}",
            f"{100 * row['time_total'] / whole:.6f}" if whole else "",
        ]
        for row in calls.iter_rows(named=True)
    ]
    return _format_table(["Function", "Count (total)", "Time (total)", "Time %"], lines)


def _is_communication(name: str) -> bool:
    return name.startswith(("Sends", "Recvs", "Dst", "Src", "Coll", "Bytes"))


def _walk(tree: CaliperTree, rows: Mapping[int, Any]) -> Iterator[tuple[int, int]]:
    """Yield nodes with rows and their depths, children after their parents, in the order of the profile."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(tree.parents):
        children.setdefault(parent, []).append(node)
    first = 0 if len(tree.names) == 1 else 1
    waiting = [(node, 0) for node in reversed(children[first - 1])]
    while waiting:
        node, depth = waiting.pop()
        if node in rows:
            yield node, depth
        waiting.extend((child, depth + 1) for child in reversed(children.get(node, [])))


def _shorten(name: str) -> str:
    text = printable(name)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 2] + ".."


def _count_cell(value: float | None) -> str:
    """Return a count, or a mean of counts; an empty text if it is unknown."""
    if value is None:
        return ""
    return f"{value:.0f}" if value == int(value) else f"{value:g}"


def _format_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    return "".join(_format_line(words, widths) for words in [header, *lines])


def _format_line(words: Sequence[str], widths: Sequence[int]) -> str:
    numbers = [word.rjust(width) for word, width in zip(words[1:], widths[1:], strict=True)]
    return " ".join([words[0].ljust(widths[0]), *numbers]).rstrip() + "\n"
