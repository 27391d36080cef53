"""The tables about single kinds of traffic: calls, sizes, partners, collectives, communicators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from haloscope.explain._profile import Profile
    from haloscope.explain._rollup import Reduction
    from haloscope.explain._scope import Scope

__all__ = ["calls", "collectives", "communicators", "partners", "sizes"]


def calls(profile: Profile, scope: Scope) -> pl.DataFrame:
    """Return region × MPI function, the costliest of a region first.

    Protocols of the stencil layer are functions, too: there are columns `chunks` and `helpers`,
    null for those of MPI, only if it has carried some message.
    """
    sums: dict[str, Reduction] = {"calls": "sum", "bytes": "sum", "time_total": "sum"}
    rows = scope.reduced(profile.frame("calls"), ["call"], {**sums, "time_max": "max"})
    carried = profile.frame("transfers").rename({"protocol": "call", "messages": "calls"})
    if len(carried):
        sums |= {"chunks": "sum", "helpers": "sum"}
        named = carried.with_columns(pl.col("call") + " (stencil)")
        layer = scope.reduced(named, ["call"], {**sums, "time_max": "max"})
        rows = pl.concat([rows, layer], how="diagonal")
    return scope.named(rows, ["time_total", "call"], [True, False])


def sizes(profile: Profile, scope: Scope) -> pl.DataFrame:
    """Return region × kind × size.

    There is a last column `bytes_upper` only if some row is a range and not one exact size.
    """
    rows = scope.reduced(
        profile.frame("sizes"),
        ["kind", "bytes", "bytes_upper"],
        {"messages": "sum", "time_total": "sum"},
    )
    named = scope.named(rows, ["kind", "bytes", "bytes_upper"])
    if (named["bytes"] == named["bytes_upper"]).all():
        return named.drop("bytes_upper")
    return named.select(pl.exclude("bytes_upper"), "bytes_upper")


def partners(profile: Profile, scope: Scope) -> pl.DataFrame:
    """Return region × rank × partner; a partner outside this world is null."""
    sums = ("sends", "bytes_sent", "recvs", "bytes_recv", "time")
    rows = scope.reduced(profile.exchanges(), ["rank", "partner"], dict.fromkeys(sums, "sum"))
    same = profile.hosts.same(rows["rank"], rows["partner"])
    inside = pl.when(pl.col("partner") >= 0).then(pl.col("partner")).alias("partner")
    return scope.named(rows.with_columns(same, inside), ["rank", "partner"]).select(
        "region", "rank", "partner", "same_node", *sums
    )


def collectives(profile: Profile, scope: Scope) -> pl.DataFrame:
    """Return region × operation × size of the communicator × bytes of a call."""
    keys = ["operation", "comm_size", "bytes"]
    rows = scope.reduced(
        profile.frame("collectives"),
        keys,
        {"calls": "sum", "time_total": "sum", "time_max": "max"},
    )
    return scope.named(rows, keys)


def communicators(profile: Profile, _scope: Scope) -> pl.DataFrame:
    """Return one row a communicator, the largest first, whatever the scope."""
    frame = profile.frame("communicators", ["name", "size", "ranks", "calls", "bytes"])
    return frame.sort(["size", "calls"], descending=True, maintain_order=True)
