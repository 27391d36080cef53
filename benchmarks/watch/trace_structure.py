"""Size of a trace's structure for few and for many iterations, and size of the order of events.

Programs are `cg` and `sweep` on 64 ranks, and those of `--also`, whose command ends with a number of
iterations. The structure is the trace without times and orders. The order of messages differs between runs,
and is stored separately. Rows `trace-order` have its bits per call in the file, and its entropy: that of the
next call if the preceding one is known. Counts and bytes of the trace must be equal to those of the tables of
the same run.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import polars as pl
from common import emit, estimate
from traces import sizes, traced

import haloscope
from haloscope.base.building import build_application
from haloscope.profile.trace import Trace

MOST_STRUCTURE = 100_000
RANKS = 64
CASES = {
    "cg": ["--nx", "8", "--ny", "8", "--nz", "8", "--iterations"],
    "sweep": ["--procs", "4,4,4", "--zones", "8,8,8", "--groups", "2", "--gset", "2", "--niter"],
}
BY_TIME = ("trace_words", "trace_pieces", "trace_orders")


def require_equal(path: Path) -> Trace:
    """Return the trace of a profile; it is an error if calls or messages differ from the tables."""
    with haloscope.open(path) as profile:
        trace = profile.trace()
        stored = profile.frame("calls").group_by("call").agg(pl.col("calls", "bytes").sum()).sort("call")
        messages = profile.frame("ranks").select(pl.col("sends", "recvs", "bytes_sent", "bytes_recv").sum())
    if len(trace.dropped):
        raise SystemExit(f"events were lost: {trace.dropped}; there is no figure")
    name = pl.col("call").cast(pl.String)
    found = trace.calls.group_by(name).agg(calls=pl.len(), bytes=pl.col("bytes").clip(0).sum()).sort("call")
    if stored.rows() != found.rows():
        raise SystemExit(f"{path}: calls differ: {stored} {found}")
    sides = (trace.sends, trace.receives)
    if messages.row(0) != (*map(len, sides), *(side["bytes"].sum() for side in sides)):
        raise SystemExit(f"{path}: messages differ")
    return trace


def entropy(trace: Trace) -> float:
    """Return the bits per call of the next function, partner and size if the preceding call is known."""
    first = pl.concat([trace.sends, trace.receives]).unique("started", keep="first")
    messages = first.select(pl.col("started").cast(pl.UInt32), "partner", "tag")
    calls = trace.calls.select("rank", "thread", "call", "bytes").with_row_index("started")
    words = calls.join(messages, on="started", how="left", maintain_order="left")
    numbers = words.select(pl.struct(pl.exclude("started")).rank("dense").alias("symbol"))["symbol"]
    symbols = numbers.to_numpy().astype(np.int64)
    pairs = symbols[:-1] * (int(symbols.max()) + 1) + symbols[1:]
    counts, before = (np.unique(of, return_counts=True)[1] for of in (pairs, symbols[:-1]))
    return float((before * np.log2(before)).sum() - (counts * np.log2(counts)).sum()) / len(symbols)


def measure(directory: Path, name: str, command: Sequence[str | Path], ranks: int, counts: list[int]) -> None:
    structure, orders = {}, {}
    for count in counts:
        path, _ = traced(directory, ranks, [*command, str(count)], "--trace")
        trace = require_equal(path)
        size = sizes(path)
        structure[count] = sum(of for table, of in size.items() if table not in BY_TIME)
        orders[count] = 8 * size["trace_orders"] / len(trace.calls)
        if count == counts[0] or size["trace_orders"]:
            bits = entropy(trace)
    for count in counts:
        emit(
            "trace-structure",
            f"{name}, {ranks} ranks, {count} iterations",
            ours=float(structure[count]),
            peer=float(structure[counts[0]]),
            peer_name=f"{counts[0]} iterations",
            unit="B",
            ratio=estimate([MOST_STRUCTURE / structure[count]]),
            target=1.0,
        )
    emit(
        "trace-order",
        f"{name}, {ranks} ranks, {counts[-1]} iterations: what the order of events takes",
        ours=orders[counts[-1]],
        peer=bits,
        peer_name="entropy of the next call, one before known",
        unit="bit/call",
        ratio=estimate([bits / orders[counts[-1]] if orders[counts[-1]] else 1.0]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--also", action="append", default=[], help="a command, without its last word")
    parser.add_argument("--also-ranks", type=int, default=16)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for case in options.cases:
            command: list[str | Path] = [build_application(case), *CASES[case]]
            measure(directory, case, command, RANKS, options.iterations)
        for text in options.also:
            words = shlex.split(text)
            measure(directory, Path(words[0]).name, words, options.also_ranks, options.iterations)


if __name__ == "__main__":
    main()
