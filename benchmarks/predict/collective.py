"""`haloscope bench collective` compared with a simple loop in C, as in the OSU benchmarks.

Both measure the library's own choice on two ranks with the same numbers of calls, alternately. The time of a
call must be equal. The ratio is the loop's time over ours; a ratio below 1 is overhead of our harness. The
aim is for the median over calls, because other programs affect it least. Further rows have the mean, which
OSU prints, and the time of the whole launch.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import MPI_ENVIRONMENT, emit, estimate

from haloscope.base.launcher import report_toolchain
from haloscope.predict.bench import Library, library, stream

MEASURED = (
    ("barrier", 0),
    ("bcast", 8),
    ("bcast", 65536),
    ("allreduce", 8),
    ("allreduce", 65536),
    ("alltoall", 4096),
)
RANKS = 2
ROUNDS = 11
ITERATIONS = 2000
WARMUP = 200
AGREES = 0.95  # least ratio of the times
NAMES = (("mean", "us", None), ("median", "us", AGREES), ("whole launch", "s", None))


def named(name: str, collective: str, size: int) -> str:
    """Return the name of a case."""
    return f"bench collective, {name}: {collective} of {size} B on {RANKS} ranks"


CASES = tuple(named(name, *one) for one in MEASURED for name, _, _ in NAMES)


def measure() -> None:
    """Print a row for each case."""
    ours = library()
    with tempfile.TemporaryDirectory() as directory:
        loop = Path(directory) / "loop"
        source = Path(__file__).with_name("loop.c")
        compiler = report_toolchain().compiler.with_name("mpicc")
        subprocess.run([compiler, "-O3", source, "-o", loop], check=True)
        for collective, size in MEASURED:
            compare(ours, loop, collective, size)


def compare(ours: Library, loop: Path, collective: str, size: int) -> None:
    """Measure one case; the order of both sides alternates."""
    mine: list[tuple[float, ...]] = []
    theirs: list[tuple[float, ...]] = []
    for number in range(ROUNDS):
        for side in (0, 1) if number % 2 else (1, 0):
            begun = time.perf_counter()
            measured = plain(ours, loop, collective, size) if side else harness(ours, collective, size)
            (theirs if side else mine).append((*measured, time.perf_counter() - begun))
    for index, (name, unit, target) in enumerate(NAMES):
        own, peer = ([row[index] for row in rows] for rows in (mine, theirs))
        emit(
            "predict",
            named(name, collective, size),
            ours=estimate(own).median,
            peer=estimate(peer).median,
            peer_name="simple loop",
            unit=unit,
            ratio=estimate([b / a for a, b in zip(own, peer, strict=True)]),
            target=target,
        )


def harness(ours: Library, collective: str, size: int) -> tuple[float, float]:
    """Return microseconds: the mean, as in the command's OSU output, and the median."""
    words = [
        str(ours.program("collective")),
        "--collective",
        collective,
        "--sizes",
        str(size),
        "--iterations",
        str(ITERATIONS),
        "--warmup",
        str(WARMUP),
    ]
    records = list(stream(ours.launch(words, RANKS, {}, None), MPI_ENVIRONMENT, 60))
    samples = np.array(next(one["samples_ns"] for one in records if one["record"] == "point"))
    return float(samples.mean()) * 1e-3, float(np.median(samples, axis=1).mean()) * 1e-3


def plain(ours: Library, loop: Path, collective: str, size: int) -> tuple[float, float]:
    """Return mean and median of the simple loop."""
    words = [str(loop), collective, str(size), str(ITERATIONS), str(WARMUP)]
    done = subprocess.run(
        ours.launch(words, RANKS, {}, None),
        env=MPI_ENVIRONMENT,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    mean, median = map(float, done.stdout.split())
    return mean, median


if __name__ == "__main__":
    measure()
