"""Cost of other tools' markers compared with our region, and cost of a start without these tools.

Each round is one process. The first rows are nanoseconds per begin and end, `ratio` is ours ÷ theirs. The
last row is microseconds of a process without MPI and without any of the libraries. Its recorder is preloaded
and registered as the tool of each interface; the peer's recorder is only preloaded.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import MPI_ENVIRONMENT, Estimate, emit, estimate

import haloscope
from haloscope.base.launcher import report_toolchain

HERE = Path(__file__).resolve().parent
REGION = "region"
# Allowed cost of a marker through a different interface, in units of ours.
ALLOWED = 3.0
TOOLS = ("KOKKOS_TOOLS_LIBS", "NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64")


def markers(directory: Path, rounds: int, pairs: int) -> None:
    """Emit a row for each interface."""
    tools = report_toolchain()
    program = directory / "annotations"
    include = f"-I{HERE.parents[1] / 'include'}"
    compile_it = [str(tools.compiler.with_name("mpicc")), "-O2", include, str(HERE / "annotations.c"), "-ldl"]
    subprocess.run([*compile_it, "-o", str(program)], check=True)
    watched = [str(Path(sys.executable).with_name("haloscope")), "run", "--quiet", "-o"]
    command = [
        *watched,
        str(directory / "a.halo"),
        "--",
        str(tools.launcher),
        "-n",
        "1",
        str(program),
        str(pairs),
    ]
    samples: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        done = subprocess.run(
            command, env=MPI_ENVIRONMENT, check=True, capture_output=True, text=True, timeout=600
        )
        for name, value in (line.rsplit(" ", 1) for line in done.stdout.splitlines()):
            samples[name].append(float(value))
    ours = samples.pop(REGION)
    del samples["warm-up"]
    for name, theirs in samples.items():
        ratio = estimate([own / other for own, other in zip(ours, theirs, strict=True)])
        emit(
            "watch-annotations",
            name,
            ours=estimate(theirs).median,
            peer=estimate(ours).median,
            peer_name=REGION,
            unit="ns",
            ratio=ratio,
            target=1 / ALLOWED,
        )


def start(environment: dict[str, str]) -> float:
    """Return the microseconds of a process that does nothing."""
    begin = time.perf_counter()
    subprocess.run(["/bin/true"], env=environment, check=True)
    return 1e6 * (time.perf_counter() - begin)


def absent(rounds: int) -> None:
    """Emit the cost of a registration as tool of interfaces that the program does not use."""
    named = os.environ | haloscope.env()
    preloaded = {name: value for name, value in named.items() if name not in TOOLS}
    pairs = [(start(named), start(preloaded)) for _ in range(rounds)]
    ours, peer = (estimate(column).median for column in zip(*pairs, strict=True))
    ratio: Estimate = estimate([other / own for own, other in pairs])
    emit(
        "watch-annotations",
        "start without any of the libraries",
        ours=ours,
        peer=peer,
        peer_name="not named as a tool",
        unit="us",
        ratio=ratio,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="processes of each kind")
    parser.add_argument("--pairs", type=int, default=200_000, help="begins and ends per case and round")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        markers(Path(name), options.rounds, options.pairs)
    absent(20 * options.rounds)


if __name__ == "__main__":
    main()
