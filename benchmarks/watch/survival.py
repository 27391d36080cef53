"""Whether being watched changes how programs end, over many that end in the middle of what they do.

A program (survive.c) is killed, gets SIGTERM or SIGABRT at a random time, calls MPI_Abort, exit or _exit
after a random number of messages, or comes to its end. Its exit status and what it prints are compared with
those without a recorder. Programs are watched as on a machine where everything is (`haloscope env`, then
`haloscope recover` for a batch of them), and a part under `haloscope run`. Afterwards nothing may be left: no
live records, no files, no processes; and all profiles must be whole.

    survival.py --runs 10000 [--launched 300] [--under-run 200] [--mpicc mpicc.mpich --mpiexec mpiexec.mpich]

A JSON object a line; the exit status is 1 if anything differed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import MPI_ENVIRONMENT

import haloscope

HERE = Path(__file__).resolve().parent
BY_SIGNAL, BY_CALL = ("kill", "term", "abort"), ("MPI_Abort", "exit", "_exit", "return")
BATCH = 250  # programs that leave their records to one `haloscope recover`
PATIENCE, HUNG = 30, -100  # seconds until a program counts as hanging, and its status
SHARED = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None
COMMAND = Path(sys.executable).with_name("haloscope")

# Exit status, and what was printed.
End = tuple[int, str]


@dataclass(frozen=True)
class Case:
    """How one run ends."""

    how: str
    steps: int
    microseconds: int

    def words(self) -> list[str]:
        return [self.how, str(self.steps), str(self.microseconds)]


def cases(seed: int, longest: float) -> Iterator[Case]:
    """Without end: each way to end in turn, at random times of up to `longest` seconds."""
    draw = random.Random(seed)
    while True:
        for how in (*BY_SIGNAL, *BY_CALL):
            # Half of the signals find the program among its messages, half of them about its end.
            steps = draw.choice([0, draw.randrange(1, 300)]) if how in BY_SIGNAL else draw.randrange(1, 500)
            yield Case(how, steps, int(1e6 * draw.random() * longest))


@dataclass
class Soak:
    """A directory in which programs run, and what was seen of them."""

    directory: Path
    program: Path
    launcher: Sequence[str]
    live: Path  # in shared memory
    references: int  # runs without a recorder for each way to end, where a launcher is between
    ends: Counter[str] = field(default_factory=Counter)
    differing: list[str] = field(default_factory=list)
    profiles: int = 0
    recovered: int = 0

    @property
    def output(self) -> Path:
        return self.directory / "profiles"

    def surroundings(self, recorder: bool) -> dict[str, str]:
        """The environment of a program, with a temporary directory of its own."""
        plain = {k: v for k, v in MPI_ENVIRONMENT.items() if not k.startswith("HALOSCOPE_")}
        plain |= {"SURVIVAL": str(self.directory), "TMPDIR": str(self.directory / "tmp")}
        plain |= {} if self.launcher else {"SURVIVE_ALONE": "1"}
        return plain | (self._watched if recorder else {})

    def watch(self) -> None:
        """Have everything watched from here on."""
        for folder in (self.output, self.directory / "tmp"):
            folder.mkdir(exist_ok=True)
        self._watched = haloscope.env(
            [*self.launcher, str(self.program)], output=self.output / "%p.halo", live=self.live
        )

    def run(self, case: Case, recorder: bool, prefix: Sequence[str] = ()) -> End:
        command = [*map(str, prefix), *self.launcher, str(self.program), *case.words()]
        under = {"HALOSCOPE_CACHE": str(_cache()), "HALOSCOPE_LIVE": str(self.live)} if prefix else {}
        with subprocess.Popen(
            command,
            env=self.surroundings(recorder and not prefix) | under,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        ) as running:
            try:
                printed, _ = running.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:  # launchers may not see that a rank is dead
                os.killpg(running.pid, signal.SIGKILL)
                running.communicate()
                return HUNG, ""
        return running.returncode, "".join(sorted(printed.splitlines(keepends=True)))

    def compare(self, case: Case, end: End, expected: set[End]) -> None:
        self.ends[case.how] += 1
        if end not in expected:
            self.differing.append(f"{' '.join(case.words())}: {end}, not {sorted(expected)}")

    def clear(self) -> None:
        """Make the profiles of what was interrupted, as an epilogue would, and look at what is left."""
        if any(self.live.iterdir()):
            done = subprocess.run(
                [COMMAND, "recover", self.live, "-o", self.output / "recovered.halo"],
                capture_output=True,
                text=True,
                timeout=600,
                check=False,
            )
            if done.returncode:
                self.differing.append(f"recover: {done.stderr}")
        for left in sorted(self.live.rglob("*")):
            self.differing.append(f"left: {left}")
        for path in self.output.iterdir():
            self._take(path)
        shutil.rmtree(self.live)
        self.live.mkdir()

    def _take(self, path: Path) -> None:
        try:
            with haloscope.open(path) as profile:
                profile.verify()
        except haloscope.HaloscopeError as error:
            self.differing.append(str(error))
        self.profiles += 1
        self.recovered += path.name.startswith("recovered")
        path.unlink()


def _cache() -> Path:
    from haloscope.base.cache import cache

    return cache()


def longest_time(soak: Soak) -> float:
    """Seconds until the latest signal: somewhat longer than a program takes to its end."""
    times = []
    for _ in range(5):
        begin = time.monotonic()
        soak.run(Case("return", 300, 0), True)
        times.append(time.monotonic() - begin)
    shutil.rmtree(soak.output)
    soak.output.mkdir()
    return 1.3 * sorted(times)[2]


def left_processes(directory: Path) -> list[str]:
    """Processes that still have the soak's environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            text = (place / "environ").read_bytes()
        except OSError:
            continue
        if b"SURVIVAL=" + os.fsencode(directory) in text and int(place.name) != os.getpid():
            found.append(place.name)
    return found


