"""What the injector does in each family of MPI functions: which C++ function gets which arguments.

The arguments are parameter names of the standard; the C++ is in families.hpp and windows.hpp.
"""

from changing import COMPLETIONS, Changing
from functions import COLLECTIVES, SENDS
from wrappers import Meaning

# Who gets data: all, all but the root, or the root alone.
_GETS = {
    "Bcast": "Gets::others",
    "Scatter": "Gets::others",
    "Scatterv": "Gets::others",
    "Reduce": "Gets::root",
    "Gather": "Gets::root",
    "Gatherv": "Gets::root",
}
_CREATED = {
    "Cart_create": "comm_cart",
    "Graph_create": "comm_graph",
    "Dist_graph_create": "comm_dist_graph",
    "Dist_graph_create_adjacent": "comm_dist_graph",
    "Intercomm_create": "newintercomm",
    "Intercomm_merge": "newintracomm",
    "Comm_spawn": "intercomm",
    "Comm_spawn_multiple": "intercomm",
    "Comm_join": "intercomm",
    **dict.fromkeys(
        (
            "Comm_dup",
            "Comm_dup_with_info",
            "Comm_split",
            "Comm_split_type",
            "Comm_create",
            "Comm_create_group",
            "Cart_sub",
            "Comm_accept",
            "Comm_connect",
        ),
        "newcomm",
    ),
}


def _collectives() -> dict[str, Meaning]:
    found = {}
    for name in COLLECTIVES:
        gets = "Gets::neighbors" if name.startswith("Neighbor") else _GETS.get(name, "Gets::all")
        who = f"{gets}, {'root' if name in _GETS else '0'}, comm"
        found[name] = Meaning("collective", who)
        found["I" + name.lower()] = Meaning("post_collective", f"{who}, request")
        found[name + "_init"] = Meaning("init_collective", f"{who}, request")
    return found


def _one_sided() -> dict[str, Meaning]:
    """One-sided operations, and the rank of the target or all after which they are complete."""
    found = {}
    for name in ("Win_create", "Win_create_dynamic", "Win_allocate", "Win_allocate_shared"):
        found[name] = Meaning("make_window", "comm, win")
    for name in ("Put", "Accumulate"):
        found[name] = Meaning("one_sided", "Access::puts, target_rank, win")
        found["R" + name.lower()] = found[name]
    for name in ("Get", "Get_accumulate", "Fetch_and_op", "Compare_and_swap"):
        found[name] = Meaning("one_sided", "Access::gets, target_rank, win")
    for name in ("Rget", "Rget_accumulate"):
        found[name] = Meaning("post_get", "target_rank, win, request")
    for name in ("Win_fence", "Win_complete", "Win_unlock_all", "Win_flush_all"):
        found[name] = Meaning("complete_access", "Access::puts, every_target, win")
    for name in ("Win_unlock", "Win_flush"):
        found[name] = Meaning("complete_access", "Access::puts, rank, win")
    found["Win_flush_local"] = Meaning("complete_access", "Access::gets, rank, win")
    found["Win_flush_local_all"] = Meaning("complete_access", "Access::gets, every_target, win")
    found["Win_free"] = Meaning("free_window", "win")
    return found


def _partitioned() -> dict[str, Meaning]:
    return {
        "Psend_init": Meaning("init_partitioned", "true, partitions, dest, tag, comm, request"),
        "Precv_init": Meaning("init_partitioned", "false, partitions, source, tag, comm, request"),
        "Pready": Meaning("ready", "partition, partition, request"),
        "Pready_range": Meaning("ready", "partition_low, partition_high, request"),
        "Pready_list": Meaning("ready", "array_of_partitions, length, request"),
    }


# What a poll asks the library for is not always what the program does.
_ASKED = "int source, int tag, "
_ANSWERED = {
    "Iprobe": Meaning("poll", "source, tag, comm, flag, status, nullptr", True, _ASKED),
    "Improbe": Meaning("poll", "source, tag, comm, flag, status, message", True, _ASKED),
    "Parrived": Meaning("arrived", "request, partition, flag"),
    "Request_free": Meaning("free_request", "request"),
    **COMPLETIONS,
}

_MEANINGS = {
    **_ANSWERED,
    **{name: Meaning("send", "dest, tag, comm") for name in SENDS},
    **{"I" + name.lower(): Meaning("post_send", "dest, tag, comm") for name in SENDS},
    **{name + "_init": Meaning("init_send", "dest, tag, comm, request") for name in SENDS},
    "Recv": Meaning("receive", "comm, status", True),
    "Irecv": Meaning("post_receive", "source, tag, comm, request"),
    "Recv_init": Meaning("init_receive", "source, tag, comm, request"),
    "Sendrecv": Meaning("exchange", "dest, sendtag, comm, status", True),
    "Sendrecv_replace": Meaning("exchange", "dest, sendtag, comm, status", True),
    "Isendrecv": Meaning("post_exchange", "dest, sendtag, source, recvtag, comm, request"),
    "Isendrecv_replace": Meaning("post_exchange", "dest, sendtag, source, recvtag, comm, request"),
    "Probe": Meaning("probe", "comm, status", True),
    "Mprobe": Meaning("matched_probe", "comm, status", True),
    "Start": Meaning("start", "1, request"),
    "Startall": Meaning("start", "count, array_of_requests"),
    "Cancel": Meaning("cancel", "request"),
    **_partitioned(),
    **_collectives(),
    **_one_sided(),
    **{name: Meaning("make_communicator", new) for name, new in _CREATED.items()},
    "Comm_idup": Meaning("duplicate_later", "comm, newcomm, request"),
    "Comm_idup_with_info": Meaning("duplicate_later", "comm, newcomm, request"),
    "Comm_create_from_group": Meaning("make_from_group", "newcomm"),
    "Intercomm_create_from_groups": Meaning("make_communicator", "newintercomm"),
    "Comm_free": Meaning("free_communicator", "comm"),
    "Comm_disconnect": Meaning("free_communicator", "comm"),
    "Init": Meaning("initialize", ""),
    "Init_thread": Meaning("initialize", ""),
    "Finalize": Meaning("finalize", ""),
    "Abort": Meaning("abort_all", ""),
    "Session_init": Meaning("begin_session", ""),
    "Session_finalize": Meaning("end_session", ""),
}

LIBRARY = Changing("haloscope::inject", _MEANINGS, _ANSWERED)
