"""Cost of parts of the recorder per call: the recorder compared with a build without the part.

`current-call` stores the call that a rank executes, `gpus` looks for a GPU's runtime in a process without
one. Two recorders of the same sources, one of them without the part, alternately record one rank. The rank's
calls (calls.c) take no time in MPI (instant.c), because a real MPI's scatter is larger than the difference.
No other work overlaps with the part, so the result is an upper bound. The aim is at most 1 nanosecond per
call.

    parts.py [--part gpus] [--rounds 30] [--calls 2000]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import MPI_ENVIRONMENT, Estimate, emit, estimate, undisturbed

from haloscope.base.cache import cache
from haloscope.base.launcher import report_toolchain
from haloscope.base.toolchain import compiler

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
COMMAND = Path(sys.executable).with_name("haloscope")
ALLOWED = 1.0  # nanoseconds per call
CLOCK = "clock_gettime"
CALLS = {"region of 12 Irecv, 12 Isend, Waitall": 25}  # per case; 1 for all others
PARTS = ("current-call", "gpus")


def build(directory: Path) -> list[str]:
    """Return the launch of the program."""
    tools = report_toolchain()
    words = [str(tools.compiler.with_name("mpicc")), "-O2", f"-I{INCLUDE}", f"-L{directory}"]
    library = directory / "libinstant.so"
    subprocess.run([*words, "-shared", "-fPIC", str(HERE / "instant.c"), "-o", str(library)], check=True)
    program = str(directory / "calls")
    linked = [
        str(HERE / "calls.c"),
        "-o",
        program,
        "-Wl,--no-as-needed",
        "-linstant",
        f"-Wl,-rpath,{directory}",
    ]
    subprocess.run([*words, *linked], check=True)
    return [str(tools.launcher), "-n", "1", *undisturbed(), program]


def environments(part: str) -> dict[str, dict[str, str]]:
    """Return the environment of each recorder, for its build and its use."""
    script = cache() / f"c++-without-{part}"
    without = f"-DHALOSCOPE_WITHOUT_{part.upper().replace('-', '_')}"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec "{compiler()}" {without} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    # The search for iterations reads the current call.
    plain = MPI_ENVIRONMENT | {"HALOSCOPE_PHASES": "0"}
    return {"with": plain, "without": plain | {"CXX": str(script)}}


def measure(part: str, rounds: int, calls: int) -> None:
    """Emit the cost of the part for each kind of call."""
    times: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        launch = build(Path(name))
        watched = [str(COMMAND), "run", "--quiet", "-o", f"{name}/bench.halo", "--", *launch, str(calls)]
        recorders = environments(part)
        for environment in recorders.values():
            subprocess.run(
                [str(COMMAND), "env", "--", *launch], env=environment, check=True, capture_output=True
            )
        for _ in range(rounds):
            for kind, environment in recorders.items():
                done = subprocess.run(
                    watched, env=environment, check=True, capture_output=True, text=True, timeout=900
                )
                for line in done.stdout.splitlines():
                    case, value = line.rsplit(" ", 1)
                    of_case = times.setdefault(case, defaultdict(list))
                    of_case[kind].append(float(value) / CALLS.get(case, 1))
    for case, kinds in times.items():
        if case != CLOCK:
            pairs = zip(kinds["with"], kinds["without"], strict=True)
            report(part, case, estimate([kept - bare for kept, bare in pairs]))


def report(part: str, case: str, added: Estimate) -> None:
    """Emit a row. Times below a thousandth of a nanosecond count as this."""
    median, low, high = (max(value, 1e-3) for value in (added.median, added.low, added.high))
    emit(
        f"watch-{part}",
        case,
        ours=added.median,
        peer=ALLOWED,
        peer_name="limit",
        unit="ns",
        ratio=Estimate(ALLOWED / median, ALLOWED / high, ALLOWED / low),
        target=1.0,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, default=PARTS, nargs="+", help="part of the recorder")
    parser.add_argument("--rounds", type=int, default=30, help="processes of each kind")
    parser.add_argument("--calls", type=int, default=2000, help="calls per case and round")
    options = parser.parse_args()
    for part in options.part:
        measure(part, options.rounds, options.calls)


if __name__ == "__main__":
    main()
