"""`--to perfetto`: slices and arrows in the native format of ui.perfetto.dev and its trace processor."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from haloscope.base.errors import OutputError
from haloscope.base.files import scratch_file, write_file
from haloscope.explain.export.remarks import list_remarks
from haloscope.explain.export.trace_columns import TraceColumns, c_text
from haloscope.explain.export.traced import TracedProfile
from haloscope.profile.kernels import native_library

# Above all process numbers of Linux.
_FIRST_THREAD = 1 << 23


class _Names(ctypes.Structure):
    """`Names` in src/explain/exporting/perfetto.cpp."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("functions", "paths", "processes", "threads", "pids", "tids")),
        ("function_count", ctypes.c_int64),
    )


def write_perfetto(traced: TracedProfile, output: Path) -> list[str]:
    """Write a trace for Perfetto; return remarks about events that were left out.

    A rank is a process, named by rank and host; calls and regions are slices of its threads. An arrow goes
    from each send to the call that received it. Raises `OutputError`.
    """
    operations = dict.fromkeys(traced.trace.collectives["operation"].unique().cast(pl.String).drop_nulls(), 0)
    columns = TraceColumns(traced.trace, operations, by_communicator=False)
    with write_file(output, "trace") as file, scratch_file(output) as scratch:
        names, _kept = _make_names(traced, columns)
        status = native_library().haloscope_perfetto(
            ctypes.byref(columns.struct), ctypes.byref(names), file.fileno(), scratch.fileno()
        )
        if status:
            raise OutputError(f"{output}: cannot be written: {os.strerror(status)}; choose a different path")
    return list_remarks(traced.trace, columns)


def _make_names(traced: TracedProfile, columns: TraceColumns) -> tuple[_Names, object]:
    """Return the names, and the objects that must stay alive while they are used."""
    processes_of_ranks = {rank: (host, pid) for rank, host, pid in _list_processes(traced)}
    locations = list(columns.locations.iter_rows())
    processes, threads = [], []
    for rank, thread in locations:
        host, _ = processes_of_ranks.get(rank, ("", 0))
        processes.append(f"rank {rank} on {host}" if host else f"rank {rank}")
        threads.append(f"thread {thread}")
    pids = np.array(
        _number_processes(
            [rank for rank, _ in locations], {r: pid for r, (_, pid) in processes_of_ranks.items()}
        )
    )
    # The number of the first thread is that of the process, as in Linux.
    tids = [
        int(pid) if thread == 0 else _FIRST_THREAD + at
        for at, ((_, thread), pid) in enumerate(zip(locations, pids, strict=True))
    ]
    arrays = [np.ascontiguousarray(numbers, np.int32) for numbers in (pids, tids)]
    paths = traced.trace.paths.sort("path")["name"].to_list()
    texts = [_make_c_texts(found) for found in (columns.functions, paths, processes, threads)]
    pointers = [ctypes.addressof(found) for found in texts] + [array.ctypes.data for array in arrays]
    return _Names(*pointers, len(columns.functions)), (texts, arrays)


def _list_processes(traced: TracedProfile) -> list[tuple[int, str, int]]:
    frame = traced.trace.processes
    if "pid" not in frame.columns:
        return [(rank, host or "", 0) for rank, host in frame.select("rank", "host").iter_rows()]
    return [
        (rank, host or "", pid or 0) for rank, host, pid in frame.select("rank", "host", "pid").iter_rows()
    ]


def _number_processes(ranks: Sequence[int], pids: dict[int, int]) -> list[int]:
    """Return a number per rank's process: its own, unless two hosts have the same."""
    known = {rank: pids.get(rank, 0) for rank in ranks}
    are_usable = len(set(known.values())) == len(known) and all(
        0 < pid < _FIRST_THREAD for pid in known.values()
    )
    return [known[rank] if are_usable else rank + 1 for rank in ranks]


def _make_c_texts(texts: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * max(len(texts), 1))(*(c_text(text) for text in texts))
