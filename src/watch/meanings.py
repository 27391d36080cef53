"""What each family of MPI functions means: which C++ function (families.hpp) gets which arguments.

The arguments are parameter names of the standard. Large-count twins (``_c``) share the entry.
"""

import re

from functions import COLLECTIVES, SENDS
from recording import Recording
from wrappers import Meaning


def _blocking_p2p() -> dict[str, Meaning]:
    sends = {name: Meaning("send", "count, datatype, dest, comm") for name in SENDS}
    return sends | {
        "Bsend": Meaning("send_buffered", "count, datatype, dest, comm"),
        "Recv": Meaning("receive", "count, datatype, source, comm, status", True),
        "Mrecv": Meaning("receive_matched", "message, status", True),
        "Sendrecv": Meaning("exchange", "sendcount, sendtype, dest, comm, status", True),
        "Sendrecv_replace": Meaning("exchange", "count, datatype, dest, comm, status", True),
        "Probe": Meaning("probe", "comm"),
        "Mprobe": Meaning("probe_matched", "comm, message, nullptr"),
        "Iprobe": Meaning("poll_for", "flag"),
        "Improbe": Meaning("probe_matched", "comm, message, flag"),
    }


_POST = "count, datatype, dest, comm, request"
_PARTITIONS = "static_cast<MPI_Count>(partitions) * count, datatype, {}, comm, request"


def _pending_p2p() -> dict[str, Meaning]:
    posts = {"I" + name.lower(): Meaning("post_send", _POST) for name in SENDS}
    inits = {name + "_init": Meaning("init_send", _POST) for name in SENDS}
    receive = "count, datatype, source, comm, request"
    return (
        posts
        | inits
        | {
            "Irecv": Meaning("post_receive", receive),
            "Recv_init": Meaning("init_receive", receive),
            "Imrecv": Meaning("post_receive_matched", "count, datatype, message, request"),
            "Isendrecv": Meaning(
                "post_exchange", "sendcount, sendtype, dest, recvcount, recvtype, source, comm, request"
            ),
            "Isendrecv_replace": Meaning(
                "post_exchange", "count, datatype, dest, count, datatype, source, comm, request"
            ),
            "Start": Meaning("start", "1, request"),
            "Startall": Meaning("start", "count, array_of_requests"),
            "Psend_init": Meaning("init_send", _PARTITIONS.format("dest")),
            "Precv_init": Meaning("init_partitioned_receive", _PARTITIONS.format("source")),
            "Request_free": Meaning("free_request", "request"),
            "Cancel": Meaning("cancel", "request"),
            "Parrived": Meaning("poll_for", "flag"),
        }
    )


def _completion() -> dict[str, Meaning]:
    many, statuses = "array_of_requests", "array_of_statuses"
    some = f"incount, {many}, outcount, array_of_indices, {statuses}"
    tests = {
        "_all": Meaning("test_all", f"count, {many}, flag, {statuses}", True),
        "_any": Meaning("test_any", f"count, {many}, index, flag, status", True),
        "_some": Meaning("test_some", some, True),
    }
    return {
        "Wait": Meaning("wait", "request, status", True),
        "Test": Meaning("test", "request, flag, status", True),
        "Waitall": Meaning("wait_all", f"count, {many}, {statuses}", True),
        "Waitany": Meaning("wait_any", f"count, {many}, index, status", True),
        "Waitsome": Meaning("wait_some", some, True),
        # A request that the program has seen complete counts then; it is not freed.
        "Request_get_status": Meaning("test", "&request, flag, status", True),
        **{f"Test{end.removeprefix('_')}": test for end, test in tests.items()},
        **{f"Request_get_status{end}": test for end, test in tests.items()},
    }


