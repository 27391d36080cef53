"""A table on a stream: for people, as csv, or as json."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from haloscope.base.errors import UsageError, printable
from haloscope.base.units import UNKNOWN, bytes_text, count_text, moment_text, percent_text, time_text
from haloscope.explain._tables import TEXT_KEYS
from haloscope.explain._tree import PROGRAM, region_text
from haloscope.explain.sites import without_arguments

__all__ = ["FORMATS", "View", "render", "site_text", "views"]

Row = Mapping[str, Any]
_MOST_LISTED = 16


@dataclass(frozen=True)
class View:
    """One column for people: `text` of the row's `sources`."""

    title: str
    sources: tuple[str, ...]
    text: Callable[..., str]
    left: bool = False
    is_whole: bool = False  # is never folded

    def of(self, row: Row) -> str:
        return self.text(*(row[source] for source in self.sources))


def _name(value: str | None) -> str:
    return UNKNOWN if value is None else region_text(value)


def _range(low: int | None, high: int | None) -> str:
    return count_text(low) if low == high else f"{count_text(low)}–{count_text(high)}"


def _within(mean: float | None, low: float | None, high: float | None) -> str:
    if not mean or low is None or high is None:
        return UNKNOWN
    return f"{50 * (high - low) / mean:.2g} %"


def _times(gain: float | None, low: float | None, high: float | None) -> str:
    if gain is None or low is None or high is None:
        return UNKNOWN
    return f"{gain:.2f} ({low:.2f}–{high:.2f})"


def _slower(by: float | None, low: float | None, high: float | None) -> str:
    if by is None or low is None or high is None:
        return UNKNOWN
    return f"{100 * by:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def _yes(value: bool | None) -> str:
    return UNKNOWN if value is None else "yes" if value else "no"


def _text(title: str, source: str) -> View:
    return View(title, (source,), _name, left=True)


def _count(title: str, source: str) -> View:
    return View(title, (source,), count_text)


def _bytes(title: str, source: str) -> View:
    return View(title, (source,), bytes_text)


def _exact(title: str, source: str) -> View:
    return View(title, (source,), lambda value: UNKNOWN if value is None else str(value))


def _time(title: str, source: str) -> View:
    return View(title, (source,), time_text)


def _bandwidth(title: str, source: str) -> View:
    """What is so many seconds a byte."""
    return View(title, (source,), lambda value: UNKNOWN if not value else f"{bytes_text(1 / value)}/s")


def _share(title: str, part: str, whole: str) -> View:
    return View(title, (part, whole), percent_text)


def site_text(site: str, function: str | None) -> str:
    """Return a place of the source as people see it: the file, the line and the function's name."""
    is_said = function is None or site.startswith(f"{function} (")
    return region_text(site if is_said else f"{site} {without_arguments(function or '')}")


def _part(title: str, source: str) -> View:
    return View(title, (source,), lambda part: percent_text(part, 1))


def _told(key: str, value: str | None) -> str:
    if value is None:
        return "unknown"
    if key in TEXT_KEYS:
        return printable(value)
    told = json.loads(value)
    if key == "start":
        return moment_text(told)
    if key == "duration":
        return time_text(told)
    return printable(_listed(told))


def _listed(told: object) -> str:
    if isinstance(told, bool):
        return "yes" if told else "no"
    if isinstance(told, dict):
        return ", ".join(f"{name} × {calls}" for name, calls in told.items()) or "none"
    if isinstance(told, list):
        shown = ", ".join(str(item) for item in told[:_MOST_LISTED])
        return f"{shown}, … ({len(told)})" if len(told) > _MOST_LISTED else shown or "none"
    return str(told)


_REGION = _text("region", "region")

