"""Writer of Caliper's `.cali` files, for caliper-reader, Hatchet and Thicket.

A file has lines of three kinds: nodes, each with an attribute, a value and a parent; records, which refer to
the node of a region and have values of metrics; and nodes that describe the run. An attribute is also a node:
its name is a child of its properties, which are a child of its type.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from haloscope.base.files import write_whole
from haloscope.explain.caliper.caliper_tree import CaliperTree, make_caliper_tree
from haloscope.profile import Profile
from haloscope.profile.tables import run_information

# Predefined nodes: types, and the attributes of attributes.
_INT, _UINT, _STRING, _DOUBLE = 1, 2, 3, 5
_NAME, _PROPERTIES = 8, 10
_FIRST_FREE = 12
# Properties of attributes.
_NESTED = 276
_OF_ATTRIBUTES = 64
_METRIC = 2113
_GLOBAL = 588
_OF_RECORDS = 76


@dataclass(frozen=True)
class Metric:
    """A column: Caliper's names of the attribute and of the column, our column, and its type."""

    attribute: str
    alias: str
    column: str
    kind: int = _DOUBLE


def _rank_statistics(attribute: str, quantity: str, suffix: str = "") -> tuple[Metric, ...]:
    words = {"min": "Min time/rank", "max": "Max time/rank", "avg": "Avg time/rank", "sum": "Total time"}
    ours = {"min": "min", "max": "max", "avg": "mean", "sum": "total"}
    return tuple(
        Metric(f"{word}#{attribute}", alias + suffix, f"{quantity}_{ours[word]}")
        for word, alias in words.items()
    )


_TIMES = (
    Metric("sum#time.duration", "", "own_time_total"),
    *_rank_statistics("inclusive#sum#time.duration", "time"),
    *_rank_statistics("scale#sum#time.duration.ns", "own_time", " (exc)"),
    Metric("min#sum#rc.count", "Calls/rank (min)", "calls_min", _UINT),
    Metric("avg#sum#rc.count", "Calls/rank (avg)", "calls_mean"),
    Metric("max#sum#rc.count", "Calls/rank (max)", "calls_max", _UINT),
    Metric("sum#sum#rc.count", "Calls (total)", "calls_total", _UINT),
)


def _traffic_metrics(attribute: str, alias: str, quantity: str) -> tuple[Metric, ...]:
    return (
        Metric(f"min#min#min#{attribute}", f"{alias} (min)", f"{quantity}_instance_min", _UINT),
        Metric(f"max#max#max#{attribute}", f"{alias} (max)", f"{quantity}_instance_max", _UINT),
        Metric(f"sum#sum#sum#{attribute}", f"{alias} (total)", f"{quantity}_total", _UINT),
    )


def _partner_metrics(attribute: str, alias: str, quantity: str) -> tuple[Metric, ...]:
    return (
        *_traffic_metrics(attribute, alias, quantity)[:2],
        Metric(f"avg#avg#avg#{attribute}", f"{alias} (avg)", f"{quantity}_mean"),
    )


_COMMUNICATION = (
    *_traffic_metrics("total.send.count", "Sends", "sends"),
    *_traffic_metrics("total.recv.count", "Recvs", "recvs"),
    *_partner_metrics("total.dest.ranks", "Dst ranks", "dest_ranks"),
    *_partner_metrics("total.src.ranks", "Src ranks", "src_ranks"),
    Metric("max#max#max#total.coll.count", "Coll (max)", "colls_instance_max", _UINT),
    *_traffic_metrics("mpi.send.size", "Bytes sent", "bytes_sent"),
    *_traffic_metrics("mpi.recv.size", "Bytes recv", "bytes_recv"),
    Metric("max#max#max#mpi.message.size", "Largest send", "largest_message", _UINT),
)
# Metrics of a single rank, with Caliper's names.
_RANK_TIMES = (
    Metric("sum#time.duration", "", "own_time"),
    Metric("inclusive#sum#time.duration", "", "time"),
    Metric("sum#rc.count", "Calls", "calls", _UINT),
)


def _rank_traffic_metrics(
    attribute: str, alias: str, quantity: str, is_summed: bool = True
) -> tuple[Metric, ...]:
    extremes = (
        Metric(f"min#min#{attribute}", f"{alias} (min)", f"{quantity}_instance_min", _UINT),
        Metric(f"max#max#{attribute}", f"{alias} (max)", f"{quantity}_instance_max", _UINT),
    )
    total = Metric(f"sum#sum#{attribute}", f"{alias} (total)", quantity, _UINT)
    return (*extremes, total) if is_summed else extremes


