"""A series of 8192 ranks × 7168 instances: bytes per instance, and seconds to open and read it.

The tests' own writer makes the profile from times with noise and regimes, packed as by the recorder. The peer
is Parquet with zstd, written and read by Polars, of the same numbers and keys. All files are in the page
cache. A second part measures the bytes per instance of a real run on this machine.
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
from synthetic import REGION, packed, profile

import haloscope
from haloscope import explain
from haloscope.base.launcher import report_toolchain
from haloscope.profile.shown import SHOWN

MOST_BYTES = 8.0
REAL_REGION = "halo_exchange"


def write_parquet(source: Path, target: Path) -> None:
    """Write the same numbers with their keys, as a table with a row per instance."""
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
    """An operation on both sides, which give the same result."""

    name: str
    ours: Callable[[], Any]
    peer: Callable[[], Any]
    peer_name: str

    def run(self, rounds: int) -> None:
        """Time both sides alternately."""
        pairs = [(seconds(self.ours), seconds(self.peer)) for _ in range(rounds + 1)][1:]
        ours, peer = zip(*pairs, strict=True)
        emit(
            "explain-series",
            self.name,
            ours=1e3 * estimate(ours).median,
            peer=1e3 * estimate(peer).median,
            peer_name=self.peer_name,
            unit="ms",
            ratio=estimate(np.divide(peer, ours)),
        )


def seconds(action: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def show_regions(path: Path) -> str:
    with haloscope.open(path) as opened:
        stream = io.StringIO()
        explain.render(opened.table("regions"), "table", SHOWN["regions"], stream)
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
            "open",
            lambda: open_and_close(series),
            lambda: pl.read_parquet_schema(parquet),
            "Polars, schema of Parquet",
        ),
        Case(
            "open and print regions",
            lambda: show_regions(series),
            lambda: show_regions(bare),
            "the same profile without its series",
        ),
        *map(read, ("duration", "start", "wait")),
    ]


def emit_bytes(case: str, ours: float, peer: float) -> None:
    ratio = peer / ours
    emit(
        "explain-series",
        case,
        ours=ours,
        peer=peer,
        peer_name="Parquet, zstd",
        unit="B",
        ratio=Estimate(ratio, ratio, ratio),
        target=peer / MOST_BYTES,
    )


def measure_real(directory: Path) -> None:
    """Measure the recorded series of the halo exchanges of the bundled cg."""
    haloscope_command = str(Path(sys.executable).with_name("haloscope"))
    target, parquet = directory / "real.halo", directory / "real.parquet"
    where = [haloscope_command, "where", "cg"]
    cg = subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip()
    launch = [str(report_toolchain().launcher), "-n", "2", cg]
    sizes = [word for axis in "xyz" for word in (f"--n{axis}", "16")]
    watch = [haloscope_command, "run", "--quiet", "-o", str(target), "--series", REAL_REGION, "--"]
    subprocess.run(
        [*watch, *launch, *sizes, "--iterations", "5000"],
        env=MPI_ENVIRONMENT,
        check=True,
        capture_output=True,
        timeout=600,
    )
    with haloscope.open(target) as opened:
        frame = opened.table("series", region=REAL_REGION)
        # The other tables are not counted: they are larger than this short series.
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
        series, bare, parquet = (directory / file for file in ("series.halo", "bare.halo", "series.parquet"))
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
