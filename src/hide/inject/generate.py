"""Generates the injector's wrappers, of those functions alone that it changes.

They send, complete or make communicators. Which functions an MPI has, and their signatures, the
recorder's generator knows; what a wrapper does is in families.hpp.

    generate.py HEADER.i OUTPUT_DIRECTORY      HEADER.i: the preprocessed mpi.h
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "watch"))

import pympistandard as standard
from families import COLLECTIVES, Meaning
from generate import (
    Procedure,
    call,
    declared_names,
    definition,
    parameter_list,
    procedures,
    real_header,
    short_name,
    status_parameter,
)

_SENDS = ("Send", "Bsend", "Ssend", "Rsend")
_MANY = "array_of_requests"
_SOME = f"incount, {_MANY}, outcount, array_of_indices, array_of_statuses"
# Who gets data: all, all but the root, or the root alone.
_GETS = {
    "Bcast": "Gets::others", "Scatter": "Gets::others", "Scatterv": "Gets::others",
    "Reduce": "Gets::root", "Gather": "Gets::root", "Gatherv": "Gets::root",
}  # fmt: skip
_CREATED = {
    "Cart_create": "comm_cart", "Graph_create": "comm_graph",
    "Dist_graph_create": "comm_dist_graph", "Dist_graph_create_adjacent": "comm_dist_graph",
    "Intercomm_create": "newintercomm", "Intercomm_merge": "newintracomm",
    **dict.fromkeys(
        ("Comm_dup", "Comm_dup_with_info", "Comm_split", "Comm_split_type", "Comm_create",
         "Comm_create_group", "Cart_sub"), "newcomm",
    ),
}  # fmt: skip


def _collectives() -> dict[str, Meaning]:
    found = {}
    for name in COLLECTIVES:
        gets = _GETS.get(name, "Gets::all")
        who = f"{gets}, {'0' if gets == 'Gets::all' else 'root'}, comm"
        found[name] = Meaning("collective", who)
        found["I" + name.lower()] = Meaning("post_collective", f"{who}, request")
        found[name + "_init"] = Meaning("init_collective", f"{who}, request")
    return found


FAMILIES = {
    **{name: Meaning("send", "dest, tag, comm") for name in _SENDS},
    **{"I" + name.lower(): Meaning("send", "dest, tag, comm") for name in _SENDS},
    **{name + "_init": Meaning("init_send", "dest, tag, comm, request") for name in _SENDS},
    "Recv": Meaning("receive", "comm, status", True),
    "Irecv": Meaning("post_receive", "comm, request"),
    "Recv_init": Meaning("init_receive", "comm, request"),
    "Sendrecv": Meaning("exchange", "dest, sendtag, comm, status", True),
    "Sendrecv_replace": Meaning("exchange", "dest, sendtag, comm, status", True),
    "Isendrecv": Meaning("post_exchange", "dest, sendtag, comm, request"),
    "Isendrecv_replace": Meaning("post_exchange", "dest, sendtag, comm, request"),
    "Probe": Meaning("probe", "comm, status", True),
    "Mprobe": Meaning("matched_probe", "comm, status", True),
    "Iprobe": Meaning("poll", "source, tag, comm, flag, status, nullptr", True),
    "Improbe": Meaning("poll", "source, tag, comm, flag, status, message", True),
    "Start": Meaning("start", "1, request"),
    "Startall": Meaning("start", f"count, {_MANY}"),
    "Request_free": Meaning("free_request", "request"),
    "Request_get_status": Meaning("peek", "request, flag, status", True),
    "Wait": Meaning("wait", "request, status", True),
    "Test": Meaning("test", "request, flag, status", True),
    "Waitall": Meaning("wait_all", f"count, {_MANY}, array_of_statuses", True),
    "Testall": Meaning("test_all", f"count, {_MANY}, flag, array_of_statuses", True),
    "Waitany": Meaning("wait_any", f"count, {_MANY}, index, status"),
    "Testany": Meaning("test_any", f"count, {_MANY}, index, flag, status"),
    "Waitsome": Meaning("wait_some", _SOME),
    "Testsome": Meaning("test_some", _SOME),
    **_collectives(),
    **{name: Meaning("make_communicator", new) for name, new in _CREATED.items()},
    "Comm_free": Meaning("free_communicator", "comm"),
    "Comm_disconnect": Meaning("free_communicator", "comm"),
    "Init": Meaning("initialize", ""),
    "Init_thread": Meaning("initialize", ""),
    "Finalize": Meaning("finalize", ""),
}


def wrapper(procedure: Procedure) -> str | None:
    """The function that stands before the library's, or None where there is nothing to do."""
    meaning = FAMILIES.get(short_name(procedure).removesuffix("_c"))
    if meaning is None:
        return None
    status = status_parameter(procedure) if meaning.takes_status else None
    parameter = f"MPI_Status *{status}" if status else ""
    arguments = f"{meaning.arguments}, " if meaning.arguments else ""
    body = (
        f"  ensure_resolved();\n"
        f"  return {meaning.family}({arguments}[&]({parameter}) {{ return {call(procedure)}; }});\n"
    )
    return definition("int", str(procedure.name), parameter_list(procedure), body)


def main() -> None:
    header, output = Path(sys.argv[1]), Path(sys.argv[2])
    standard.use_api_version()
    found = procedures(declared_names(header))
    if not any(short_name(p) == "Init" for p in found):
        sys.exit(f"generate.py: {header} declares no PMPI_Init: is it a preprocessed mpi.h?")
    (output / "real.hpp").write_text(real_header(list(found)))
    (output / "wrappers.cpp").write_text(
        '// Generated by generate.py.\n#include "families.hpp"\n'
        "using namespace haloscope::inject;\n"
        '#define HALOSCOPE_WRAPPER extern "C" __attribute__((visibility("default")))\n\n'
        + "\n".join(filter(None, map(wrapper, found)))
    )


if __name__ == "__main__":
    main()
