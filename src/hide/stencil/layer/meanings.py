"""What the protocol layer does in each family of MPI functions: which C++ function gets what.

The arguments are parameter names of the standard; the C++ is in families.hpp.
"""

from completions import COMPLETIONS
from families import Meaning

NAMESPACE = "haloscope::stencil::layer"

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


# Those that answer in the library's place: their Fortran forms need all arguments in C.
ANSWERED = {
    **_sends(),
    "Recv": Meaning("receive", "buf, count, datatype, source, tag, comm, status", True),
    "Irecv": Meaning("post_receive", "buf, count, datatype, source, comm, false, request"),
    "Recv_init": Meaning("post_receive", "buf, count, datatype, source, comm, true, request"),
    "Mrecv": Meaning("receive_matched", "buf, count, datatype, status", True),
    "Imrecv": Meaning(
        "post_receive",
        "buf, count, datatype, MPI_ANY_SOURCE, MPI_COMM_WORLD, false, request",
    ),
    "Sendrecv": Meaning(
        "exchange",
        "sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, "
        "recvtag, comm, status",
        True,
    ),
    "Sendrecv_replace": Meaning(
        "exchange_in_place", "buf, count, datatype, dest, sendtag, source, comm, status", True
    ),
    "Isendrecv": Meaning(
        "post_exchange",
        "sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, comm, request",
    ),
    "Isendrecv_replace": Meaning(
        "post_exchange_in_place", "buf, count, datatype, dest, sendtag, source, comm, request"
    ),
    "Probe": Meaning("probe", "comm, status, nullptr"),
    "Mprobe": Meaning("probe", "comm, status, nullptr"),
    "Iprobe": Meaning("probe", "comm, status, flag"),
    "Improbe": Meaning("probe", "comm, status, flag"),
    "Start": Meaning("start", "1, request"),
    "Startall": Meaning("start", "count, array_of_requests"),
    "Cancel": Meaning("cancel", "request"),
    "Request_free": Meaning("free_request", "request"),
    **COMPLETIONS,
}

MEANINGS = {
    **ANSWERED,
    "Alloc_mem": Meaning("allocate", "size, baseptr"),
    "Free_mem": Meaning("deallocate", "base"),
    "Type_free": Meaning("free_type", ""),
    "Comm_free": Meaning("free_communicator", "comm"),
    "Init": Meaning("initialize", ""),
    "Init_thread": Meaning("initialize", ""),
    "Finalize": Meaning("finalize", ""),
}

# When a call goes on as if there were no layer.
UNTOUCHED = {
    **dict.fromkeys(_sends(), "sends_as_it_is(count, datatype)"),
    **dict.fromkeys(("Recv", "Irecv"), "receives_as_it_is(buf, count, datatype)"),
    "Wait": "completes_as_it_is(*request)",
    **dict.fromkeys(
        ("Start", "Startall", "Test", "Waitall", "Testall", "Waitany", "Testany", "Waitsome",
         "Testsome"), "knows_no_request()",
    ),
}  # fmt: skip

# … and when a receive below the threshold is all there is to it.
_TARGET = "Target{buf, count, datatype, comm}"
SHORT = {
    "Recv": (
        "receives_small(buf, count, datatype)",
        Meaning("complete_small", f"{_TARGET}, status", True),
    ),
    "Irecv": (
        "posts_small(buf, count, datatype, source)", Meaning("post_small", f"{_TARGET}, request"),
    ),
    "Wait": (
        "completes_small(*request)", Meaning("wait_small", "*request, status", True),
    ),
}  # fmt: skip
