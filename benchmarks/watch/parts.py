"""What parts of the recorder cost a call: the recorder beside one that is built without the part.

`current-call` keeps the call that a rank is in, `gpus` looks whether there is a GPU's runtime, in a process
that has none. Two recorders of the same sources, one of them without the part, watch one rank in turn. Its
calls (calls.c) take no time of MPI (instant.c), as what differs is less than what a real MPI's calls scatter
by; so nothing hides what the part takes, and what is measured is rather too much. In nanoseconds a call; at
most 1 is to be added.

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
ALLOWED = 1.0  # nanoseconds a call
CLOCK = "clock_gettime"
CALLS = {"region of 12 Irecv, 12 Isend, Waitall": 25}  # of a case; 1 of all others
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
    """Return the environments in which each recorder is built and used."""
    script = cache() / f"c++-without-{part}"
    without = f"-DHALOSCOPE_WITHOUT_{part.upper().replace('-', '_')}"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec "{compiler()}" {without} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    # The search for iterations reads the current call.
    plain = MPI_ENVIRONMENT | {"HALOSCOPE_PHASES": "0"}
    return {"with": plain, "without": plain | {"CXX": str(script)}}


def measure(part: str, rounds: int, calls: int) -> None:
    """Emit what each kind of call costs more."""
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
    """Times that are not told from zero count as a thousandth of a nanosecond."""
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
    parser.add_argument("--part", choices=PARTS, default=PARTS, nargs="+", help="what is left out")
    parser.add_argument("--rounds", type=int, default=30, help="processes of each kind")
    parser.add_argument("--calls", type=int, default=2000, help="calls a case and round")
    options = parser.parse_args()
    for part in options.part:
        measure(part, options.rounds, options.calls)


if __name__ == "__main__":
    main()