_VIEWS: Mapping[str, Sequence[View]] = {
    "regions": [
        _text("region", "region"),
        _count("ranks", "ranks"),
        _count("passes", "instances"),
        _time("time", "time_mean"),
        _share("MPI", "mpi_time_mean", "time_mean"),
        _count("sends", "sends_total"),
        _bytes("sent", "bytes_sent_total"),
        _bytes("message", "mean_message"),
        View("partners", ("dest_ranks_min", "dest_ranks_max"), _range),
        _count("colls", "colls_total"),
    ],
    "phases": [
        _count("rank", "rank"),
        _count("phase", "phase"),
        _count("iterations", "iterations"),
        _count("found after", "found_after"),
        _count("calls", "length"),
        _count("forms", "forms"),
        View("share", ("share",), lambda value: UNKNOWN if value is None else f"{100 * value:.0f} %"),
        _time("start", "start"),
        _time("end", "end"),
    ],
    "ranks": [
        _REGION,
        _exact("rank", "rank"),
        _text("host", "host"),
        _time("time", "time"),
        _share("MPI", "mpi_time", "time"),
        _count("sends", "sends"),
        _bytes("sent", "bytes_sent"),
        _count("partners", "dest_ranks"),
        _count("colls", "colls"),
        _time("waiting", "wait_time"),
    ],
    "calls": [
        _REGION,
        _text("call", "call"),
        _count("calls", "calls"),
        _bytes("bytes", "bytes"),
        _time("time, all ranks", "time_total"),
        _time("longest", "time_max"),
        _count("chunks", "chunks"),
        _count("helpers", "helpers"),
    ],
    "sites": [
        _REGION,
        View("site", ("site", "function"), site_text, left=True),
        View("call", ("call",), printable, left=True, is_whole=True),
        _count("calls", "calls"),
        _time("time", "time_total"),
        _part("share", "share"),
        _part("±", "time_cv"),
    ],
    "waits": [
        _REGION,
        _text("kind", "kind"),
        _count("waits", "waits"),
        _time("time, all ranks", "time_total"),
        _part("share", "share"),
    ],
    "wait_pairs": [
        _REGION,
        _text("kind", "kind"),
        _exact("rank", "rank"),
        _exact("waits for", "partner"),
        _count("waits", "waits"),
        _time("time", "time"),
    ],
    "delays": [
        _REGION,
        _exact("rank", "rank"),
        _time("waiting caused", "cost"),
        _time("direct", "direct"),
        _time("indirect", "indirect"),
        _part("share", "share"),
    ],
    "critical_path": [
        _REGION,
        _exact("rank", "rank"),
        _time("time", "time"),
        _time("in MPI", "mpi_time"),
        _part("share", "share"),
    ],
    "pop": [
        _part("parallel efficiency", "parallel"),
        _part("load balance", "load_balance"),
        _part("serialisation", "serialisation"),
        _part("transfer", "transfer"),
        _time("run", "run_time"),
        _time("ideal network", "ideal_time"),
    ],
    "tolerance": [
        _REGION,
        _count("latencies", "latencies"),
        _time("1 % longer", "latency_1"),
        _time("2 %", "latency_2"),
        _time("5 %", "latency_5"),
        _bytes("bytes", "bytes"),
        _bandwidth("1 % at", "per_byte_1"),
        _time("run", "run_time"),
        _time("without waiting", "without_waiting"),
    ],
    "sizes": [
        _REGION,
        _text("kind", "kind"),
        _exact("bytes", "bytes"),
        _exact("up to", "bytes_upper"),
        _count("messages", "messages"),
        _time("time, all ranks", "time_total"),
    ],
    "partners": [
        _REGION,
        _exact("rank", "rank"),
        _exact("partner", "partner"),
        View("same node", ("same_node",), _yes),
        _count("sends", "sends"),
        _bytes("sent", "bytes_sent"),
        _count("recvs", "recvs"),
        _bytes("received", "bytes_recv"),
        _time("time", "time"),
    ],
    "collectives": [
        _REGION,
        _text("operation", "operation"),
        _count("ranks", "comm_size"),
        _exact("bytes", "bytes"),
        _count("calls", "calls"),
        _time("time, all ranks", "time_total"),
        _time("longest", "time_max"),
    ],
    "communicators": [
        _text("communicator", "name"),
        _count("size", "size"),
        _count("ranks", "ranks"),
        _count("calls", "calls"),
        _bytes("bytes", "bytes"),
    ],
    "series": [
        _REGION,
        _exact("rank", "rank"),
        _exact("instance", "instance"),
        _time("start", "start"),
        _time("duration", "duration"),
        _time("wait", "wait"),
    ],
    "slices": [
        _exact("rank", "rank"),
        _exact("slice", "slice"),
        _time("start", "start"),
        _time("duration", "duration"),
        _count("sends", "sends"),
        _bytes("sent", "bytes_sent"),
        _count("recvs", "recvs"),
        _bytes("received", "bytes_recv"),
        _count("collectives", "colls"),
        _time("p2p", "p2p_time"),
        _time("collectives' time", "coll_time"),
        _time("waiting", "wait_time"),
    ],
    "model": [
        _text("collective", "collective"),
        _text("algorithm", "algorithm"),
        _exact("ranks", "ranks"),
        _exact("bytes", "bytes"),
        _time("time", "time"),
        _time("modelled", "modelled"),
        _part("error", "error"),
    ],
    "errors": [
        _text("collective", "collective"),
        _text("algorithm", "algorithm"),
        _count("points", "points"),
        _part("median error", "error_median"),
        _part("90 % below", "error_p90"),
        _part("largest", "error_max"),
    ],
    "points": [
        _text("collective", "collective"),
        _text("algorithm", "algorithm"),
        _exact("segment", "segment"),
        _exact("fan-out", "fanout"),
        _exact("ranks", "ranks"),
        _exact("bytes", "bytes"),
        _time("mean", "time"),
        View("median ±", ("median", "ci_low", "ci_high"), _within),
        _text("status", "status"),
    ],
    "sensitivity": [_text("region", "path"), _time("slope", "slope"), _part("share", "share")],
    "tune": [
        _text("collective", "collective"),
        _exact("ranks", "ranks"),
        _exact("bytes", "bytes"),
        _text("by default", "default_algorithm"),
        _time("time", "default_time"),
        _text("tuned", "algorithm"),
        _time("time", "tuned_time"),
        View("gain", ("gain", "gain_low", "gain_high"), _times),
        View("verified", ("verified",), _yes),
    ],
    "regimes": [
        _text("file", "file"),
        _exact("regime", "regime"),
        _time("mean", "mean"),
        _time("std", "std"),
        _time("median", "median"),
        _part("share", "share"),
        _count("instances", "instances"),
        View("mean ±", ("mean", "mean_low", "mean_high"), _within),
    ],
    "clocks": [
        _exact("rank", "rank"),
        _text("host", "host"),
        _exact("machine", "machine"),
        _time("offset, begin", "offset_begin"),
        _time("offset, end", "offset_end"),
        _time("by messages", "shift"),
        _count("moved", "moved"),
        _time("moved at most", "moved_max"),
    ],
    "binding": [
        _exact("rank", "rank"),
        _text("host", "host"),
        _text("CPUs", "cpus"),
        _text("NUMA nodes", "numa_nodes"),
        _text("sockets", "sockets"),
    ],
    "history": [
        _text("program", "program"),
        _text("host", "host"),
        _text("MPI", "mpi_library"),
        View("start", ("start",), moment_text),
        _count("runs", "runs"),
        _count("ranks", "ranks"),
        _time("ranks' time", "rank_time"),
        _time("in MPI", "mpi_time"),
        View("of all", ("share",), lambda share: percent_text(share, 1)),
        _bytes("sent", "bytes_sent"),
        View("slower by", ("slowdown", "slowdown_low", "slowdown_high"), _slower),
        View("p", ("p_value",), lambda p: UNKNOWN if p is None else f"{p:.2g}"),
    ],
    "info": [_text("about the run", "key"), View("", ("key", "value"), _told, left=True)],
}


