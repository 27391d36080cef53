"""The tables by name: those about time, about single kinds of traffic, and about the run itself."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import polars as pl

from haloscope.base.errors import UsageError
from haloscope.base.shown import shown_columns
from haloscope.profile.tables.binding import binding, binding_text
from haloscope.profile.store.columns import LAYOUT, keys, reductions, said
from haloscope.profile.tables.efficiencies import pop
from haloscope.profile.store.framing import DamageError
from haloscope.profile.tables.instances import QUANTITIES, Series
from haloscope.profile.tables.ranks import ranks, regions
from haloscope.profile.store.tree import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from haloscope.profile.facade import Profile
    from haloscope.profile.store.tree import Reduction

__all__ = [
    "TABLES",
    "TEXT_KEYS",
    "TRACE_TABLES",
    "as_text",
    "build",
    "call_rows",
    "checked_info",
    "info",
    "run_information",
    "said_texts",
]

# Their values are text, also where they look like a number.
TEXT_KEYS = frozenset(
    {
        "program",
        "command",
        "mpi_library",
        "mpi_standard",
        "mpi_abi",
        "binding",
        "only",
        "ended_in",
        "source",
        "version",
    }
)
# Texts by key: what the program says of its run, and what its surroundings do.
_SAID, _AROUND = "metadata", ("job", "environment")
# Sums of the tables, for who reads many profiles.
_ROLL_UP = "rollup"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_said(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_ranks(value: object) -> bool:
    return isinstance(value, list) and all(_is_count(rank) for rank in value)


_KNOWN: Mapping[str, Callable[[object], bool]] = {
    **dict.fromkeys(sorted(TEXT_KEYS), _is_text),
    "ended_in": _is_text,
    "open_calls": _is_count,
    "ranks": _is_count,
    "start": _is_number,
    "duration": _is_number,
    "partial": _is_flag,
    "missing_ranks": _is_ranks,
    "unwatched_ranks": _is_ranks,
    **dict.fromkeys((_SAID, *_AROUND), _is_said),
}

_ORDER = [
    "program",
    "command",
    "ranks",
    "hosts",
    "binding",
    "mpi_library",
    "mpi_standard",
    "mpi_abi",
    "start",
    "duration",
    "partial",
    "missing_ranks",
    "unfinished_ranks",
    "unwatched_ranks",
    "ended_in",
    "open_calls",
    "unmatched_begins",
    "unmatched_ends",
    "unaccounted",
    "dropped",
    "version",
]


def checked_info(profile: Profile) -> dict[str, Any]:
    """Return what the file says of the run, without its tables.

    Raises `DamageError` if a documented key has a value of another type.
    """
    told = dict(profile.info)
    for key, fits in _KNOWN.items():
        if told.get(key) is not None and not fits(told[key]):
            raise DamageError(f"its info {key} is {json.dumps(told[key])[:40]}")
    return told


def said_texts(told: Mapping[str, Any]) -> dict[str, str]:
    """Return the program's and its surroundings' texts of a run's information, by key as in `info`."""
    return _flat({key: told.get(key) for key in (_SAID, *_AROUND)})


def run_information(profile: Profile) -> dict[str, Any]:
    """Return the run's information by key, typed; what the file does not say is None.

    `hosts` lists names, the host of rank 0 first. `unfinished_ranks` left records but did not come
    to MPI_Finalize. `unaccounted` maps an MPI function to its calls.
    Raises `DamageError` if a documented key has a value of another type.
    """
    told = checked_info(profile)
    sums = ["unmatched_begins", "unmatched_ends", "dropped"]
    processes = profile.frame("processes", ["rank", "finalized", *sums])
    unfinished = processes.filter(pl.col("finalized") == 0)["rank"].unique().sort()
    known = [name for name in sums if processes[name].null_count() < len(processes) or not len(processes)]
    totals = processes.select(known).sum().row(0, named=True)
    unaccounted = profile.frame("unaccounted").group_by("call", maintain_order=True).sum()
    is_ours = "source" not in told  # what other tools leave does not say such things
    told |= {
        **{key: totals[key] or 0 for key in known},
        "unfinished_ranks": unfinished.to_list() if is_ours else None,
        "hosts": profile.hosts.names,
        "binding": binding_text(profile),
        "unaccounted": dict(unaccounted.select("call", "calls").iter_rows()) if is_ours else None,
    }
    return {key: told.get(key) for key in [*_ORDER, *sorted(told.keys() - {*_ORDER, _ROLL_UP})]}


