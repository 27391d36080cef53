"""Where the buffers of a call lie: the C++ expressions that ask for it, of the parameters of a function.

They are in the wrapper itself, and are evaluated only in a process that has a GPU's runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

__all__ = ["has_buffer", "memories"]

# A buffer and its datatype, in the order of the search. Sent data count; of MPI_Get_accumulate, fetched data.
_BUFFERS = (
    ("result_addr", ("result_datatype",)),
    ("sendbuf", ("sendtype", "sendtypes", "datatype")),
    ("buffer", ("datatype",)),
    ("buf", ("datatype",)),
    ("origin_addr", ("origin_datatype", "datatype")),
)
# The buffer in use if the first is MPI_IN_PLACE or not significant.
_OTHERS = (
    ("recvbuf", ("recvtype", "recvtypes", "datatype")),
    ("origin_addr", ("origin_datatype",)),
    ("result_addr", ("datatype",)),
)
# Functions whose buffer is filled: nothing was copied there to be sent. The rest reads it.
_FILLING = ("Recv", "Irecv", "Mrecv", "Imrecv", "Precv", "Get", "Rget", "File_read", "File_iread")


def _found(among: Sequence[tuple[str, tuple[str, ...]]], parameters: Sequence[str]) -> tuple[str, str] | None:
    for buffer, types in among:
        datatype = next((t for t in types if t in parameters), None)
        if buffer in parameters and datatype is not None:
            return buffer, datatype
    return None


def has_buffer(parameters: Sequence[str]) -> bool:
    """Return whether a function with these parameters names memory that it moves."""
    return _found(_BUFFERS, parameters) is not None


def memories(
    name: str,
    parameters: Sequence[str],
    address: Callable[[str], str] = str,
    datatype: Callable[[str, str], str] | None = None,
) -> dict[str, str]:
    """Return the fields of an Invocation that say where the buffers lie, as C++.

    `address` and `datatype` give the C++ of a buffer, and of the datatype of a buffer, by their names.
    """
    first, other = _found(_BUFFERS, parameters), _found(_OTHERS, parameters)
    if first is None:
        return {}

    def pair(of: tuple[str, str]) -> str:
        buffer, kind = of
        if datatype is not None:
            return f"{address(buffer)}, {datatype(buffer, kind)}"
        if kind.endswith("types"):
            kind = f"first_type({buffer}, {kind.replace('types', 'counts')}, {kind})"
        return f"{address(buffer)}, {kind}"

    def asked(use: str, of: str, otherwise: tuple[str, str] | None = None) -> str:
        second = "nullptr, MPI_DATATYPE_NULL" if otherwise is None else pair(otherwise)
        return f"may_be_device() ? ask_memory(BufferUse::{use}, {of}, {second}) : Memory::host"

    use = "writes" if name.startswith(_FILLING) and "Get_accumulate" not in name else "reads"
    if "sendrecv" in name.lower():
        into = _found(_OTHERS, parameters) or first
        return {"memory": asked("reads", pair(first)), "into": asked("writes", pair(into))}
    if name.startswith(("Scatter", "Iscatter")):  # only the root's is significant
        buffer, kind = first
        sent = f"sent_by_root({address(buffer)}, root, comm)"
        kind = datatype(buffer, kind) if datatype is not None else kind
        return {"memory": asked("reads", f"{sent}, {kind}", other)}
    return {"memory": asked(use, pair(first), None if other is not None and other[0] == first[0] else other)}
