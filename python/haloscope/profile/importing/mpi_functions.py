"""The kinds of MPI functions, with the recorder's classification."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import polars as pl

Family = Literal["p2p", "coll", "rma", "io", "other"]
FAMILIES: tuple[Family, ...] = ("p2p", "coll", "rma", "io", "other")

_COLLECTIVES = (
    "barrier|bcast|reduce|allreduce|scan|exscan|reduce_scatter|reduce_scatter_block|gather|gatherv|allgather"
    "|allgatherv|scatter|scatterv|alltoall|alltoallv|alltoallw|neighbor_allgather|neighbor_allgatherv"
    "|neighbor_alltoall|neighbor_alltoallv|neighbor_alltoallw"
)
_COLLECTIVE = re.compile(rf"({_COLLECTIVES})(_init)?|i({_COLLECTIVES})", re.IGNORECASE)
_POINT_TO_POINT = re.compile(
    r"[bsr]?send|i[bsr]?send|i?m?recv|i?sendrecv(_replace)?|i?m?probe|(wait|test)(all|any|some)?|start(all)?"
    r"|([bsr]?send|recv|psend|precv)_init|pready\w*|parrived|request_get_status|grequest\w*"
    r"|buffer_\w+|(comm|session)_(attach|detach|flush|iflush)_buffer",
    re.IGNORECASE,
)
_ONE_SIDED = re.compile(
    r"r?(put|get|accumulate|get_accumulate)|fetch_and_op|compare_and_swap|win_\w+", re.IGNORECASE
)
_WAITING = re.compile(
    rf"wait(all|any|some)?|[sr]?send|m?recv|sendrecv(_replace)?|m?probe|({_COLLECTIVES})"
    r"|(buffer|comm|session)_(detach|flush)\w*",
    re.IGNORECASE,
)


def call_name(name: str) -> str:
    """Return `MPI_Isend` for `Isend`, `MPI_Isend`, `PMPI_Isend` and `mpi_isend_`."""
    bare = re.sub(r"^p?mpi_", "", name.strip(), flags=re.IGNORECASE)
    bare = bare.rstrip("_") if bare.endswith("_") else bare
    return "MPI_" + (bare[:1].upper() + bare[1:])


def family_of(call: str) -> Family:
    """Return the kind of a function such as `MPI_Isend`."""
    bare = call.removeprefix("MPI_")
    if bare.lower().startswith("file_"):
        return "io"
    if _COLLECTIVE.fullmatch(bare):
        return "coll"
    if _POINT_TO_POINT.fullmatch(bare):
        return "p2p"
    return "rma" if _ONE_SIDED.fullmatch(bare) else "other"


def is_waiting(call: str) -> bool:
    """Return whether all time in a function counts as waiting (docs/reference/tables.md)."""
    return _WAITING.fullmatch(call.removeprefix("MPI_")) is not None


def kinds_of(calls: Iterable[str]) -> pl.DataFrame:
    """Return `call`, `family` and `waits` of each of the names, once."""
    names = sorted(set(calls))
    return pl.DataFrame(
        {
            "call": names,
            "family": [family_of(name) for name in names],
            "waits": [is_waiting(name) for name in names],
        },
        schema={"call": pl.String, "family": pl.String, "waits": pl.Boolean},
    )