# A collective's bytes on a rank: a member of Collective (collectives.hpp). design.md, section 5.
_REDUCE = "all(count, datatype)"
_SIZES = {
    "Barrier": "nothing()",
    "Bcast": "broadcast(count, datatype, root)",
    "Reduce": "reduce(count, datatype, root)",
    "Allreduce": _REDUCE,
    "Scan": _REDUCE,
    "Exscan": _REDUCE,
    "Reduce_scatter": "each_of(recvcounts, datatype)",
    "Reduce_scatter_block": "each(recvcount, datatype)",
    "Gather": "gather(sendbuf, sendcount, sendtype, recvcount, recvtype, root)",
    "Gatherv": "gather_v(sendbuf, sendcount, sendtype, recvcounts, recvtype, root)",
    "Allgather": "contribution(sendbuf, sendcount, sendtype, recvcount, recvtype)",
    "Allgatherv": "contribution_v(sendbuf, sendcount, sendtype, recvcounts, recvtype)",
    "Scatter": "scatter(sendcount, sendtype, root)",
    "Scatterv": "scatter_v(sendcounts, sendtype, root)",
    "Alltoall": "exchange(sendbuf, sendcount, sendtype, recvcount, recvtype)",
    "Alltoallv": "exchange_v(sendbuf, sendcounts, sendtype, recvcounts, recvtype)",
    "Alltoallw": "exchange_v(sendbuf, sendcounts, sendtypes, recvcounts, recvtypes)",
    "Neighbor_allgather": "neighbors(sendcount, sendtype, recvcount, recvtype)",
    "Neighbor_allgatherv": "neighbors(sendcount, sendtype, recvcounts, recvtype)",
    "Neighbor_alltoall": "neighbors(sendcount, sendtype, recvcount, recvtype)",
    "Neighbor_alltoallv": "neighbors(sendcounts, sendtype, recvcounts, recvtype)",
    "Neighbor_alltoallw": "neighbors(sendcounts, sendtypes, recvcounts, recvtypes)",
}


def _collectives() -> dict[str, Meaning]:
    found = {}
    for name in COLLECTIVES:
        size = f"comm, [&](const Collective &collective) {{ return collective.{_SIZES[name]}; }}"
        found[name] = Meaning("collective", size)
        found["I" + name.lower()] = Meaning("post_collective", f"{size}, request")
        found[name + "_init"] = Meaning("init_collective", f"{size}, request")
    return found


_RMA = ("Put", "Get", "Accumulate", "Get_accumulate")


def _one_sided() -> dict[str, Meaning]:
    found = {name: Meaning("one_sided", "origin_count, origin_datatype, target_rank") for name in _RMA}
    for name in _RMA:
        found["R" + name.lower()] = Meaning(
            "post_one_sided", "origin_count, origin_datatype, target_rank, request"
        )
    # With MPI_NO_OP the origin may be null, so the fetched data count.
    for prefix, family, end in (("G", "one_sided", ""), ("Rg", "post_one_sided", ", request")):
        found[prefix + "et_accumulate"] = Meaning(family, f"result_count, result_datatype, target_rank{end}")
    for name in ("Fetch_and_op", "Compare_and_swap"):
        found[name] = Meaning("one_sided", "1, datatype, target_rank")
    return found


def _files() -> dict[str, Meaning]:
    places = ("", "_at", "_all", "_at_all", "_shared", "_ordered")
    found = {}
    for place in places:
        found[f"File_write{place}"] = Meaning("file_write", "count, datatype")
        found[f"File_iwrite{place}"] = Meaning("post_file_write", "count, datatype, request")
        # Files end: the status has the bytes.
        found[f"File_read{place}"] = Meaning("file_read", "status", True)
        found[f"File_iread{place}"] = Meaning("post_file_read", "count, datatype, request")
    for place in ("_all", "_at_all", "_ordered"):
        found[f"File_write{place}_begin"] = Meaning("file_write", "count, datatype")
        found[f"File_read{place}_begin"] = Meaning("begin_file_read", "")
        found[f"File_read{place}_end"] = Meaning("end_file_read", "status", True)
    return found


