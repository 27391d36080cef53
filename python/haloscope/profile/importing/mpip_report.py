"""Reads a text report of mpiP 3, section by section."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from haloscope.base.texts import parse_whole
from haloscope.profile.importing.mpi_functions import call_name
from haloscope.profile.store.framing import DamageError

_SECTION = re.compile(r"@--- (.*?)\s*-*$")
_INTRODUCTION = re.compile(r"@ (\S.*?)\s*: ?(.*)$")
_TASK = "MPI Task Assignment"
_MOST = 2.0**53  # larger numbers are damage: a float has no whole ones any longer
_STATISTICS = {
    "Callsite Time statistics": "times",
    "Callsite Message Sent statistics": "sent",
    "Callsite I/O statistics": "files",
    "Callsite RMA statistics": "one_sided",
}


@dataclass(frozen=True)
class MpipFrame:
    """One level of a call site; `line` and `file` are None if mpiP knew an address only."""

    function: str
    file: str | None
    line: int | None
    address: str = ""


@dataclass
class MpipReport:
    """The content of a report.

    `introduction` has its first lines, `hosts` a name per rank. `ranks` has `rank`, `time` and `mpi_time` in
    seconds. `sites` has the frames of each call site, the innermost first. The others have a row per site and
    rank: `call`, `site`, `rank`, `count`, `most`, `mean` and `least`, in seconds or bytes. They are None if
    the report has no such section, or no single ranks in it.
    """

    introduction: dict[str, str] = field(default_factory=dict)
    hosts: list[tuple[int, str]] = field(default_factory=list)
    ranks: pl.DataFrame = field(default_factory=pl.DataFrame)
    sites: dict[int, list[MpipFrame]] = field(default_factory=dict)
    times: pl.DataFrame | None = None
    sent: pl.DataFrame | None = None
    files: pl.DataFrame | None = None
    one_sided: pl.DataFrame | None = None
    is_whole: bool = False


def parse_report(text: str) -> MpipReport:
    """Return the content of a report, without unreadable lines. Raises `DamageError`.

    If a report was cut short, its missing end is unknown.
    """
    report = MpipReport()
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if found := _SECTION.match(line):
            lines = sections.setdefault(found[1].strip(), [])
        elif found := _INTRODUCTION.match(line):
            _introduce(report, found[1], found[2].strip())
        else:
            lines.append(line)
    report.ranks = _rank_times(sections)
    for title, lines in sections.items():
        if title.startswith("Callsites:"):
            report.sites = _sites(lines)
        for start, name in _STATISTICS.items():
            if title.startswith(start):
                setattr(report, name, _statistics(lines, 1e-3 if name == "times" else 1.0))
        report.is_whole |= title.startswith("End of Report")
    return report


def _introduce(report: MpipReport, key: str, value: str) -> None:
    if key == _TASK:
        rank, _, host = value.partition(" ")
        number = parse_whole(rank)
        if number is not None:
            report.hosts.append((number, host.strip()))
    else:
        report.introduction.setdefault(key, value)


def _rank_times(sections: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    title = next((title for title in sections if title.startswith("MPI Time")), None)
    if title is None:
        raise DamageError("it has no section MPI Time")
    rows = []
    for words in map(str.split, sections[title]):
        rank = parse_whole(words[0]) if len(words) >= 3 else None
        numbers = _numbers(words[1:3])
        rows += [(rank, *numbers)] if rank is not None and numbers is not None else []
    if not rows:
        raise DamageError("its section MPI Time has no tasks")
    schema = {"rank": pl.Int64, "time": pl.Float64, "mpi_time": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").unique("rank", keep="first", maintain_order=True)


def _numbers(words: Iterable[str]) -> list[float] | None:
    try:
        found = [float(word) for word in words]
    except ValueError:
        return None
    return found if all(-_MOST < number < _MOST for number in found) else None


def _sites(lines: Sequence[str]) -> dict[int, list[MpipFrame]]:
    """Return the frames by site. The heading determines the width of columns: names may have blanks."""
    heading = next((line for line in lines if "Parent_Funct" in line and "File/Address" in line), None)
    if heading is None:
        return {}
    file, function = heading.index("File/Address"), heading.index("Parent_Funct")
    call = heading.find("MPI_Call", function)
    found: dict[int, list[MpipFrame]] = {}
    for line in lines:
        numbers = re.match(r"\s*(\d+)\s+(\d+) ", line)
        if numbers is None:
            continue
        wider = numbers.end() - file  # numbers of more than three digits push the rest on
        function_name = line[file + wider : function + wider].rstrip()
        name = line[function + wider : call + wider if call >= 0 else None].strip()
        numbered = re.fullmatch(r"(.*\S)\s+(\d+)", function_name)
        frame = (
            MpipFrame(name, numbered[1], int(numbered[2]))
            if numbered is not None
            else MpipFrame(name, None, None, function_name)
        )
        found.setdefault(int(numbers[1]), []).append(frame)
    return found


_STATISTIC = {
    "call": pl.String,
    **dict.fromkeys(("site", "rank", "count"), pl.Int64),
    **dict.fromkeys(("most", "mean", "least"), pl.Float64),
}


def _statistics(lines: Sequence[str], unit: float) -> pl.DataFrame | None:
    """Return a row per site and rank; None if the section has sums over ranks only."""
    heading = next((line.split() for line in lines if line.startswith("Name")), [])
    if heading[:4] != ["Name", "Site", "Rank", "Count"]:
        return None
    rows = []
    for words in map(str.split, lines):
        if len(words) < 7 or words[0] == "Name" or words[2] == "*":
            continue
        numbers = _numbers(words[1:7])
        if numbers is not None:
            site, rank, count, most, mean, least = numbers
            values = (most * unit, mean * unit, least * unit)
            rows.append((call_name(words[0]), int(site), int(rank), int(count), *values))
    return pl.DataFrame(rows, schema=_STATISTIC, orient="row")
