"""`--to extrap`: times and counts of regions in several profiles, as text for Extra-P."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from haloscope.base.errors import ProfileError, printable
from haloscope.base.files import write_whole
from haloscope.base.units import noun_text
from haloscope.explain.export.traced import Profiles
from haloscope.profile import Profile
from haloscope.profile.tables import run_information

# Names of metrics in Extra-P, and columns of the table `regions`.
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
_MOST_PARAMETERS = 4  # limit of Extra-P's text format
_INTEGER = re.compile(r"[1-9][0-9]{0,17}")


@dataclass(frozen=True)
class _Run:
    """A profile: its ranks, its integer metadata, and its regions' values by path."""

    ranks: int
    metadata: Mapping[str, int]
    regions: Mapping[tuple[str, ...], Mapping[str, float | None]]


def write_extrap(profiles: Profiles, output: Path) -> list[str]:
    """Write times and counts of all regions in each run, for Extra-P's models.

    Parameters are the number of ranks `p`, and integer metadata that differ between runs with the same number
    of ranks. Runs with equal parameters are repetitions. Return a line about regions that are missing in some
    run. Raises `OutputError`.
    """
    runs = [profile.data.guard(lambda opened=profile: _read_run(opened)) for profile in profiles]  # type: ignore[misc]
    names = _find_parameters(runs)
    points: dict[tuple[int, ...], list[_Run]] = {}
    for run in runs:
        points.setdefault((run.ranks, *(run.metadata[name] for name in names)), []).append(run)
    lines = [
        "PARAMETER " + " ".join([_RANKS, *(_parameter_name(name) for name in names)]),
        "POINTS " + " ".join("(" + " ".join(map(str, point)) + ")" for point in sorted(points)),
    ]
    left_out = []
    for path in runs[0].regions:
        groups = [points[point] for point in sorted(points)]
        if not all(path in run.regions for run in runs):
            left_out.append("->".join(map(_path_step, path)))
            continue
        lines += _list_region_lines(path, groups)
    every = {path for run in runs for path in run.regions}
    left_out += ["->".join(map(_path_step, path)) for path in every - runs[0].regions.keys()]
    write_whole(output, "\n".join(lines) + "\n", "text for Extra-P")
    if not left_out:
        return []
    shown = ", ".join(sorted(left_out)[:5]) + (", …" if len(left_out) > 5 else "")
    return [f"{output}: without {noun_text(len(left_out), 'region')} that some runs do not have: {shown}"]


def _read_run(profile: Profile) -> _Run:
    info = run_information(profile.data)
    if not info["ranks"]:
        raise ProfileError(f"{profile.path}: has no number of ranks; leave it out")
    metadata = {
        key: int(text)
        for key, text in (info.get("metadata") or {}).items()
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
    return _Run(int(info["ranks"]), metadata, regions)


def _find_parameters(runs: Sequence[_Run]) -> list[str]:
    """Return the metadata that all runs have and that the number of ranks does not determine."""
    known = [name for name in runs[0].metadata if all(name in run.metadata for run in runs)]
    free = [
        name for name in known if len({(run.ranks, run.metadata[name]) for run in runs}) > _count_ranks(runs)
    ]
    return free[: _MOST_PARAMETERS - 1]


def _count_ranks(runs: Sequence[_Run]) -> int:
    return len({run.ranks for run in runs})


def _list_region_lines(path: tuple[str, ...], groups: Sequence[Sequence[_Run]]) -> list[str]:
    """Return the lines of a region without metrics that are unknown in some run."""
    lines = []
    for metric in _METRICS:
        values = [[run.regions[path][metric] for run in group] for group in groups]
        if any(value is None for group in values for value in group):
            continue
        lines += ["REGION " + "->".join(map(_path_step, path)), f"METRIC {metric}"]
        lines += ["DATA " + " ".join(str(value) for value in group) for group in values]
    return lines


def _path_step(name: str) -> str:
    """Return a name as one step of Extra-P's call paths."""
    return printable(name).replace("->", "→").strip() or "?"


def _parameter_name(name: str) -> str:
    return re.sub(r"\s+", "_", printable(name).strip()) or "?"