def info(profile: Profile) -> pl.DataFrame:
    """Return key and value; values other than text are JSON, null is unknown."""
    told = _flat(run_information(profile))
    return pl.DataFrame(
        {"key": list(told), "value": [as_text(key, value) for key, value in told.items()]},
        schema={"key": pl.String, "value": pl.String},
    )


def _flat(told: dict[str, Any]) -> dict[str, Any]:
    """Return a row for each text by key: the program's under its own key, unless that is one of ours."""
    said = told.pop(_SAID, None) or {}
    for kind in _AROUND:
        told |= {f"{kind}.{key}": text for key, text in (told.pop(kind, None) or {}).items()}
    taken = {key for key in said if key in told or key in _ORDER}
    return told | {f"{_SAID}.{key}" if key in taken else key: text for key, text in said.items()}


def as_text(key: str, value: object) -> str | None:
    """Return a value as the table holds it."""
    if value is None or (key in TEXT_KEYS and isinstance(value, str)):
        return value
    return json.dumps(value, ensure_ascii=False)


_KEYS = ["path", "rank", "instance"]
_COLUMNS = ("region", *_KEYS, *QUANTITIES)
# Of the calls of a trace.
TRACE_TABLES = ("waits", "wait_pairs", "delays", "critical_path", "tolerance")
_WITHOUT_REGION = ("communicators", "phases", "slices", "clocks", "binding", "info")


def series(profile: Profile, scope: Scope) -> pl.DataFrame:
    """Return region × rank × instance, and a column for each name of a recorded value.

    A value called like a column of the table gets `_value` after its name.
    """
    instances = _instances(Series.of(profile, scope.chosen))
    values = scope.wanted(profile.frame("values"))
    if len(values):
        instances = instances.join(_wide(values), on=_KEYS, how="full", coalesce=True)
    return scope.named(instances, ["rank", "instance"])


def _instances(series: Series) -> pl.DataFrame:
    seconds = {name: series.seconds(name) for name in QUANTITIES}
    finite = [pl.when(pl.col(name).is_finite()).then(name).alias(name) for name in QUANTITIES]
    return pl.DataFrame({**series.keys(), **seconds}).with_columns(finite)


def _wide(values: pl.DataFrame) -> pl.DataFrame:
    names = values["name"].unique(maintain_order=True).to_list()
    renamed = values.with_columns(values["name"].replace(_free_names(names)))
    return renamed.pivot("name", index=_KEYS, values="value", aggregate_function="last")


def _free_names(names: list[str]) -> dict[str, str]:
    taken = {*_COLUMNS, *names}
    free = {}
    for name in (name for name in names if name in _COLUMNS):
        free[name] = name + "_value"
        while free[name] in taken:
            free[name] += "_value"
        taken.add(free[name])
    return free


def slices(profile: Profile, _scope: Scope) -> pl.DataFrame:
    """Return what each rank did, all its threads together, in each slice of its time.

    `start` is seconds after MPI_Init; a slice in which a call went on lasts longer.
    """
    return profile.frame("slices", shown_columns("slices")).sort("rank", "slice")


def phases(profile: Profile, _scope: Scope) -> pl.DataFrame:
    """Return the iterations that were found in each rank's sequence of calls.

    `share` is of the calls that were looked at; `start` and `end` are seconds after MPI_Init.
    """
    rows = profile.frame("phases").with_columns(share=pl.col("calls") / pl.col("all_calls"))
    return rows.select(shown_columns("phases")).sort("rank", "phase")


def calls(profile: Profile, scope: Scope) -> pl.DataFrame:
    """Return region × MPI function, the costliest of a region first.

    Protocols of the stencil layer are functions, too: there are columns `chunks` and `helpers`,
    null for those of MPI, only if it has carried some message.
    """
    return scope.named(call_rows(profile, scope), ["time_total", "call"], [True, False])


def call_rows(profile: Profile, scope: Scope) -> pl.DataFrame:
    """Return the table `calls` by path, unsorted."""
    rows = scope.reduced(profile.frame("calls", list(LAYOUT["calls"])), keys("calls"), reductions("calls"))
    carried = profile.frame("transfers").rename({"protocol": "call", "messages": "calls"})
    if len(carried):
        nowhere = pl.lit(None, pl.String).alias("memory")
        named = carried.with_columns(pl.col("call") + " (stencil)", nowhere)
        more: dict[str, Reduction] = {"chunks": "sum", "helpers": "sum"}
        layer = scope.reduced(named, keys("calls"), reductions("calls") | more)
        rows = pl.concat([rows, layer], how="diagonal")
    return rows.with_columns(said("memory"))