_RANK_COMMUNICATION = (
    *_rank_traffic_metrics("total.send.count", "Sends", "sends"),
    *_rank_traffic_metrics("total.recv.count", "Recvs", "recvs"),
    *_rank_traffic_metrics("total.dest.ranks", "Dst ranks", "dest_ranks", False),
    *_rank_traffic_metrics("total.src.ranks", "Src ranks", "src_ranks", False),
    Metric("max#max#total.coll.count", "Coll (max)", "colls_instance_max", _UINT),
    *_rank_traffic_metrics("mpi.send.size", "Bytes sent", "bytes_sent"),
    *_rank_traffic_metrics("mpi.recv.size", "Bytes recv", "bytes_recv"),
    Metric("max#max#mpi.message.size", "Largest send", "largest_message", _UINT),
)
# Names of Caliper's columns, and our columns with the same meaning.
CALIPER_METRICS: Mapping[str, str] = {m.alias or "time": m.column for m in (*_TIMES, *_COMMUNICATION)}


def write_cali(
    profile: Profile,
    path: str | os.PathLike[str],
    *,
    communication: bool = True,
    functions: bool = False,
    program: bool = False,
    by_rank: bool = False,
) -> int:
    """Write a profile as `.cali`, one record per region.

    Times (seconds) and counts are over the ranks that entered the region.

    Args:
        profile: The profile.
        path: File to write.
        communication: Whether to add messages of communication regions by instance, as Caliper's comm.stats.
        functions: Whether MPI functions are regions below their callers.
        program: Whether the program is the root of the tree. It always is if there are no regions.
        by_rank: Whether to write one record per region and rank, without MPI functions, whose ranks are
            unknown.

    Returns:
        The number of records.

    Raises:
        OutputError: The file cannot be written.
    """
    text, records = make_cali_text(profile, communication, functions and not by_rank, program, by_rank)
    write_whole(Path(path), text, "file of Caliper")
    return records


def make_cali_text(
    profile: Profile, communication: bool, functions: bool, program: bool, by_rank: bool = False
) -> tuple[str, int]:
    """Return the text of `write_cali`, and its number of records."""
    tree = make_caliper_tree(profile, functions)
    lines = _Lines()
    records = _add_records(lines, tree, communication, functions, program, by_rank)
    _describe(lines, profile)
    return "".join(lines.lines), records


@dataclass
class _Lines:
    """The lines of a file, and the number of the next node."""

    lines: list[str] = field(default_factory=list)
    next: int = _FIRST_FREE
    properties: dict[tuple[int, int], int] = field(default_factory=dict)

    def node(self, attribute: int, value: object, parent: int | None) -> int:
        """Return the number of a new node."""
        below = "" if parent is None else f",parent={parent}"
        self.lines.append(f"__rec=node,id={self.next},attr={attribute},data={escape_value(value)}{below}\n")
        self.next += 1
        return self.next - 1

    def attribute(self, name: str, kind: int, properties: int, described: int | None = None) -> int:
        """Return the number of a new attribute; `described` is a node that describes it."""
        if described is not None:
            return self.node(_NAME, name, self.node(_PROPERTIES, properties, described))
        if (kind, properties) not in self.properties:
            self.properties[kind, properties] = self.node(_PROPERTIES, properties, kind)
        return self.node(_NAME, name, self.properties[kind, properties])

    def record(self, references: Iterable[int], values: Mapping[int, object]) -> None:
        """Add a record of a region."""
        words = ["__rec=ctx", "ref=" + "=".join(map(str, references))]
        if values:
            words.append("attr=" + "=".join(map(str, values)))
            words.append("data=" + "=".join(map(escape_value, values.values())))
        self.lines.append(",".join(words) + "\n")


def escape_value(value: object) -> str:
    """Return a value escaped for a line."""
    text = f"{value:.17g}" if isinstance(value, float) else str(value)
    return re.sub(r"([\\,=])", r"\\\1", text).replace("\n", r"\n").replace("\r", " ")


