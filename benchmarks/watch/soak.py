"""Runs of many programs that end at random times, and checks of their profiles and leftovers."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import HALOSCOPE, MPI_ENVIRONMENT, profiling

import haloscope
from haloscope.base.cache import cache

BY_SIGNAL, BY_CALL = ("kill", "term", "abort"), ("MPI_Abort", "exit", "_exit", "return")
BATCH = 250  # programs that leave their records to one `haloscope recover`
PATIENCE, HUNG = 30, -100  # seconds until a program counts as hanging, and its status
DESERTED = -101  # the status if only the launcher is left: all ranks have ended

# Exit status and output.
End = tuple[int, str]
# Allowed ends of a program, by the kind of its end.
Expected = dict[str, set[End]]
# MPICH's launcher sometimes loses a rank that is ended by a signal, and reports only a status. This happened
# in 1 of 160 runs without a recorder on two ranks, too rarely for the reference runs.
LOST: End = (255, "begin\nbegin\n")
# Or it waits forever without any rank or proxy (1 of 60 runs without a recorder on a busy machine).
WAITING: End = (DESERTED, "")
# Open MPI prints a stack trace at SIGABRT. If the signal interrupts the dynamic linker, printing calls the
# linker again. Then the linker ends the program (2 of 600 aborted runs without a recorder) or deadlocks (1 of
# 600).
PRINTING: set[End] = {(127, "begin\n"), (HUNG, "")}


@dataclass(frozen=True)
class Case:
    """The end of one run."""

    how: str
    steps: int
    microseconds: int

    def words(self) -> list[str]:
        return [self.how, str(self.steps), str(self.microseconds)]


def cases(seed: int, longest: float, ways: Sequence[str]) -> Iterator[Case]:
    """Yield cases without end: each kind of end in turn, at random times of up to `longest` seconds."""
    draw = random.Random(seed)
    while True:
        for how in ways:
            # Half of the signals arrive during messages, half of them near the end of the program.
            steps = draw.choice([0, draw.randrange(1, 300)]) if how in BY_SIGNAL else draw.randrange(1, 500)
            yield Case(how, steps, int(1e6 * draw.random() * longest))


@dataclass
class Soak:
    """A directory in which programs run, and their results."""

    directory: Path
    program: Path
    launcher: Sequence[str]
    live: Path  # in shared memory
    ways: Sequence[str] = BY_SIGNAL + BY_CALL  # kinds of ends
    prints_aborts: bool = False  # as Open MPI does
    ends: Counter[str] = field(default_factory=Counter)  # of profiled programs
    bare: int = 0  # programs that ran without a recorder
    hung: int = 0  # profiled programs that their launcher leaves hanging, as without a recorder
    odd: Counter[str] = field(default_factory=Counter)  # ends that MPI itself gives, by `watched` and `bare`
    differing: list[str] = field(default_factory=list)
    profiles: int = 0
    recovered: int = 0

    @property
    def output(self) -> Path:
        return self.directory / "profiles"

    def surroundings(self, recorder: bool) -> dict[str, str]:
        """Return the environment of a program, with its own temporary directory."""
        plain = {k: v for k, v in MPI_ENVIRONMENT.items() if not k.startswith("HALOSCOPE_")}
        plain |= {"SURVIVAL": str(self.directory), "TMPDIR": str(self.directory / "tmp")}
        # Open MPI starts a daemon for a process without a launcher, which takes longer than the rest.
        alone = {"SURVIVE_ALONE": "1", "OMPI_MCA_ess_singleton_isolated": "1"}
        plain |= {} if self.launcher else alone
        return plain | (self._watched if recorder else {})

    def watch(self) -> None:
        """Prepare the environment that profiles programs."""
        for folder in (self.output, self.directory / "tmp"):
            folder.mkdir(exist_ok=True)
        self._watched = haloscope.env(
            [*self.launcher, str(self.program)], output=self.output / "%p.halo", live=self.live
        )

    def under_run(self) -> list[str]:
        """Return the prefix that runs a program under `haloscope run`."""
        return profiling(self.output / "%p.halo")

    def run(self, case: Case, recorder: bool, prefix: Sequence[str] = ()) -> End:
        command = [*map(str, prefix), *self.launcher, str(self.program), *case.words()]
        under = {"HALOSCOPE_CACHE": str(cache()), "HALOSCOPE_LIVE": str(self.live)} if prefix else {}
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
                is_there = any(self.is_rank(process) for process in left_processes(self.directory))
                os.killpg(running.pid, signal.SIGKILL)
                running.communicate()
                return HUNG if is_there else DESERTED, ""
        return running.returncode, "".join(sorted(printed.splitlines(keepends=True)))

    def is_rank(self, process: str) -> bool:
        """Return whether a process runs the program, and has not ended."""
        try:
            return Path("/proc", process, "exe").readlink() == self.program
        except OSError:
            return False

    def compare(self, case: Case, end: End, expected: set[End]) -> None:
        """Count the end of a profiled program, and check it."""
        self.ends[case.how] += 1
        self.hung += end[0] in (HUNG, DESERTED) and end in expected
        self.check(case, end, expected)

    def check(self, case: Case, end: End, expected: set[End]) -> None:
        if end not in expected:
            self.differ(f"{' '.join(case.words())}: {end}, not {sorted(expected)}")

    def differ(self, line: str) -> None:
        """Store and print a difference. It is printed immediately, because a soak takes long."""
        self.differing.append(line)
        print(line, file=sys.stderr, flush=True)

    def longest_time(self) -> float:
        """Return the seconds until the latest signal: slightly more than the time of a profiled program."""
        times = []
        for _ in range(5):
            begin = time.monotonic()
            self.run(Case("return", 300, 0), True)
            times.append(time.monotonic() - begin)
        shutil.rmtree(self.output)
        self.output.mkdir()
        return 1.3 * sorted(times)[2]

    def clear(self) -> None:
        """Recover the profiles of interrupted programs, as an epilogue does, and report leftovers."""
        if any(self.live.iterdir()):
            done = subprocess.run(
                [HALOSCOPE, "recover", self.live, "-o", self.output / "recovered.halo"],
                capture_output=True,
                text=True,
                timeout=600,
                check=False,
            )
            if done.returncode:
                self.differ(f"recover: {done.stderr}")
        for left in sorted(self.live.rglob("*")):
            self.differ(f"left: {left}")
        for path in self.output.iterdir():
            self._take(path)
        shutil.rmtree(self.live)
        self.live.mkdir()
        progress = f"{sum(self.ends.values())} ended, {self.profiles} profiles, {len(self.differing)} differ"
        print(f"{self.live.name}: {progress}", file=sys.stderr, flush=True)

    def _take(self, path: Path) -> None:
        try:
            with haloscope.open(path) as profile:
                profile.verify()
        except haloscope.HaloscopeError as error:
            self.differ(str(error))
        self.profiles += 1
        self.recovered += path.name.startswith("recovered")
        path.unlink()


def left_processes(directory: Path) -> list[str]:
    """Return the processes that have the soak's environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            text = (place / "environ").read_bytes()
        except OSError:
            continue
        if b"SURVIVAL=" + os.fsencode(directory) in text and int(place.name) != os.getpid():
            found.append(place.name)
    return found


