"""Cost of the start of a process without MPI if all processes are profiled.

`true` runs alternately in the environment of a shell that has read the file of `haloscope env --always`, and
in the environment before. A second row compares a shell that reads that file with one that does not. Times
are microseconds from the start to the end of the process; `ratio` is not watched ÷ watched, of each pair.

    starts.py [--pairs 400]
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

from common import emit, estimate

COMMAND = str(Path(sys.executable).with_name("haloscope"))
WARM_UP = 10


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=400, help="processes of each kind")
    measure(parser.parse_args().pairs)


if __name__ == "__main__":
    main()
