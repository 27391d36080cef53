"""`--to extrap`: several profiles as Extra-P's text: what regions cost, by the number of ranks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from haloscope.base.errors import ProfileError, printable
from haloscope.base.files import write_whole
from haloscope.explain.export.traced import Profiles
from haloscope.profile import Profile
from haloscope.profile.tables import run_information

# Their names there, and columns of the table `regions`.
_METRICS = {
    "time": "time_mean",
    "time_max": "time_max",
    "mpi_time": "mpi_time_mean",
    "p2p_time": "p2p_time_mean",
    "coll_time": "coll_time_mean",
    "wait_time": "wait_time_mean",
    "compute_time": "compute_time_mean",
    "messages": "sends_total",
    "bytes_sent": "bytes_sent_total",
    "collectives": "colls_total",
    "collective_bytes": "coll_bytes_total",
}
_RANKS = "p"
_MOST_PARAMETERS = 4  # that Extra-P's text can have
_INTEGER = re.compile(r"[1-9][0-9]{0,17}")


@dataclass(frozen=True)
class _Run:
    """A profile: its ranks, what it says of itself in whole numbers, and its regions' values by path."""

    ranks: int
    said: Mapping[str, int]
    regions: Mapping[tuple[str, ...], Mapping[str, float | None]]


def write_extrap(profiles: Profiles, output: Path) -> list[str]:
    """Write what all regions cost in each run, for Extra-P's models.

    A parameter is the number of ranks, `p`, and what a program said of its runs in whole numbers that differ
    between runs with as many ranks. Runs with the same parameters are repetitions. Return a line about
    regions and values that some run lacks. Raises `OutputError`.
    """
    runs = [profile.data.guard(lambda opened=profile: _run(opened)) for profile in profiles]  # type: ignore[misc]
    names = _parameters(runs)
    points: dict[tuple[int, ...], list[_Run]] = {}
    for run in runs:
        points.setdefault((run.ranks, *(run.said[name] for name in names)), []).append(run)
    lines = [
        "PARAMETER " + " ".join([_RANKS, *(_word(name) for name in names)]),
        "POINTS " + " ".join("(" + " ".join(map(str, point)) + ")" for point in sorted(points)),
    ]
    left_out = []
    for path in runs[0].regions:
        groups = [points[point] for point in sorted(points)]
        if not all(path in run.regions for run in runs):
            left_out.append("->".join(map(_text, path)))
            continue
        lines += _measured(path, groups)
    every = {path for run in runs for path in run.regions}
    left_out += ["->".join(map(_text, path)) for path in every - runs[0].regions.keys()]
    write_whole(output, "\n".join(lines) + "\n", "text for Extra-P")
    if not left_out:
        return []
    shown = ", ".join(sorted(left_out)[:5]) + (", …" if len(left_out) > 5 else "")
    return [f"{output}: without {len(left_out)} regions that not all runs have: {shown}"]


def _run(profile: Profile) -> _Run:
    told = run_information(profile.data)
    if not told["ranks"]:
        raise ProfileError(f"{profile.path}: does not say its number of ranks; leave it out")
    said = {
        key: int(text)
        for key, text in (told.get("metadata") or {}).items()
        if isinstance(text, str) and _INTEGER.fullmatch(text)
    }
    tree = profile.regions
    paths = {name: path for path, name in enumerate(tree.full_names)}
    regions = {}
    for row in profile.table("regions").iter_rows(named=True):
        steps, path = [], paths[row["path"]]
        while path >= 0:
            steps.append(tree.names[path])
            path = int(tree.parents[path])
        regions[tuple(steps[::-1])] = {name: row[column] for name, column in _METRICS.items()}
    return _Run(int(told["ranks"]), said, regions)


def _parameters(runs: Sequence[_Run]) -> list[str]:
    """Return what all runs say, and the number of ranks does not decide."""
    known = [name for name in runs[0].said if all(name in run.said for run in runs)]
    free = [name for name in known if len({(run.ranks, run.said[name]) for run in runs}) > _ranks(runs)]
    return free[: _MOST_PARAMETERS - 1]


def _ranks(runs: Sequence[_Run]) -> int:
    return len({run.ranks for run in runs})


def _measured(path: tuple[str, ...], groups: Sequence[Sequence[_Run]]) -> list[str]:
    """Return the lines of a region; what some run does not know of it is left out."""
    lines = []
    for metric in _METRICS:
        values = [[run.regions[path][metric] for run in group] for group in groups]
        if any(value is None for group in values for value in group):
            continue
        lines += ["REGION " + "->".join(map(_text, path)), f"METRIC {metric}"]
        lines += ["DATA " + " ".join(str(value) for value in group) for group in values]
    return lines


def _text(name: str) -> str:
    """Return a name as one step of Extra-P's call paths."""
    return printable(name).replace("->", "→").strip() or "?"


def _word(name: str) -> str:
    return re.sub(r"\s+", "_", printable(name).strip()) or "?"
