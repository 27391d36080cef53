"""Cost of a region through other tools' markers compared with our own: nanoseconds per begin and end.

One rank (markers.cpp) runs with the recorder. The cases alternate within a process. `ratio` is ours ÷ theirs;
the aim is at least a third.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import MPI_ENVIRONMENT, Estimate, emit, estimate

from haloscope.base import paths
from haloscope.base.launcher import report_toolchain

HERE = Path(__file__).resolve().parent
OURS = "ours"
ALLOWED = 3.0
COMMAND = Path(sys.executable).with_name("haloscope")


def build(directory: Path) -> Path:
    """Return the program, linked to the Caliper-compatible library in the recorder's folder."""
    folder = subprocess.run(
        [COMMAND, "where", "lib"], check=True, capture_output=True, text=True
    ).stdout.strip()
    program = directory / "markers"
    includes = [f"-I{paths.include()}", f"-I{paths.caliper_include()}"]
    command = [str(report_toolchain().compiler.with_name("mpicxx")), "-std=c++20", "-O2", *includes]
    libraries = [f"-L{folder}", "-lcaliper", f"-Wl,-rpath,{folder}"]
    subprocess.run([*command, HERE / "markers.cpp", "-o", program, *libraries], check=True)
    return program


def measure(rounds: int, calls: int) -> None:
    """Emit the cost of each case from `rounds` processes with `calls` regions per case."""
    times: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        program = build(Path(name))
        launch = [str(report_toolchain().launcher), "-n", "1"]
        watch = [str(COMMAND), "run", "--quiet", "-o", f"{name}/bench.halo", "--", *launch]
        for _ in range(rounds):
            done = subprocess.run(
                [*watch, str(program), str(calls)],
                env=MPI_ENVIRONMENT,
                check=True,
                capture_output=True,
                text=True,
                timeout=600,
            )
            for line in done.stdout.splitlines():
                case, value = line.rsplit(" ", 1)
                times[case].append(float(value))
    ours = estimate(times.pop(OURS)).median
    for case, values in times.items():
        cost = estimate(values)
        ratio = Estimate(ours / cost.median, ours / cost.high, ours / cost.low)
        emit(
            "watch-markers",
            case,
            ours=cost.median,
            peer=ours,
            peer_name="our marker",
            unit="ns",
            ratio=ratio,
            target=1 / ALLOWED,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="processes")
    parser.add_argument("--calls", type=int, default=2000, help="regions per case and round")
    options = parser.parse_args()
    measure(options.rounds, options.calls)


if __name__ == "__main__":
    main()
