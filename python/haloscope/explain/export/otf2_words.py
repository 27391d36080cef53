"""OTF2's numbers of MPI operations and functions."""

from __future__ import annotations

import re
from collections.abc import Iterable

# OTF2_CollectiveOp of operations among all ranks of a communicator. Neighbourhood collectives have none: a
# reader would treat them as operations in which every rank waits for all.
_OPERATIONS = {
    "barrier": 0,
    "bcast": 1,
    "gather": 2,
    "gatherv": 3,
    "scatter": 4,
    "scatterv": 5,
    "allgather": 6,
    "allgatherv": 7,
    "alltoall": 8,
    "alltoallv": 9,
    "alltoallw": 10,
    "allreduce": 11,
    "reduce": 12,
    "reduce_scatter": 13,
    "scan": 14,
    "exscan": 15,
    "reduce_scatter_block": 16,
}
_HANDLES, _NO_HANDLES = 17, 18
_CREATES = re.compile(r"(comm_(i?dup|split|create|idup_with_info)|cart_|graph_|dist_graph_|intercomm_)")
# OTF2_RegionRole.
FUNCTION, _BARRIER, _ONE_TO_ALL, _ALL_TO_ONE, _ALL_TO_ALL, _OTHER = 1, 15, 23, 24, 25, 26
FILE, _POINT_TO_POINT, _ONE_SIDED = 27, 28, 29
_ROLES = {
    _BARRIER: ("barrier",),
    _ONE_TO_ALL: ("bcast", "scatter", "scatterv"),
    _ALL_TO_ONE: ("gather", "gatherv", "reduce"),
    _OTHER: ("scan", "exscan"),
}
_ROLE_OF = dict.fromkeys(_OPERATIONS, _ALL_TO_ALL)
_ROLE_OF |= {name: role for role, names in _ROLES.items() for name in names}
_MESSAGES = re.compile(
    r"i?[bsr]?send$|i?m?recv$|i?sendrecv(_replace)?$|wait(all|any|some)?$|test(all|any|some)?$"
    r"|i?m?probe$|start(all)?$|p(send|recv)$|pready|parrived$|request_free$|cancel$"
)
_WINDOWS = re.compile(r"win_|r?put$|r?get(_accumulate)?$|r?accumulate$|fetch_and_op$|compare_and_swap$")


def _base_operation(name: str) -> str:
    """Return the operation of a function: MPI_Iallreduce and MPI_Allreduce_init are `allreduce`."""
    word = name.removeprefix("MPI_").removesuffix("_init").removesuffix("_c").lower()
    return word[1:] if word[:1] == "i" and word[1:] in _OPERATIONS else word


def number_operations(names: Iterable[str]) -> dict[str, int]:
    """Return OTF2's numbers of the collective operations that it knows."""
    found = {}
    for name in names:
        base = _base_operation(name)
        if base in _OPERATIONS:
            found[name] = _OPERATIONS[base]
        elif _CREATES.match(base):
            found[name] = _HANDLES
        elif base in ("comm_free", "comm_disconnect"):
            found[name] = _NO_HANDLES
    return found


def find_role(function: str) -> int:
    """Return OTF2's role of an MPI function."""
    base = _base_operation(function)
    if base in _ROLE_OF:
        return _ROLE_OF[base]
    for pattern, role in ((_MESSAGES, _POINT_TO_POINT), (_WINDOWS, _ONE_SIDED)):
        if pattern.match(base):
            return role
    if base.startswith("file_"):
        return FILE
    return _OTHER if base.startswith(("neighbor_", "ineighbor_")) else FUNCTION