def views(table: str, columns: Sequence[str]) -> list[View]:
    """Return what to show of a frame that has `columns`; recorded values of `series` too."""
    known = [view for view in _VIEWS[table] if set(view.sources) <= set(columns)]
    if table == "series":
        shown = {source for view in known for source in view.sources}
        known += [_value(name) for name in columns if name not in shown]
    if table == "sensitivity":
        times = [name for name in columns if name.startswith("time_x")]
        known[1:1] = [_time(f"latency × {name[6:]}", name) for name in times]
    return known


def _value(name: str) -> View:
    return View(region_text(name), (name,), lambda value: UNKNOWN if value is None else f"{value:.6g}")


_WIDTH_OF_A_PIPE = 100
_MOST_ROWS = 1000
_ROWS_AT_A_TIME = 50_000


def render(frame: pl.DataFrame, fmt: str, table_name: str, stream: TextIO) -> None:
    """Print `frame`, the table called `table_name`, on `stream` as `table`, `csv` or `json`.

    csv and json have every column under its name in the reference, times in seconds; json is a
    list of records, one a line, with null for what is unknown. Raises `UsageError` for another
    format.
    """
    if fmt not in _WRITERS:
        raise UsageError(f"there is no format {fmt!r}; there is {', '.join(FORMATS)}")
    _WRITERS[fmt](frame, table_name, stream)


def _write_csv(frame: pl.DataFrame, _table_name: str, stream: TextIO) -> None:
    for first in range(0, max(len(frame), 1), _ROWS_AT_A_TIME):
        part = frame.slice(first, _ROWS_AT_A_TIME)
        stream.write(part.write_csv(include_header=first == 0))


def _write_json(frame: pl.DataFrame, table_name: str, stream: TextIO) -> None:
    if table_name == "info":
        records = [json.dumps(_typed(row), ensure_ascii=False) for row in frame.to_dicts()]
        stream.write("[\n" + ",\n".join(records) + "\n]\n")
        return
    separator = "[\n"
    for first in range(0, len(frame), _ROWS_AT_A_TIME):
        lines = frame.slice(first, _ROWS_AT_A_TIME).write_ndjson().rstrip("\n")
        stream.write(separator + lines.replace("\n", ",\n"))
        separator = ",\n"
    stream.write("\n]\n" if len(frame) else "[]\n")


