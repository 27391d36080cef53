"""Rows of `history` for profiles of other tools: sums of tables in the form of our `info`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from haloscope.base.errors import ProfileError
from haloscope.profile.importing import kind_of_foreign

if TYPE_CHECKING:
    from haloscope.profile import Profile

# Suffixes of candidate files. Their content decides their kind.
FOREIGN_SUFFIXES = (".cali", ".mpiP", ".otf2")
_TIMES = ("mpi_time", "p2p_time", "coll_time", "rma_time", "io_time", "wait_time")
_COUNTS = {
    "sends": "sends_total",
    "bytes_sent": "bytes_sent_total",
    "colls": "colls_total",
    "coll_bytes": "coll_bytes_total",
    "rma_bytes": "rma_bytes_total",
    "io_bytes": "io_bytes_total",
}


def read_foreign_info(path: str) -> dict[str, Any]:
    """Return the run and its `rollup`, sums over its ranks, as in the `info` of our profiles.

    OTF2 archives are refused, because all their events would have to be read. Raises `ProfileError`.
    """
    from haloscope.profile import open as open_profile

    kind = kind_of_foreign(path)
    if kind is None:
        raise ProfileError(f"{path}: is not a file of Caliper, mpiP or OTF2")
    if kind == "otf2":
        raise ProfileError(
            f"{path}: history does not read OTF2 archives, as they may have many events; use haloscope show"
        )
    with open_profile(path) as profile:
        return {**profile.info, "rollup": _roll_up(profile)}


def _roll_up(profile: Profile) -> dict[str, Any]:
    """Return sums over the ranks of the whole program, without values that the tool does not record."""
    regions = profile.table("regions")
    if regions.is_empty():
        raise ProfileError(f"{profile.path}: has no regions")
    whole = regions.row(0, named=True)
    sums = {name: whole[column] for name, column in _COUNTS.items()}
    for name in ("time", *_TIMES):
        mean = whole[f"{name}_mean"]
        sums["rank_time" if name == "time" else name] = None if mean is None else mean * whole["ranks"]
    return {name: value for name, value in sums.items() if value is not None} | _sum_hosts(profile)


def _sum_hosts(profile: Profile) -> dict[str, Any]:
    ranks = profile.table("ranks", region="<program>").filter(pl.col("host").is_not_null())
    if ranks.is_empty() or ranks["compute_time"].null_count():
        return {}
    by_host = ranks.group_by("host", maintain_order=True).agg(pl.len(), pl.col("compute_time").mean())
    names, counts, compute = (by_host[name].to_list() for name in ("host", "len", "compute_time"))
    return {"hosts": len(names), "host_names": names, "host_ranks": counts, "host_compute": compute}
