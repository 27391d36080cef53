"""A series of 8192 ranks × 7168 instances: bytes an instance, and seconds to open and read it.

The profile is made by the tests' own writer, packed as the recorder packs, from times with noise
and regimes. The peer is Parquet with zstd, written and read by Polars, of the same numbers and
keys. All files are in the page cache. Beside it, bytes an instance of a real run on this machine.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from common import MPI_ENVIRONMENT, Estimate, emit, estimate

import haloscope
from haloscope import explain
from haloscope.watch._applications import toolchain
from support.profiles import COLUMNS, INFO, Draft, columns_of, path_rows
from support.series import pack

TICK = 0.4e-9
MOST_BYTES = 8.0
REGION = "halo"
REAL_REGION = "halo_exchange"

Ticks = NDArray[np.uint64]


def measured(ranks: int, instances: int, random: np.random.Generator) -> tuple[Ticks, Ticks, Ticks]:
    """Begin, duration and wait: a halo exchange of tens of µs every ms, in three sticky regimes."""
    shape = (instances, ranks)
    regime = np.repeat(random.choice(3, (instances // 64 + 1, ranks), p=[0.8, 0.15, 0.05]), 64, 0)
    body = np.array([20e-6, 36e-6, 120e-6])[regime[:instances]]
    durations = body * np.exp(random.normal(0, 0.15, shape))
    gaps = 1e-3 * np.exp(random.normal(0, 0.02, shape))
    waits = np.maximum(durations - 9e-6 * np.exp(random.normal(0, 0.05, shape)), 0)
    times, between, waiting = ((part / TICK).astype(np.uint64) for part in (durations, gaps, waits))
    begins = np.cumsum(between + times, axis=0) - times
    return begins.T, times.T, waiting.T


def packed(ranks: int, instances: int) -> Ticks:
    """All ranks' instances one after the other, made some ranks at a time."""
    random = np.random.default_rng(0)
    sizes = [min(512, ranks - first) for first in range(0, ranks, 512)]
    return np.concatenate([pack(*measured(n, instances, random)).ravel() for n in sizes])


def profile(ranks: int, words: Ticks) -> Draft:
    """`main` > `halo` on all ranks; the series of `halo` where there are instances of it."""
    paths = path_rows("main", f"main/{REGION}")
    keys = [{"path": row["path"], "rank": rank} for row in paths for rank in range(ranks)]
    processes = [
        {"rank": rank, "host": f"node{rank // 64}", "finalized": 1, "tick": TICK}
        for rank in range(ranks)
    ]
    tables: dict[str, Any] = {name: columns_of(name, []) for name in COLUMNS}
    tables["paths"] = columns_of("paths", paths)
    tables["processes"] = columns_of("processes", processes)
    tables["ranks"] = columns_of("ranks", [{**key, "instances": 1, "time": 9.0} for key in keys])
    if len(words):
        zero, all_ranks = np.zeros(ranks, np.int64), np.arange(ranks)
        tables["series"] = {
            "path": zero + 2, "rank": all_ranks, "thread": zero, "instance": zero,
            "instances": zero + len(words) // ranks,
        }  # fmt: skip
        tables["instances"] = {"packed": words.view(np.int64)}
    return Draft(tables, {**INFO, "ranks": ranks}, chunk_rows=1 << 19)


def write_parquet(source: Path, target: Path) -> None:
    """The same numbers with their keys, as a table a row an instance."""
    with haloscope.open(source) as opened:
        instances = opened.instances(REGION)
        ranks, count = instances.duration.shape
        frame = pl.DataFrame(
            {
                "rank": np.repeat(np.arange(ranks, dtype=np.int32), count),
                "instance": np.tile(np.arange(count, dtype=np.int32), ranks),
                "start": instances.start.ravel(),
                "duration": instances.duration.ravel(),
                "wait": instances.wait.ravel(),
            }
        )
    frame.write_parquet(target, compression="zstd")


@dataclass(frozen=True)
class Case:
    """What is done on both sides, and checked to give the same."""

    name: str
    ours: Callable[[], Any]
    peer: Callable[[], Any]
    peer_name: str

    def run(self, rounds: int) -> None:
        """Times both sides in turn."""
        pairs = [(seconds(self.ours), seconds(self.peer)) for _ in range(rounds + 1)][1:]
        ours, peer = zip(*pairs, strict=True)
        emit(
            "explain-series", self.name, ours=1e3 * estimate(ours).median,
            peer=1e3 * estimate(peer).median, peer_name=self.peer_name, unit="ms",
            ratio=estimate(np.divide(peer, ours)),
        )  # fmt: skip


