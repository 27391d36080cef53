"""The harness of `bench p2p` compared with simple loops that measure the same."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import common
import numpy as np

from haloscope.base.launcher import report_toolchain
from haloscope.predict.bench import BenchSystem, Pair, library, topology
from haloscope.predict.bench import P2pMethod as Method
from haloscope.predict.bench import P2pPoint as Point
from haloscope.predict.bench import measure_p2p as measured

ROUNDS = 11
# The harness may cost 1 %, and two launches may differ by another 1 %.
TARGET = 0.98
BUDGET = 0.01


@dataclass(frozen=True)
class Case:
    """A point that both sides measure."""

    test: str
    bytes: int
    iterations: int
    warmup: int

    @property
    def name(self) -> str:
        return f"p2p {self.test} {self.bytes} B against a plain loop"


POINTS = (
    Case("latency", 8, 20_000, 2000),
    Case("latency", 8192, 5000, 500),
    Case("latency", 1 << 20, 300, 30),
    Case("bw", 8192, 300, 30),
)
CLOCK = "p2p clock's share of 8 B latency"
CASES = (*(case.name for case in POINTS), CLOCK)


def measure() -> None:
    """Print a row for each case."""
    os.environ.update(common.MPI_ENVIRONMENT)
    system = BenchSystem(topology(), library())
    pair = system.pair(0, 1)
    with tempfile.TemporaryDirectory() as directory:
        plain = Path(directory) / "pingpong"
        source = Path(__file__).with_name("pingpong.c")
        compiler = report_toolchain().compiler.with_name("mpicc")
        subprocess.run([compiler, "-O3", source, "-o", plain], check=True)
        points = {case: _compare(case, system, pair, plain) for case in POINTS}
    first = points[POINTS[0]]
    share = [point.clock / (2 * point.batch * point.median) for point in first]
    common.emit(
        "predict",
        CLOCK,
        ours=100 * common.estimate(share).median,
        peer=100 * BUDGET,
        peer_name="budget",
        unit="%",
        ratio=common.estimate([BUDGET / one for one in share]),
        target=1.0,
    )


def _compare(case: Case, system: BenchSystem, pair: Pair, plain: Path) -> list[Point]:
    ours, theirs = [], []
    for turn in range(ROUNDS):
        for side in (0, 1) if turn % 2 else (1, 0):
            if side:
                ours.append(_harness(case, system, pair))
            else:
                theirs.append(_plain(case, system, plain))
    nanoseconds = [_typical(one) for one in ours]
    ratios = [a / b for a, b in zip(theirs, nanoseconds, strict=True)]
    common.emit(
        "predict",
        case.name,
        ours=common.estimate(nanoseconds).median,
        peer=common.estimate(theirs).median,
        peer_name="plain loop in C",
        unit="ns",
        ratio=common.estimate(ratios),
        target=TARGET,
    )
    return ours


def _typical(point: Point) -> float:
    """Return the median of the means of ten parts, as the simple loop does."""
    return 1e9 * float(np.median([part.mean() for part in np.array_split(point.samples, 10)]))


def _harness(case: Case, system: BenchSystem, pair: Pair) -> Point:
    method = Method((case.bytes,), case.iterations, case.warmup)
    (point,) = measured(system, case.test, [pair], method)
    if not isinstance(point, Point):
        raise RuntimeError(point.reason)
    return point


def _plain(case: Case, system: BenchSystem, program: Path) -> float:
    words = [str(program), case.test, *map(str, (case.bytes, case.iterations, case.warmup))]
    done = subprocess.run(
        system.library.launch(words, 2, {}),
        env=common.MPI_ENVIRONMENT,
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


if __name__ == "__main__":
    measure()