def expected_alone(case: Case) -> set[End]:
    """Return the ends of a process without a launcher, with and without a recorder."""
    signals = {"kill": -9, "term": -15, "abort": -6}
    if case.how in signals:
        # A process has no output before main.
        return {(signals[case.how], "begin\n"), (signals[case.how], "")}
    statuses = {"MPI_Abort": 7, "exit": 5, "_exit": 6, "return": 3}
    total = sum(range(case.steps))
    return {(statuses[case.how], f"begin\nsum {total}\n")}


def references(soak: Soak, seed: int, each: int, longest: float) -> Expected:
    """Return the ends without a recorder, of `each` programs per kind of end: launchers have several."""
    found: Expected = defaultdict(set)
    for _, case in zip(range(each * len(soak.ways)), cases(seed, longest, soak.ways), strict=False):
        status, text = soak.run(case, False)
        soak.bare += 1
        found[case.how].add((status, _without_numbers(text)))
    return found


def _without_numbers(text: str) -> str:
    """Return the output without values that differ between runs: sums, and MPICH's process numbers."""
    text = re.sub(r"\bPID \d+", "PID", text)
    return "".join("sum\n" if line.startswith("sum") else line for line in text.splitlines(keepends=True))


def soak_alone(soak: Soak, runs: int, seed: int, longest: float, prefix: Sequence[str] = ()) -> None:
    """Run processes without a launcher, and every tenth also without a recorder."""
    for number, case in zip(range(runs), cases(seed, longest, soak.ways), strict=False):
        odd = PRINTING if soak.prints_aborts and case.how == "abort" else set()
        expected = expected_alone(case) | odd
        end = soak.run(case, True, prefix)
        soak.compare(case, end, expected)
        soak.odd["watched"] += end in odd
        if number % 10 == 0:
            end = soak.run(case, False)
            soak.check(case, end, expected)
            soak.odd["bare"] += end in odd
            soak.bare += 1
        if number % BATCH == BATCH - 1:
            soak.clear()
    soak.clear()


def soak_launched(
    soak: Soak, runs: int, seed: int, longest: float, expected: Expected, prefix: Sequence[str] = ()
) -> None:
    """Run programs of two ranks each."""
    for number, case in zip(range(runs), cases(seed, longest, soak.ways), strict=False):
        status, text = soak.run(case, True, prefix)
        lost = {LOST, WAITING} if case.how in BY_SIGNAL and "mpich" in soak.launcher[0] else set()
        soak.compare(case, (status, _without_numbers(text)), expected[case.how] | lost)
        if number % BATCH == BATCH - 1:
            soak.clear()
    soak.clear()