_CONSTRUCTORS = {
    "Comm_dup": "dup",
    "Comm_dup_with_info": "dup",
    "Comm_idup": "dup",
    "Comm_idup_with_info": "dup",
    "Comm_split": "split",
    "Comm_split_type": "split_type",
    "Comm_create": "create",
    "Comm_create_group": "create",
    "Cart_sub": "sub",
    "Cart_create": "cart",
    "Graph_create": "graph",
    "Dist_graph_create": "graph",
    "Dist_graph_create_adjacent": "graph",
    "Intercomm_create": "inter",
    "Intercomm_merge": "merge",
}
# Where the standard's parameters have other names than comm and newcomm.
_PARENTS = {
    "Cart_create": "comm_old, comm_cart",
    "Graph_create": "comm_old, comm_graph",
    "Dist_graph_create": "comm_old, comm_dist_graph",
    "Dist_graph_create_adjacent": "comm_old, comm_dist_graph",
    "Intercomm_create": "local_comm, newintercomm",
    "Intercomm_merge": "intercomm, newintracomm",
}


def _communicators() -> dict[str, Meaning]:
    found = {}
    for name, text in _CONSTRUCTORS.items():
        pending = "request" if name.startswith("Comm_idup") else "nullptr"
        arguments = f'{_PARENTS.get(name, "comm, newcomm")}, "{text}", {pending}'
        found[name] = Meaning("make_communicator", arguments)
    found["Comm_create_from_group"] = Meaning("make_from_groups", "newcomm, stringtag")
    found["Intercomm_create_from_groups"] = Meaning("make_from_groups", "newintercomm, stringtag")
    found["Comm_free"] = Meaning("free_communicator", "comm")
    found["Comm_disconnect"] = Meaning("free_communicator", "comm")
    found["Comm_set_name"] = Meaning("name_communicator", "comm, comm_name")
    return found


_MEANINGS = {
    **_blocking_p2p(),
    **_pending_p2p(),
    **_completion(),
    **_collectives(),
    **_one_sided(),
    **_files(),
    **_communicators(),
    "Type_free": Meaning("free_datatype", ""),
    "Init": Meaning("initialize", ""),
    "Init_thread": Meaning("initialize", ""),
    "Finalize": Meaning("finalize", ""),
    "Session_init": Meaning("begin_session", ""),
    "Session_finalize": Meaning("end_session", ""),
    "Pcontrol": Meaning("control", "level"),
}

LIBRARY = Recording(
    meanings=_MEANINGS,
    ignored=frozenset(
        {"Initialized", "Finalized", "Get_count", "Get_elements", "Get_elements_x", "Comm_rank"}
        | {"Comm_size", "Type_size", "Test_cancelled", "Get_address", "Status_set_cancelled"}
    ),
    categories=(
        (r"File_", "Category::io"),
        (r"Win_", "Category::one_sided"),
        # They return when all messages have left the buffer.
        (r"(Buffer|Comm|Session)_(detach|flush)", "Category::p2p_wait"),
        (r"(Pready|Grequest|Buffer_|(Comm|Session)_(attach|iflush)_)", "Category::p2p"),
    ),
    # What the program says is an operation, and memory of others that it reads and writes itself.
    # All else that has no family moves none, or only prepares (Pack, Buffer_attach, Comm_spawn) or
    # ends (File_read_all_end, Win_fence) what counts elsewhere.
    unaccounted=re.compile(r"Grequest_start|Win_allocate_shared|Win_shared_query"),
    # An extension that the standard does not know moves data, unless its name says otherwise.
    harmless_extensions=re.compile(
        r"query|Query|get_|errhandler|Info_|Type_iov|Op_create|Delete_error|_is_complete|progress"
        r"|Stream_(comm_)?(create|free)|Async_|Threadcomm_|test_threadcomm|class_create|failure_ack"
        r"|Comm_(revoke|shrink)|Win_(create|free|set)_notify"
    ),
)
