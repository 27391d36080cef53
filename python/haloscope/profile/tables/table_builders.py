"""All tables by name, and the builders of those about time, traffic and the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from haloscope.base.errors import UsageError
from haloscope.profile import sites, trace, waiting
from haloscope.profile.shown.profile_tables import SHOWN
from haloscope.profile.store.columns import LAYOUT, keys, reductions, replace_empty_text
from haloscope.profile.store.info_keys import TRACE_TABLES
from haloscope.profile.store.profile_data import ProfileData
from haloscope.profile.store.trace_tables import CLOCKS
from haloscope.profile.store.tree import Reduction, Scope
from haloscope.profile.tables.binding import binding
from haloscope.profile.tables.efficiencies import pop
from haloscope.profile.tables.information import info
from haloscope.profile.tables.instances import QUANTITIES, InstanceSeries
from haloscope.profile.tables.ranks import ranks, regions

_KEYS = ["path", "rank", "instance"]
_COLUMNS = ("region", *_KEYS, *QUANTITIES)
_WITHOUT_REGION = ("rank_calls", "communicators", "phases", "slices", "clocks", "binding", "info")


def series(profile: ProfileData, scope: Scope) -> pl.DataFrame:
    """Return region × rank × instance, and a column for each name of a recorded value.

    A value with the name of a column of the table gets the suffix `_value`.
    """
    instances = _instances(InstanceSeries.from_profile(profile, scope.chosen))
    values = scope.select_chosen(profile.frame("values"))
    if len(values):
        instances = instances.join(_pivot_values(values), on=_KEYS, how="full", coalesce=True)
    return scope.name_regions(instances, ["rank", "instance"])


def _instances(series: InstanceSeries) -> pl.DataFrame:
    seconds = {name: series.seconds(name) for name in QUANTITIES}
    finite = [pl.when(pl.col(name).is_finite()).then(name).alias(name) for name in QUANTITIES]
    return pl.DataFrame({**series.keys(), **seconds}).with_columns(finite)


def _pivot_values(values: pl.DataFrame) -> pl.DataFrame:
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


def slices(profile: ProfileData, _scope: Scope) -> pl.DataFrame:
    """Return the activity of each rank, over all threads, in each slice of its time.

    `start` is seconds after MPI_Init; a slice is longer if a call continued at its end.
    """
    return profile.frame("slices", SHOWN["slices"].columns).sort("rank", "slice")


def phases(profile: ProfileData, _scope: Scope) -> pl.DataFrame:
    """Return the iterations that were found in each rank's sequence of calls.

    `share` is that of the searched calls; `start` and `end` are seconds after MPI_Init.
    """
    share = pl.when(pl.col("all_calls") > 0).then(pl.col("calls") / pl.col("all_calls"))
    rows = profile.frame("phases").with_columns(share.alias("share"))
    return rows.select(SHOWN["phases"].columns).sort("rank", "phase")


def calls(profile: ProfileData, scope: Scope) -> pl.DataFrame:
    """Return region × MPI function, the most expensive ones of a region first.

    Protocols of the shm library count as functions. The columns `chunks` and `helpers`, null for MPI
    functions, exist only if it has copied a message.
    """
    return scope.name_regions(call_rows(profile, scope), ["time_total", "call"], [True, False])


def rank_calls(profile: ProfileData, _scope: Scope) -> pl.DataFrame:
    """Return rank × MPI function, the most expensive ones of a rank first."""
    rows = profile.frame("rank_calls", SHOWN["rank_calls"].columns)
    return rows.sort("rank", "time_total", "call", descending=[False, True, False])


def call_rows(profile: ProfileData, scope: Scope) -> pl.DataFrame:
    """Return the table `calls` by path, unsorted."""
    rows = scope.reduce(profile.frame("calls", list(LAYOUT["calls"])), keys("calls"), reductions("calls"))
    carried = profile.frame("transfers").rename({"protocol": "call", "messages": "calls"})
    if len(carried):
        nowhere = pl.lit(None, pl.String).alias("memory")
        named = carried.with_columns(pl.col("call") + " (shm)", nowhere)
        more: dict[str, Reduction] = {"chunks": "sum", "helpers": "sum"}
        copied = scope.reduce(named, keys("calls"), reductions("calls") | more)
        rows = pl.concat([rows, copied], how="diagonal")
    return rows.with_columns(replace_empty_text("memory"))


def _sites(profile: ProfileData, scope: Scope) -> pl.DataFrame:
    return sites.sites(profile, scope)


def _make_builder(name: str) -> Callable[[ProfileData, Scope], pl.DataFrame]:
    def build(profile: ProfileData, scope: Scope) -> pl.DataFrame:
        return waiting.wait_table(name, profile, scope)

    return build


def _clocks(profile: ProfileData, _scope: Scope) -> pl.DataFrame:
    """Return one row per rank of a recorded trace; none without one."""
    rows = trace.read_trace(profile).clocks if profile.has_trace else pl.DataFrame(schema=CLOCKS)
    hosts = profile.frame("processes", ["rank", "host"]).unique("rank", keep="first", maintain_order=True)
    joined = rows.cast({"rank": pl.Int64}).join(hosts, on="rank", how="left", maintain_order="left")
    return joined.select(SHOWN["clocks"].columns)


def sizes(profile: ProfileData, scope: Scope) -> pl.DataFrame:
    """Return region × kind × size.

    The last column `bytes_upper` exists only if a row is a range and not one exact size.
    """
    rows = scope.reduce(profile.frame("sizes", list(LAYOUT["sizes"])), keys("sizes"), reductions("sizes"))
    named = scope.name_regions(rows.with_columns(replace_empty_text("memory")), keys("sizes"))
    if (named["bytes"] == named["bytes_upper"]).all():
        return named.drop("bytes_upper")
    return named.select(pl.exclude("bytes_upper"), "bytes_upper")


def partners(profile: ProfileData, scope: Scope) -> pl.DataFrame:
    """Return region × rank × partner; a partner outside this world is null."""
    rows = scope.reduce(profile.exchanges(list(LAYOUT["partners"])), keys("partners"), reductions("partners"))
    same = profile.hosts.compare_nodes(rows["rank"], rows["partner"])
    inside = pl.when(pl.col("partner") >= 0).then(pl.col("partner")).alias("partner")
    named = scope.name_regions(rows.with_columns(same, inside), keys("partners"))
    return named.select(SHOWN["partners"].columns)


def collectives(profile: ProfileData, scope: Scope) -> pl.DataFrame:
    """Return region × operation × size of the communicator × bytes of a call.

    Collectives of NCCL have columns `algorithm`, `protocol` and `channels`, null for MPI's; the columns exist
    only with NCCL.
    """
    frame = profile.frame("collectives", list(LAYOUT["collectives"]))
    rows = scope.reduce(frame, keys("collectives"), reductions("collectives"))
    nccl = profile.frame("nccl")
    if not len(nccl):
        return scope.name_regions(rows, keys("collectives"))
    theirs = scope.reduce(nccl, keys("nccl"), reductions("nccl"))
    more = ("algorithm", "protocol", "channels")
    both = pl.concat([rows, theirs.with_columns(replace_empty_text("algorithm", "protocol"))], how="diagonal")
    return scope.name_regions(both.select(*rows.columns, *more), [*keys("collectives"), *more])


def communicators(profile: ProfileData, _scope: Scope) -> pl.DataFrame:
    """Return one row per communicator, the largest first, for any scope."""
    frame = profile.frame("communicators", SHOWN["communicators"].columns)
    return frame.sort(["size", "calls"], descending=True, maintain_order=True)


_BUILDERS: Mapping[str, Callable[[ProfileData, Scope], pl.DataFrame]] = {
    "regions": regions,
    "ranks": ranks,
    "pop": pop,
    "calls": calls,
    "rank_calls": rank_calls,
    "sites": _sites,
    "sizes": sizes,
    "partners": partners,
    "collectives": collectives,
    "communicators": communicators,
    "series": series,
    "slices": slices,
    "phases": phases,
    **{name: _make_builder(name) for name in TRACE_TABLES},
    "clocks": _clocks,
    "binding": lambda profile, _scope: binding(profile),
    "info": lambda profile, _scope: info(profile),
}

TABLES = tuple(_BUILDERS)


def build(profile: ProfileData, name: str, exclusive: bool, region: str | None) -> pl.DataFrame:
    """Return table `name`. Raises `UsageError` for an unknown table or region."""
    if name not in _BUILDERS:
        raise UsageError(f"there is no table {name!r}; there is {', '.join(TABLES)}")
    if region is not None and name in _WITHOUT_REGION:
        raise UsageError(f"the table {name} is not by region; leave the region out")
    return _BUILDERS[name](profile, Scope.from_region(profile.regions, exclusive, region))