def _add_records(
    lines: _Lines, tree: CaliperTree, communication: bool, functions: bool, program: bool, by_rank: bool
) -> int:
    region, comm_region, function = (
        lines.attribute(name, _STRING, _NESTED) for name in ("region", "comm.region", "mpi.function")
    )
    alias = lines.attribute("attribute.alias", _STRING, _OF_ATTRIBUTES)
    times, traffic = (_RANK_TIMES, _RANK_COMMUNICATION) if by_rank else (_TIMES, _COMMUNICATION)
    wanted = (*times, *traffic) if communication else times
    metrics = {metric: _add_metric(lines, metric, alias) for metric in wanted}
    first = 0 if program or len(tree.names) == 1 else 1
    nodes: dict[int, int] = {}
    for number in range(first, len(tree.names)):
        attribute = comm_region if tree.communication[number] else region
        parent = nodes.get(tree.parents[number])
        nodes[number] = lines.node(attribute, tree.names[number], parent)
    records = 0
    ranks = _add_rank_nodes(lines, tree) if by_rank else {}
    for row in (tree.by_rank if by_rank else tree.regions).iter_rows(named=True):
        if row["node"] in nodes:
            comm = tree.communication[row["node"]]
            known = [m for m in wanted if (comm or m not in traffic) and _is_known(row[m.column])]
            where = [nodes[row["node"]], *([ranks[row["rank"]]] if by_rank else [])]
            lines.record(where, {metrics[m]: row[m.column] for m in known})
            records += 1
    if functions:
        records += _add_function_records(lines, tree, nodes, function, metrics)
    return records


def _add_rank_nodes(lines: _Lines, tree: CaliperTree) -> dict[int, int]:
    """Return a node per rank, to which records refer."""
    attribute = lines.attribute("mpi.rank", _INT, _OF_RECORDS)
    return {
        rank: lines.node(attribute, rank, None) for rank in tree.by_rank["rank"].unique().sort().to_list()
    }


def _add_metric(lines: _Lines, metric: Metric, alias: int) -> int:
    described = lines.node(alias, metric.alias, metric.kind) if metric.alias else None
    return lines.attribute(metric.attribute, metric.kind, _METRIC, described)


def _is_known(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def _add_function_records(
    lines: _Lines, tree: CaliperTree, nodes: Mapping[int, int], function: int, metrics: Mapping[Metric, int]
) -> int:
    """Add records of MPI functions: sums over ranks."""
    times = [metrics[m] for m in _TIMES if m.column in ("time_total", "own_time_total")]
    count = next(metrics[m] for m in _TIMES if m.column == "calls_total")
    called = [row for row in tree.calls.iter_rows(named=True) if row["node"] in nodes]
    for row in called:
        node = lines.node(function, row["call"], nodes[row["node"]])
        lines.record([node], {**dict.fromkeys(times, row["time_total"]), count: row["calls"]})
    return len(called)


def _describe(lines: _Lines, profile: Profile) -> None:
    """Add the run's description, which becomes a row of Thicket's metadata."""
    last: int | None = None
    for key, value in describe_profile(profile).items():
        kind = _UINT if isinstance(value, int) and value >= 0 else _INT if isinstance(value, int) else _STRING
        kind = _DOUBLE if isinstance(value, float) else kind
        last = lines.node(lines.attribute(key, kind, _GLOBAL), value, last)
    if last is not None:
        lines.lines.append(f"__rec=globals,ref={last}\n")


def describe_profile(profile: Profile) -> dict[str, int | float | str]:
    """Return the description of the run: metadata of the program, and information of the recorder."""
    info = run_information(profile.data)
    metadata = info.get("metadata") or {}
    hosts = info["hosts"]
    known = {
        "cali.channel": "spot",
        "mpi.world.size": info["ranks"],
        "mpi_library": info["mpi_library"],
        "program": info["program"],
        "cmdline": info["command"],
        "launchdate": None if info["start"] is None else int(info["start"]),
        "jobsize": info["ranks"],
        "numhosts": len(hosts),
        "hostlist": ",".join(hosts),
        "elapsed": info["duration"],
        "haloscope.version": info["version"],
    }
    named = {key: value for key, value in known.items() if value not in (None, "")}
    return named | {key: _parse_number(value) for key, value in metadata.items() if isinstance(value, str)}


def _parse_number(text: str) -> int | float | str:
    """Return the number that a text represents exactly, or the text."""
    if re.fullmatch(r"-?(0|[1-9]\d{0,17})", text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) and text in (repr(number), f"{number:.15g}") else text
