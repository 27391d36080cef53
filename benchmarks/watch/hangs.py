"""Time until `haloscope hang` prints the cause of planted hangs.

    hangs.py [--mpicc mpicc.mpich --mpiexec mpiexec.mpich] [--ranks 4]

Each program runs for a second before `haloscope hang` starts. The time is from the start of the command to
its first line, the verdict. Prints a JSON object per hang, and one for all. The exit status is 1 if a verdict
is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import HALOSCOPE, MPI_ENVIRONMENT, SHARED_CORES, profiling

from haloscope.base.launcher import report_toolchain

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCE = CHECKOUT / "tests" / "watch" / "programs" / "hangs.c"
# A part of the verdict of each hang.
WORDS = {
    "ring of sends": "deadlock of sends without receives: ranks 0-3",
    "ring of receives": "all wait to receive, and no rank sends",
    "missing collective": "rank 1 has come to MPI_Finalize without MPI_Allreduce",
    "different collectives": "different collectives on MPI_COMM_WORLD",
    "wrong tag": "rank 1 receives from 0 with tag 3, but the message of 0 has tag 4",
    "asleep": "for rank 1, asleep",
    "computing": "for rank 1, computing",
    "dead": "rank 1 is dead",
    "from itself": "rank 2 waits for itself",
    "nobody receives": "rank 1 has come to MPI_Finalize and will not receive",
    "barrier and receive": "deadlock of ranks 0-1",
    "never sent": "deadlock of ranks 0-1",
    "in a part": "ranks 1, 3 all wait to receive",
}


def _records(live: Path) -> dict[int, int]:
    pairs = [path.stem.split("-") for path in live.glob("haloscope-*/*.live")]
    return {int(rank): int(process) for rank, process in pairs}


@contextmanager
def _hung(command: list[str], live: Path, how: str) -> Iterator[None]:
    environment = SHARED_CORES | {"HALOSCOPE_LIVE": str(live)}
    stopped = 0
    with subprocess.Popen(
        [*command, how], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as job:
        assert job.stdout is not None
        job.stdout.readline()
        time.sleep(1)
        try:
            if how == "dead":  # the launcher is stopped, because it would end the other ranks
                process = _records(live)[1]
                stopped = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
                os.kill(stopped, signal.SIGSTOP)
                os.kill(process, signal.SIGKILL)
            yield
        finally:
            if stopped:
                os.kill(stopped, signal.SIGCONT)
            job.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                job.communicate(timeout=60)


def _ask(live: Path) -> tuple[float, str]:
    """Return the seconds until the verdict, and the verdict."""
    begin = time.monotonic()
    environment = {**os.environ, "HALOSCOPE_LIVE": str(live)}
    words = [HALOSCOPE, "hang"]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout is not None
        line = asking.stdout.readline()
        seconds = time.monotonic() - begin
        asking.stdout.read()
    return seconds, line


def main() -> int:
    """Measure all hangs."""
    parser = argparse.ArgumentParser(description=__doc__)
    tools = report_toolchain()
    parser.add_argument("--mpicc", default=str(tools.compiler.with_name("mpicc")))
    parser.add_argument("--mpiexec", default=str(tools.launcher))
    parser.add_argument("--ranks", default="4")
    options = parser.parse_args()
    times, named = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "hangs"
        compiler = [
            options.mpicc,
            "-g",
            "-O1",
            "-w",
            f"-I{CHECKOUT / 'include'}",
            str(SOURCE),
            "-o",
            str(program),
        ]
        subprocess.run(compiler, check=True, env=MPI_ENVIRONMENT)
        launch = [options.mpiexec, "-n", options.ranks, str(program)]
        subprocess.run([HALOSCOPE, "env", "--", *launch], check=True, capture_output=True)  # builds
        for how, words in WORDS.items():
            live = Path(scratch) / how.replace(" ", "-")
            live.mkdir()
            with _hung(profiling(live / "x.halo", launch), live, how):
                seconds, line = _ask(live)
            times.append(seconds)
            named += words in line
            print(
                json.dumps(
                    {"hang": how, "named": words in line, "seconds": round(seconds, 2), "said": line.strip()}
                )
            )
            sys.stdout.flush()
    result = {"hangs": len(WORDS), "named": named, "median": statistics.median(times), "most": max(times)}
    print(json.dumps({**result, "load": os.getloadavg()[0]}))
    return 0 if named == len(WORDS) else 1


if __name__ == "__main__":
    sys.exit(main())
