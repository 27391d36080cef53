"""Calls and states of ranks in words."""

from __future__ import annotations

from haloscope.watch.live import ANY, Call, Process

_STATES = {"running": "computing", "stopped": "stopped by a signal"}


def state_text(process: Process) -> str:
    """Return the state of a process outside MPI; '' if unknown."""
    return _STATES.get(process.state, process.state)


def call_text(call: Call) -> str:
    """Return a call in words: `in MPI_Recv from 7, tag 3, on MPI_COMM_WORLD`."""
    parts = [f"in {call.function}"]
    preposition = {"send": "to", "exchange": "to", "receive": "from", "one_sided": "on", "requests": "with"}
    if call.what == "collective" and call.partner is not None:
        parts[0] += f" of root {call.partner}"
    elif call.what == "requests" and call.count > 1:
        parts[0] += f" for {call.count} requests"
        if call.partner is not None:
            parts.append(f"the first with {_rank_text(call.partner)}")
    elif call.what in preposition and call.partner is not None:
        parts[0] += f" {preposition[call.what]} {_rank_text(call.partner)}"
    if call.what == "exchange" and call.source is not None:
        parts.append(f"from {_rank_text(call.source)}")
    if call.tag is not None:
        parts.append(f"tag {'any' if call.tag == ANY else call.tag}")
    if call.communicator is not None and call.communicator.name:
        if len(parts) > 1:
            parts.append(f"on {call.communicator.name}")
        else:
            parts[0] += f" on {call.communicator.name}"
    return ", ".join(parts)


def _rank_text(rank: int) -> str:
    return "any rank" if rank == ANY else str(rank)
