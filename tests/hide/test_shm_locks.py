"""Under its lock the shm library calls no blocking function of MPI, and no error handler."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.mpi import CHECKOUT

FOLDER = CHECKOUT / "src" / "hide" / "shm"
SOURCES = sorted([*FOLDER.glob("*.hpp"), *FOLDER.glob("*.cpp")])
_COLLECTIVE = "Barrier|Bcast|Allreduce|Reduce|Allgather|Alltoall|Gather|Scatter|Comm_dup|Comm_split"
BLOCKING = re.compile(
    rf"(?:next|real)\.((?:Wait\w*|Recv|Mrecv|Send|Ssend|Rsend|Sendrecv\w*|Probe|Mprobe|{_COLLECTIVE}"
    r")\w*)\("
)
# Calls in MPI_Init and MPI_Finalize, where there is no lock, and a message of a rank to itself.
ALLOWED = {
    "shm_library.cpp": {"Allreduce", "Barrier"},
    "node.cpp": {"Allreduce", "Bcast", "Allgather", "Barrier", "Comm_split_type"},
    "ahead.cpp": {"Allreduce", "Alltoall", "Comm_dup"},
    "receiving.cpp": {"Sendrecv"},
}
# Functions that may wait for another rank or thread.
WAITS = "finish poll_until_done wait_until_ready wait_for waits receives receive_by_mpi raise waiting".split()
# Functions that get a blocking MPI call as an argument.
GIVEN = set(
    """
    send receive receive_by_mpi receive_matched exchange exchange_copy exchange_in_place wait wait_all
    wait_any wait_some wait_for await_probe block complete_small wait_small
    """.split()
)
_NAMED = re.compile(r"\b(\w+)\([^()]*(?:\([^()]*\)[^()]*)*\)\s*(?:const\s*)?(?:noexcept\s*)?$")


def locked(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text of each statement under the lock, with the name of its function."""
    text = re.sub(r"//[^\n]*", "", text)
    depth, function = 0, ""
    held: list[int] = []
    for piece in re.split(r"([{};])", text):
        if piece == "{":
            depth += 1
        elif piece == "}":
            depth -= 1
            held = [at for at in held if at <= depth]
        else:
            named = _NAMED.findall(piece)
            if named and depth <= 1:
                function = named[0]
            if re.search(r"\bconst Lock lock$", piece.strip()):
                held.append(depth)
            elif held and piece.strip() not in ("", ";"):
                yield function, piece


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_call_under_the_lock_blocks(path: Path) -> None:
    text = path.read_text()
    found = set(BLOCKING.findall(text)) - {"Send_init", "Recv_init"}
    assert found <= ALLOWED.get(path.name, set())
    for function, piece in locked(text):
        called = set(re.findall(r"(?<![\w.>])(\w+)\(", piece)) | set(re.findall(r"\.(raised)\(", piece))
        assert not called & set(WAITS), f"{function}: {piece.strip()}"
        assert "call" not in called or function not in GIVEN, f"{function}: {piece.strip()}"


def test_the_check_finds_blocking_calls() -> None:
    text = """
template <class Call> int receive(void *buffer, Call &&call) {
  if (buffer == nullptr) {
    const Lock lock;
    if (!provide(buffer)) return call(given);
  }
  return call(given);
}
"""
    assert [(name, piece.strip()) for name, piece in locked(text)] == [
        ("receive", "if (!provide(buffer)) return call(given)")
    ]
    assert BLOCKING.findall("next.Wait(&x); real.Barrier(c); next.Irecv(a)") == ["Wait", "Barrier"]
