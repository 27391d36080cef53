"""What the shm library does in each family of MPI functions: which C++ function gets what.

The arguments are parameter names of the standard; the C++ is in families.hpp.
"""

from changing import COMPLETIONS, Changing
from functions import COLLECTIVES
from wrappers import Meaning

_MODES = {"Send": "standard", "Bsend": "buffered", "Ssend": "synchronous", "Rsend": "ready"}
_MESSAGE = "buf, count, datatype, dest, tag, comm"


def _sends() -> dict[str, Meaning]:
    found = {}
    for name, mode in _MODES.items():
        arguments = f"Mode::{mode}, {_MESSAGE}"
        found[name] = Meaning("send", arguments)
        found["I" + name.lower()] = Meaning("post_send", f"{arguments}, request")
        found[name + "_init"] = Meaning("init_send", f"{arguments}, request")
    return found


_ANSWERED = {
    **_sends(),
    "Recv": Meaning("receive", "buf, count, datatype, source, tag, comm, status", True),
    "Irecv": Meaning("post_receive", "buf, count, datatype, source, comm, false, request"),
    "Recv_init": Meaning("post_receive", "buf, count, datatype, source, comm, true, request"),
    "Mrecv": Meaning("receive_matched", "buf, count, datatype, message, status", True),
    "Imrecv": Meaning("post_receive", "buf, count, datatype, MPI_ANY_SOURCE, MPI_COMM_WORLD, false, request"),
    "Sendrecv": Meaning(
        "exchange",
        "sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, "
        "recvtag, comm, status",
        True,
    ),
    "Sendrecv_replace": Meaning(
        "exchange_in_place", "buf, count, datatype, dest, sendtag, source, recvtag, comm, status", True
    ),
    "Isendrecv": Meaning(
        "post_exchange",
        "sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, comm, request",
    ),
    "Isendrecv_replace": Meaning(
        "post_exchange_in_place", "buf, count, datatype, dest, sendtag, source, comm, request"
    ),
    "Probe": Meaning(
        "await_probe",
        "comm, status, [&](int *found) { return next.Iprobe(source, tag, comm, found, status); }",
    ),
    "Mprobe": Meaning(
        "await_probe",
        "comm, status, [&](int *found) { return next.Improbe(source, tag, comm, found, message, status); }",
    ),
    "Iprobe": Meaning("probe", "comm, status, flag"),
    "Improbe": Meaning("probe", "comm, status, flag"),
    "Start": Meaning("start", "1, request"),
    "Startall": Meaning("start", "count, array_of_requests"),
    "Cancel": Meaning("cancel", "request"),
    "Request_free": Meaning("free_request", "request"),
    **COMPLETIONS,
}

# They wait for other ranks, and there is nothing that could be asked in their place: a collective's
# twin that does not block matches its twins only.
_BLOCKING = (
    *COLLECTIVES,
    "Comm_dup",
    "Comm_dup_with_info",
    "Comm_split",
    "Comm_split_type",
    "Comm_create",
    "Cart_create",
    "Cart_sub",
    "Graph_create",
    "Dist_graph_create",
    "Dist_graph_create_adjacent",
    "Intercomm_create",
    "Intercomm_merge",
    "Win_create",
    "Win_allocate",
    "Win_allocate_shared",
    "Win_create_dynamic",
    "Win_free",
    "Win_fence",
    "Win_start",
    "Win_complete",
    "Win_wait",
    "Win_lock",
    "Win_unlock",
    "Win_lock_all",
    "Win_unlock_all",
    "Win_flush",
    "Win_flush_all",
    "File_open",
    "File_close",
    "File_set_view",
    "File_set_size",
    "File_sync",
    "File_read_all",
    "File_write_all",
    "File_read_at_all",
    "File_write_at_all",
    "File_read_ordered",
    "File_write_ordered",
)

_MEANINGS = {
    **dict.fromkeys(_BLOCKING, Meaning("block", "")),
    **_ANSWERED,
    "Alloc_mem": Meaning("allocate", "size, baseptr"),
    "Free_mem": Meaning("deallocate", "base"),
    "Type_free": Meaning("free_type", ""),
    "Comm_free": Meaning("free_communicator", "comm"),
    "Init": Meaning("initialize", ""),
    "Init_thread": Meaning("initialize", ""),
    "Finalize": Meaning("finalize", ""),
}

# When a call goes on as if there were no shm.
_UNTOUCHED = {
    **dict.fromkeys(_sends(), "posts_as_it_is(count, datatype)"),
    **dict.fromkeys(("Send", "Ssend", "Rsend"), "sends_as_it_is(count, datatype)"),
    "Recv": "receives_as_it_is(buf, count, datatype)",
    "Irecv": "posts_receive_as_it_is(buf, count, datatype)",
    "Wait": "completes_as_it_is(*request)",
    **dict.fromkeys(("Start", "Startall", "Test", "Testall", "Testany", "Testsome"), "knows_no_request()"),
    **dict.fromkeys(("Waitall", "Waitany", "Waitsome"), "waits_for_none()"),
    **dict.fromkeys(_BLOCKING, "waits_as_it_is()"),
}

# … and when a receive below the threshold is all there is to it.
_TARGET = "Target{buf, count, datatype, comm}"
_SHORT = {
    "Recv": ("receives_small(buf, count, datatype)", Meaning("complete_small", f"{_TARGET}, status", True)),
    "Irecv": ("posts_small(buf, count, datatype, source)", Meaning("post_small", f"{_TARGET}, request")),
    "Wait": ("completes_small(*request)", Meaning("wait_small", "*request, status", True)),
}

LIBRARY = Changing("haloscope::shm", _MEANINGS, _ANSWERED, _UNTOUCHED, _SHORT)
