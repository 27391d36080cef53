"""Cost of the start of a process without MPI if all processes are profiled.

`true` runs alternately in the environment of a shell that has read the file of `haloscope env --always`, and
in the environment before. A second row compares a shell that reads that file with one that does not. Times
are microseconds from the start to the end of the process; `ratio` is not watched ÷ watched, of each pair.

Then a program of two ranks that does nothing runs alternately alone and profiled, as a user types it: with
the summary, with a trace, quietly, and without compiled modules of Python. These rows have the milliseconds
that profiling adds, and the allowed ones. Processor time is that of all processes together.

    starts.py [--pairs 400] [--rounds 15]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import MPI_ENVIRONMENT, compile_c, emit, emit_allowed, estimate, profiling

from haloscope.base.launcher import report_toolchain

COMMAND = str(Path(sys.executable).with_name("haloscope"))
WARM_UP = 10
EMPTY = "#include <mpi.h>\nint main(int n, char **words) { MPI_Init(&n, &words); MPI_Finalize(); }\n"
# Milliseconds that a launch may take longer.
ALLOWED = {"summary": 100, "quiet": 50, "trace": 150, "no compiled modules": 150}


def plain() -> dict[str, str]:
    """Return the environment without our variables."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("HALOSCOPE_", "LD_PRELOAD"))
    }


def read_by_a_shell(script: Path) -> dict[str, str]:
    """Return the environment of programs that a shell starts after it has read the file."""
    words = ["sh", "-c", '. "$0" && exec env -0', str(script)]
    printed = subprocess.run(words, env=plain(), check=True, capture_output=True, text=True).stdout
    found = dict(line.split("=", 1) for line in printed.split("\0") if line)
    if "libhaloscope-watch.so" not in found.get("LD_PRELOAD", ""):
        raise SystemExit(f"{script}: a shell that reads it preloads no recorder")
    return found


def lasting(words: list[str], environment: dict[str, str]) -> float:
    """Return the microseconds of a process."""
    begin = time.perf_counter()
    number = os.posix_spawn(words[0], words, environment)
    _, status = os.waitpid(number, 0)
    taken = time.perf_counter() - begin
    if status:
        raise SystemExit(f"{words[0]}: status {status}")
    return 1e6 * taken


def compare(case: str, watched: Callable[[], float], bare: Callable[[], float], pairs: int) -> None:
    """Emit both sides; their order alternates."""
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(WARM_UP + pairs):
        for is_ours in (True, False) if number % 2 else (False, True):
            taken = watched() if is_ours else bare()
            if number >= WARM_UP:
                (ours if is_ours else theirs).append(taken)
    emit(
        "watch-starts",
        case,
        ours=estimate(ours).median,
        peer=estimate(theirs).median,
        peer_name="not watched",
        unit="us",
        ratio=estimate([other / own for own, other in zip(ours, theirs, strict=True)]),
    )


def measure(pairs: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        script, profiles = Path(name) / "always.sh", Path(name) / "profiles"
        profiles.mkdir()
        words = [COMMAND, "env", "--always", str(profiles)]
        script.write_text(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        before, after = plain(), read_by_a_shell(script)
        true = ["/bin/true"]
        compare("true", lambda: lasting(true, after), lambda: lasting(true, before), pairs)
        shell, reading = ["/bin/sh", "-c", ":"], ["/bin/sh", "-c", '. "$0"', str(script)]
        compare(
            "a shell that reads the file",
            lambda: lasting(reading, before),
            lambda: lasting(shell, before),
            pairs,
        )


def run_once(words: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the milliseconds of a launch, and those of processors in all of its processes."""
    begin = time.perf_counter()
    with open(os.devnull, "w") as nowhere:
        started = subprocess.Popen(words, env=environment, stdin=nowhere, stdout=nowhere, stderr=nowhere)
        _, status, used = os.wait4(started.pid, 0)
    taken = time.perf_counter() - begin
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise SystemExit(f"{' '.join(words)}: status {started.returncode}")
    return 1e3 * taken, 1e3 * (used.ru_utime + used.ru_stime)


def measure_runs(rounds: int) -> None:
    """Emit what `haloscope run` adds to the launch of a program that does nothing."""
    with tempfile.TemporaryDirectory() as name:
        source, program, profile = (Path(name) / file for file in ("empty.c", "empty", "run.halo"))
        source.write_text(EMPTY)
        compile_c(source, program)
        launch = [str(report_toolchain().launcher), "-n", "2", str(program)]
        bare, quiet, summary = launch, profiling(profile, launch), profiling(profile, launch, quiet=False)
        trace = [*summary[:2], "--trace", *summary[2:]]
        interpreted = MPI_ENVIRONMENT | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": name}
        sides = {
            "bare": (bare, MPI_ENVIRONMENT),
            "summary": (summary, MPI_ENVIRONMENT),
            "quiet": (quiet, MPI_ENVIRONMENT),
            "trace": (trace, MPI_ENVIRONMENT),
            "no compiled modules": (summary, interpreted),
        }
        taken: dict[str, list[tuple[float, float]]] = {side: [] for side in sides}
        for number in range(rounds + 1):
            for side, (words, environment) in sides.items():
                times = run_once(words, dict(environment))
                if number:  # the first one warms up
                    taken[side].append(times)
    for side, allowed in ALLOWED.items():
        for index, kind in enumerate(("", ", processor")):
            pairs = zip(taken[side], taken["bare"], strict=True)
            added = estimate([ours[index] - alone[index] for ours, alone in pairs])
            emit_allowed("watch-starts", f"run, {side}{kind}", added.median, allowed, "ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=400, help="processes of each kind")
    parser.add_argument("--rounds", type=int, default=15, help="launches of each kind")
    options = parser.parse_args()
    measure(options.pairs)
    measure_runs(options.rounds)


if __name__ == "__main__":
    main()