def expected_alone(soak: Soak, case: Case) -> set[End]:
    """What a process without a launcher does, whatever watches it."""
    signals = {"kill": -9, "term": -15, "abort": -6}
    if case.how in signals:
        # A process that is not yet in main has printed nothing.
        return {(signals[case.how], "begin\n"), (signals[case.how], "")}
    statuses = {"MPI_Abort": 7, "exit": 5, "_exit": 6, "return": 3}
    total = sum(range(case.steps))
    return {(statuses[case.how], f"begin\nsum {total}\n")}


def references(soak: Soak, seed: int, longest: float) -> dict[str, set[End]]:
    """Ends without a recorder by the way to end, each so often: launchers know several."""
    found: dict[str, set[End]] = defaultdict(set)
    ways = len(BY_SIGNAL + BY_CALL)
    for _, case in zip(range(soak.references * ways), cases(seed, longest), strict=False):
        status, text = soak.run(case, False)
        found[case.how].add((status, _without_sums(text)))
    return found


def _without_sums(text: str) -> str:
    return "".join("sum\n" if line.startswith("sum") else line for line in text.splitlines(keepends=True))


def soak_alone(soak: Soak, runs: int, seed: int, longest: float, prefix: Sequence[str] = ()) -> None:
    """Processes without a launcher; one in ten also without a recorder."""
    for number, case in zip(range(runs), cases(seed, longest), strict=False):
        expected = expected_alone(soak, case)
        soak.compare(case, soak.run(case, True, prefix), expected)
        if number % 10 == 0:
            soak.compare(case, soak.run(case, False), expected)
        if number % BATCH == BATCH - 1:
            soak.clear()
    soak.clear()


def soak_launched(soak: Soak, runs: int, seed: int, longest: float, prefix: Sequence[str] = ()) -> None:
    """Two ranks each."""
    expected = references(soak, seed + 1, longest)
    for number, case in zip(range(runs), cases(seed, longest), strict=False):
        status, text = soak.run(case, True, prefix)
        soak.compare(case, (status, _without_sums(text)), expected[case.how])
        if number % BATCH == BATCH - 1:
            soak.clear()
    soak.clear()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--launched", type=int, default=300)
    parser.add_argument("--under-run", type=int, default=200)
    parser.add_argument("--references", type=int, default=20, help="bare runs for each way to end")
    parser.add_argument("--mpicc", default="mpicc")
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    bad = False
    with tempfile.TemporaryDirectory(prefix="survival-") as scratch:
        program = Path(scratch) / "survive"
        subprocess.run(
            [given.mpicc, "-O1", str(HERE / "survive.c"), "-lpthread", "-o", str(program)], check=True
        )
        two = [given.mpiexec, "-n", "2"]
        parts = [
            ("alone", [], given.runs, False),
            ("two ranks", two, given.launched, False),
            ("alone, under run", [], given.under_run, True),
            ("two ranks, under run", two, given.under_run // 4, True),
        ]
        for name, launcher, runs, under in parts:
            if not runs:
                continue
            live = Path(tempfile.mkdtemp(prefix="survival-", dir=SHARED))
            soak = Soak(Path(tempfile.mkdtemp(dir=scratch)), program, launcher, live, given.references)
            soak.watch()
            output = str(soak.output / "%p.halo")
            command = [str(COMMAND), "run", "--quiet", "-o", output, "--"]
            begin = time.monotonic()
            longest = longest_time(soak)
            each = soak_launched if launcher else soak_alone
            each(soak, runs, given.seed, longest, command if under else ())
            live.rmdir()
            processes = left_processes(soak.directory)
            bad = bad or bool(soak.differing or processes)
            print(
                json.dumps(
                    {
                        "benchmark": "survival",
                        "case": name,
                        "mpi": given.mpicc,
                        "runs": runs,
                        "ends": dict(soak.ends),
                        "differing": soak.differing[:20],
                        "profiles": soak.profiles,
                        "recovered": soak.recovered,
                        "longest": round(longest, 3),
                        "processes_left": processes,
                        "seconds": round(time.monotonic() - begin, 1),
                    }
                ),
                flush=True,
            )
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