def _sites(profile: Profile, scope: Scope) -> pl.DataFrame:
    from haloscope.profile.sites import sites

    return sites(profile, scope)


def _of_trace(name: str) -> Callable[[Profile, Scope], pl.DataFrame]:
    def build(profile: Profile, scope: Scope) -> pl.DataFrame:
        from haloscope.profile.waiting import wait_table

        return wait_table(name, profile, scope)

    return build


def _clocks(profile: Profile, _scope: Scope) -> pl.DataFrame:
    """Return a row a rank of a trace that was recorded; none without one."""
    from haloscope.profile.trace import CLOCKS

    rows = profile.trace().clocks if profile.has_trace else pl.DataFrame(schema=CLOCKS)
    hosts = profile.frame("processes", ["rank", "host"]).unique("rank", keep="first", maintain_order=True)
    joined = rows.cast({"rank": pl.Int64}).join(hosts, on="rank", how="left", maintain_order="left")
    return joined.select(shown_columns("clocks"))


def sizes(profile: Profile, scope: Scope) -> pl.DataFrame:
    """Return region × kind × size.

    There is a last column `bytes_upper` only if some row is a range and not one exact size.
    """
    rows = scope.reduced(profile.frame("sizes", list(LAYOUT["sizes"])), keys("sizes"), reductions("sizes"))
    named = scope.named(rows.with_columns(said("memory")), keys("sizes"))
    if (named["bytes"] == named["bytes_upper"]).all():
        return named.drop("bytes_upper")
    return named.select(pl.exclude("bytes_upper"), "bytes_upper")


def partners(profile: Profile, scope: Scope) -> pl.DataFrame:
    """Return region × rank × partner; a partner outside this world is null."""
    rows = scope.reduced(profile.exchanges(), keys("partners"), reductions("partners"))
    same = profile.hosts.same(rows["rank"], rows["partner"])
    inside = pl.when(pl.col("partner") >= 0).then(pl.col("partner")).alias("partner")
    named = scope.named(rows.with_columns(same, inside), keys("partners"))
    return named.select(shown_columns("partners"))


def collectives(profile: Profile, scope: Scope) -> pl.DataFrame:
    """Return region × operation × size of the communicator × bytes of a call.

    Those of NCCL come with columns `algorithm`, `protocol` and `channels`, which are null for MPI's, and are
    there only if there are any.
    """
    rows = scope.reduced(profile.frame("collectives"), keys("collectives"), reductions("collectives"))
    nccl = profile.frame("nccl")
    if not len(nccl):
        return scope.named(rows, keys("collectives"))
    theirs = scope.reduced(nccl, keys("nccl"), reductions("nccl"))
    more = ("algorithm", "protocol", "channels")
    both = pl.concat([rows, theirs.with_columns(said("algorithm", "protocol"))], how="diagonal")
    return scope.named(both.select(*rows.columns, *more), [*keys("collectives"), *more])


def communicators(profile: Profile, _scope: Scope) -> pl.DataFrame:
    """Return one row a communicator, the largest first, whatever the scope."""
    frame = profile.frame("communicators", shown_columns("communicators"))
    return frame.sort(["size", "calls"], descending=True, maintain_order=True)


_BUILDERS: Mapping[str, Callable[[Profile, Scope], pl.DataFrame]] = {
    "regions": regions,
    "ranks": ranks,
    "pop": pop,
    "calls": calls,
    "sites": _sites,
    "sizes": sizes,
    "partners": partners,
    "collectives": collectives,
    "communicators": communicators,
    "series": series,
    "slices": slices,
    "phases": phases,
    **{name: _of_trace(name) for name in TRACE_TABLES},
    "clocks": _clocks,
    "binding": lambda profile, _scope: binding(profile),
    "info": lambda profile, _scope: info(profile),
}

TABLES = tuple(_BUILDERS)


def build(profile: Profile, name: str, exclusive: bool, region: str | None) -> pl.DataFrame:
    """Return table `name`. Raises `UsageError` for an unknown table or region."""
    if name not in _BUILDERS:
        raise UsageError(f"there is no table {name!r}; there is {', '.join(TABLES)}")
    if region is not None and name in _WITHOUT_REGION:
        raise UsageError(f"the table {name} is not by region; leave the region out")
    return _BUILDERS[name](profile, Scope.of(profile.regions, exclusive, region))