def _typed(row: Row) -> dict[str, object]:
    """Return a row of `info` with its value as what it is: a number, a list, a truth value."""
    value = row["value"]
    if value is not None and row["key"] not in TEXT_KEYS:
        value = json.loads(value)
    return {**row, "value": value}


def _write_table(frame: pl.DataFrame, table_name: str, stream: TextIO) -> None:
    width = None if stream.isatty() else _WIDTH_OF_A_PIPE
    # Region names may look like markup or emoji codes, and must not be interpreted.
    console = Console(file=stream, width=width, markup=False, emoji=False, highlight=False)
    shown = views(table_name, frame.columns)
    if table_name == "sites":
        frame = by_site(frame)
    rows = frame.head(_MOST_ROWS).to_dicts()
    console.print(_rich_table(rows, shown, table_name))
    for note in _notes(frame, shown, table_name):
        console.print(Text(note, style="dim"))


def by_site(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table `sites` with one row a region, site and function, for whatever stacks lead there."""
    keys = ["region", "site", "file", "line", "function", "call"]
    sums = pl.col("calls", "bytes", "time_total", "share").sum()
    one = pl.when(pl.len() == 1).then(pl.col("time_cv").first()).alias("time_cv")
    regions = frame["region"].unique(maintain_order=True).to_list()
    summed = frame.group_by(keys, maintain_order=True).agg(sums, one, pl.lit("").alias("stack"))
    order = summed["region"].replace_strict(regions, range(len(regions)), return_dtype=pl.Int64)
    return summed.sort(order, -pl.col("time_total"), maintain_order=True).select(frame.columns)


def _rich_table(rows: Sequence[Row], shown: Sequence[View], table_name: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1), show_edge=False)
    for view in shown:
        table.add_column(
            view.title,
            justify="left" if view.left else "right",
            no_wrap=view.is_whole or not view.left,
            overflow="fold",
        )
    indents = _indents(rows) if table_name == "regions" else [""] * len(rows)
    for row, indent in zip(rows, indents, strict=True):
        cells = [view.of(row) for view in shown]
        table.add_row(*(Text(cell) for cell in [indent + cells[0], *cells[1:]]))
    return table


def _indents(rows: Sequence[Row]) -> list[str]:
    """Return how far to set in each region: two spaces for each row above that holds it."""
    above: list[str] = []
    indents = []
    for row in rows:
        path = row["path"]
        while above and not _holds(above[-1], path):
            above.pop()
        indents.append("  " * len(above))
        above.append(path)
    return indents


def _holds(outer: str, path: str) -> bool:
    return outer == PROGRAM or path.startswith(outer + "/")


def _notes(frame: pl.DataFrame, shown: Sequence[View], table_name: str) -> list[str]:
    notes = []
    hidden = len(frame.columns) - len({source for view in shown for source in view.sources})
    if not len(frame):
        notes.append(f"no {table_name} recorded")
    if table_name in _MEANINGS:
        notes.append(_MEANINGS[table_name])
    if len(frame) > _MOST_ROWS:
        notes.append(f"the first {_MOST_ROWS} of {len(frame)} rows; all: --format csv or json")
    if hidden > 0:
        columns = f"{hidden} more column{'' if hidden == 1 else 's'}"
        notes.append(f"{columns}, and exact numbers: --format csv or json")
    return notes


_MEANINGS = {
    "regions": "time: mean over the ranks; MPI: its share of that; partners: distinct ranks sent"
    " to, min–max over ranks",
    "sites": "time: all ranks; share: of the MPI time of all sites; ±: standard deviation over ranks;"
    " stacks that lead there: --format csv or json",
    "waits": "share: of the region's time in MPI calls; other: of that, neither waiting nor completion",
    "delays": "waiting caused: of all ranks, by what this rank did there for longer than those who waited",
    "critical_path": "share: of the run's time; in MPI: transfer, as nobody waits on the critical path",
    "tolerance": "latencies, bytes: of the region's messages, on the critical path; then what can be added to"
    " each latency until the run takes so much longer, and a further link's bandwidth for that",
    "regimes": "share: of all instances; ±: half the 95 % interval of the mean",
    "ranks": "MPI: its share of the time; partners: distinct ranks sent to",
}

_WRITERS: Mapping[str, Callable[[pl.DataFrame, str, TextIO], None]] = {
    "table": _write_table,
    "csv": _write_csv,
    "json": _write_json,
}

FORMATS = tuple(_WRITERS)