def seconds(action: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def show_regions(path: Path) -> str:
    with haloscope.open(path) as opened:
        stream = io.StringIO()
        explain.render(opened.table("regions"), "table", "regions", stream)
        return stream.getvalue()


def matrix(path: Path, quantity: str) -> NDArray[np.float64]:
    with haloscope.open(path) as opened:
        values: NDArray[np.float64] = getattr(opened.instances(REGION), quantity)
        return values


def matrix_of_parquet(path: Path, quantity: str, ranks: int) -> NDArray[np.float64]:
    column = pl.read_parquet(path, columns=[quantity])[quantity]
    return column.to_numpy().reshape(ranks, -1)


def open_and_close(path: Path) -> None:
    with haloscope.open(path):
        pass


def cases(series: Path, bare: Path, parquet: Path, ranks: int) -> list[Case]:
    def read(quantity: str) -> Case:
        ours, theirs = matrix(series, quantity), matrix_of_parquet(parquet, quantity, ranks)
        np.testing.assert_array_equal(ours, theirs)
        return Case(
            f"matrix of {quantity}",
            lambda: matrix(series, quantity),
            lambda: matrix_of_parquet(parquet, quantity, ranks),
            "Polars, Parquet",
        )

    return [
        Case(
            "open", lambda: open_and_close(series), lambda: pl.read_parquet_schema(parquet),
            "Polars, schema of Parquet",
        ),
        Case(
            "open and print regions", lambda: show_regions(series), lambda: show_regions(bare),
            "the same profile without its series",
        ),
        *map(read, ("duration", "start", "wait")),
    ]  # fmt: skip


def emit_bytes(case: str, ours: float, peer: float) -> None:
    ratio = peer / ours
    emit(
        "explain-series", case, ours=ours, peer=peer, peer_name="Parquet, zstd", unit="B",
        ratio=Estimate(ratio, ratio, ratio), target=peer / MOST_BYTES,
    )  # fmt: skip


def measure_real(directory: Path) -> None:
    """What the recorder leaves of the halo exchanges of the bundled cg."""
    haloscope_command = str(Path(sys.executable).with_name("haloscope"))
    target, parquet = directory / "real.halo", directory / "real.parquet"
    where = [haloscope_command, "where", "cg"]
    cg = subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip()
    launch = [str(toolchain().launcher), "-n", "2", cg]
    sizes = [word for axis in "xyz" for word in (f"--n{axis}", "16")]
    watch = [haloscope_command, "run", "--quiet", "-o", str(target), "--series", REAL_REGION, "--"]
    subprocess.run(
        [*watch, *launch, *sizes, "--iterations", "5000"],
        env=MPI_ENVIRONMENT, check=True, capture_output=True, timeout=600,
    )  # fmt: skip
    with haloscope.open(target) as opened:
        frame = opened.table("series", region=REAL_REGION)
        # The other tables are larger than so few instances.
        tables = [opened.file.tables[table].values() for table in ("series", "instances")]
        stored = sum(chunk.size for table in tables for column in table for chunk in column.chunks)
    frame.write_parquet(parquet, compression="zstd")
    emit_bytes(
        f"real run: {len(frame)} halo exchanges of cg on all levels, columns alone",
        stored / len(frame),
        parquet.stat().st_size / len(frame),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=8192)
    parser.add_argument("--instances", type=int, default=7168, help="on each rank")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    ranks = options.ranks
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        series, bare, parquet = (
            directory / file for file in ("series.halo", "bare.halo", "series.parquet")
        )
        words = packed(ranks, options.instances)
        profile(ranks, words).write(series)
        profile(ranks, words[:0]).write(bare)
        del words
        write_parquet(series, parquet)
        sizes = [path.stat().st_size / ranks / options.instances for path in (series, parquet)]
        emit_bytes(f"{ranks} ranks × {options.instances} instances", *sizes)
        for case in cases(series, bare, parquet, ranks):
            case.run(options.rounds)
        measure_real(directory)


if __name__ == "__main__":
    main()
