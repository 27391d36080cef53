"""`--to goal`: computation and messages with their order, for LogGOPSim."""

from __future__ import annotations

import ctypes
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from haloscope.base.errors import OutputError
from haloscope.base.files import scratch_file, write_file
from haloscope.base.units import noun_text
from haloscope.explain.export.otf2_words import FILE, FUNCTION, find_role, number_operations
from haloscope.explain.export.remarks import list_remarks
from haloscope.explain.export.trace_columns import TraceColumns
from haloscope.explain.export.traced import TracedProfile
from haloscope.profile.kernels import native_library
from haloscope.profile.trace import Trace

# Numbers of `Pattern` in src/explain/exporting/rounds.hpp, by OTF2's numbers of operations.
_ALL_WAIT, _ALL_GATHER, _ALL_TO_ALL, _FROM_ROOT, _TO_ROOT, _SCATTER, _GATHER, _CHAIN = range(8)
_PATTERNS = {
    **dict.fromkeys((0, 11, 17, 18), _ALL_WAIT),
    **dict.fromkeys((6, 7), _ALL_GATHER),
    **dict.fromkeys((8, 9, 10, 13, 16), _ALL_TO_ALL),
    **dict.fromkeys((2, 3), _GATHER),
    **dict.fromkeys((4, 5), _SCATTER),
    **dict.fromkeys((14, 15), _CHAIN),
    1: _FROM_ROOT,
    12: _TO_ROOT,
}


class _World(ctypes.Structure):
    """`World` in src/explain/exporting/goal.cpp."""

    _fields_ = (
        ("ranks", ctypes.c_int32),
        ("communicators", ctypes.c_int32),
        *((name, ctypes.c_void_p) for name in ("first_members", "members", "waits")),
    )


def write_goal(traced: TracedProfile, output: Path) -> list[str]:
    """Write a trace as GOAL text; return remarks about events that were left out.

    Computation is the time between MPI calls, in nanoseconds. Only messages with both ends in the trace are
    written; collectives become messages. Raises `OutputError`.
    """
    trace = _keep_complete_collectives(traced.trace)
    partly = len(traced.trace.collectives) - len(trace.collectives)
    operations = number_operations(trace.collectives["operation"].unique().cast(pl.String).drop_nulls())
    patterns = {name: _PATTERNS[operation] for name, operation in operations.items()}
    columns = TraceColumns(_extend_to_runs(trace), patterns, by_communicator=False)
    left_out = ctypes.c_int64()
    with write_file(output, "schedule") as file, scratch_file(output) as scratch:
        world, _kept = _make_world(columns)
        arguments = (ctypes.byref(columns.struct), ctypes.byref(world), file.fileno(), scratch.fileno())
        status = native_library().haloscope_goal(*arguments, ctypes.byref(left_out))
        if status:
            raise OutputError(f"{output}: cannot be written: {os.strerror(status)}; choose a different path")
    lines = list_remarks(trace, columns, kinds=("collectives",))
    if partly:
        lines.append(
            f"{noun_text(partly, 'part')} of collectives left out: not all ranks of the communicator took"
            " part"
        )
    if left_out.value:
        lines.append(f"{left_out.value} sends and receives left out: their other end is not in the trace")
    return lines


def _extend_to_runs(trace: Trace) -> Trace:
    """Return the trace with a region for the run of each rank, which may compute after its last call."""
    runs = trace.runs.with_columns(thread=pl.lit(0, pl.Int32), path=pl.lit(0, pl.Int32))
    regions = pl.concat([runs.select(trace.regions.columns), trace.regions])
    return replace(trace, regions=regions.sort("rank", "thread", "begin", maintain_order=True))


def _keep_complete_collectives(trace: Trace) -> Trace:
    """Return the trace without collectives with missing ranks, in which a simulation would deadlock."""
    keys = ["communicator", "number"]
    sizes = trace.communicators.select("communicator", size=pl.col("ranks").list.n_unique())
    took_part = trace.collectives.group_by(keys).agg(pl.col("rank").n_unique().alias("parts"), pl.len())
    whole = took_part.join(sizes, on="communicator").filter(
        (pl.col("parts") == pl.col("size")) & (pl.col("len") == pl.col("size"))
    )
    complete = trace.collectives.join(whole.select(keys), on=keys, how="semi", maintain_order="left")
    return replace(trace, collectives=_even_out_parts(complete))


def _even_out_parts(collectives: pl.DataFrame) -> pl.DataFrame:
    """Return collectives with equal parts for all ranks.

    A message has the same size at both ends, and no rank knows the parts of all others.
    """
    stem = (
        pl.col("operation")
        .cast(pl.String)
        .str.strip_prefix("MPI_")
        .str.strip_suffix("_init")
        .str.to_lowercase()
        .str.strip_prefix("i")
    )
    keys, ranks = ["communicator", "number"], pl.len().over("communicator", "number")
    of_root = pl.col("rank") == pl.col("root")
    sent, received = (pl.col(f"bytes_{name}").clip(0) for name in ("sent", "received"))
    gathered = received.filter(of_root).first().over(keys) // ranks
    scattered = sent.filter(of_root).first().over(keys) // ranks
    is_uneven = stem.is_in(["allgatherv", "alltoallv", "alltoallw", "reduce_scatter"])
    return collectives.with_columns(
        pl.when(stem == "gatherv")
        .then(gathered)
        .when(is_uneven)
        .then(sent.sum().over(keys) // ranks)
        .otherwise("bytes_sent")
        .alias("bytes_sent"),
        pl.when(stem == "scatterv")
        .then(scattered)
        .when(is_uneven)
        .then(received.sum().over(keys) // ranks)
        .otherwise("bytes_received")
        .alias("bytes_received"),
    )


def _make_world(columns: TraceColumns) -> tuple[_World, object]:
    """Return the structure of communicators and functions, and the arrays that it points to."""
    members = columns.members.sort("communicator", "place")
    numbers = members["communicator"].to_numpy()
    communicators = int(numbers.max()) + 1 if len(numbers) else 0
    first = np.searchsorted(numbers, np.arange(communicators + 1)).astype(np.int64)
    ranks = np.ascontiguousarray(members["rank"].to_numpy(), np.int32)
    waits = np.array([_is_waiting(name) for name in columns.functions] or [False], np.uint8)
    last = columns.locations["rank"].max()
    count = int(last) + 1 if isinstance(last, int) else 0
    arrays = (first, ranks, waits)
    return _World(count, communicators, *(array.ctypes.data for array in arrays)), arrays


def _is_waiting(function: str) -> bool:
    """Return whether the time of a function is not computation: it communicates, or starts or ends MPI."""
    is_around = function.startswith(("MPI_Init", "MPI_Finalize"))
    return is_around or find_role(function) not in (FILE, FUNCTION)
