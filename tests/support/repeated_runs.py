"""Repetitions of one synthetic run: equal counts, and times that scatter as on real machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.profiles import Draft, draft, path_rows, process_rows

# Seconds of two ranks in regions of their own, and how much of that is in MPI.
_OWN = {0: (0.05, 0.0), 1: (0.6, 0.0), 2: (0.3, 0.9), 3: (0.05, 0.5)}
_TAIL, _TAIL_MEAN = 0.1, 3.0  # one run in ten is disturbed, by so many spreads on average


def repeated_run(
    random: np.random.Generator,
    spread: float = 0.02,
    slower: float = 1.0,
    *,
    messages: int = 400,
    size: int = 4608,
    partner: int = 1,
    on_device: int | None = None,
    **info: Any,
) -> Draft:
    """Return a run of `<program>` > solve > halo, and `<program>` > output, on two ranks.

    Each region's time is `slower` times as long as usual and scatters by `spread`, half of which all regions
    share. In halo rank 0 sends `messages` of `size` to `partner`, `on_device` of them from a GPU's memory; if
    that is None, the file is of before recorders knew that.
    """
    shared = random.normal(0, spread) + (random.random() < _TAIL) * random.exponential(_TAIL_MEAN * spread)
    own = {
        path: time * slower * np.exp(0.5 * shared + random.normal(0, spread / 2))
        for path, (time, _) in _OWN.items()
    }
    inclusive = {**own, 1: own[1] + own[2], 0: sum(own.values())}
    found = draft(
        {"program": "app", "version": "0.1.0", **info},
        paths=path_rows("solve", "solve/halo", "output"),
        processes=process_rows("alpha", "alpha"),
        ranks=[
            _row(path, rank, inclusive[path], own[path], messages, size) for path in _OWN for rank in (0, 1)
        ],
        partners=[
            {"path": 2, "rank": 0, "partner": partner, "sends": messages, "bytes_sent": messages * size},
            {"path": 2, "rank": 1, "partner": 0, "recvs": messages, "bytes_recv": messages * size},
        ],
        calls=[
            {"path": 2, "call": "MPI_Isend", "calls": messages, "bytes": messages * size, "time_total": 0.1},
            {"path": 2, "call": "MPI_Waitall", "calls": messages, "time_total": 0.4},
            # How often it is polled is chance.
            {"path": 2, "call": "MPI_Test", "calls": int(random.integers(1, 1000)), "time_total": 0.01},
        ],
        sizes=[{"path": 2, "kind": "p2p", "bytes": size, "bytes_upper": size, "messages": messages}],
        collectives=[{"path": 3, "operation": "Allreduce", "comm_size": 2, "bytes": 8, "calls": 6}],
        communicators=[{"name": "MPI_COMM_WORLD", "size": 2, "ranks": 2, "calls": 12}],
    )
    if on_device is not None:
        _divide(found, on_device)
    return found


def _divide(found: Draft, on_device: int) -> None:
    """Make two rows of the first one of calls and of sizes, of which one is about a GPU's memory."""
    found.version = (1, 4)
    for name, counts, others in (("calls", "calls", ["", ""]), ("sizes", "messages", [])):
        table = {column: [values[0], *values] for column, values in found.tables[name].items()}
        table[counts][:2] = [table[counts][0] - on_device, on_device]
        found.tables[name] = {**table, "memory": ["host", "device", *others]}


def _row(path: int, rank: int, inclusive: float, own: float, messages: int, size: int) -> dict[str, Any]:
    row = {"path": path, "rank": rank, "instances": 1, "time": inclusive, "p2p_time": own * _OWN[path][1]}
    if path == 2:
        sent = {"sends": messages, "bytes_sent": messages * size, "largest_message": size}
        received = {"recvs": messages, "bytes_recv": messages * size}
        row |= {**sent, "dest_ranks_exclusive": 1} if rank == 0 else {**received, "src_ranks_exclusive": 1}
    if path == 3:
        row |= {"colls": 3, "coll_bytes": 24}
    return row
