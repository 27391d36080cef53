"""Runs of a program with remedies: their time, or the reason of their failure."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haloscope.base.errors import LaunchError
from haloscope.base.files import read_end, read_last_line
from haloscope.base.tools import environment_tool, find_tool
from haloscope.base.units import duration_text
from haloscope.hide.improve.merit import FigureOfMerit
from haloscope.hide.improve.remedy import PROFILE, Remedy
from haloscope.profile import Profile

# A run that takes this multiple of the first one is ended, as it may hang.
_PATIENCE = 5.0
_LEAST_PATIENCE = 60.0
_GRACE = 10.0
_MOST_OUTPUT = 16 << 20  # bytes of the output that are read, its end


@dataclass(frozen=True)
class TrialRun:
    """One run: names of its remedies, and seconds from MPI_Init to MPI_Finalize, or None and the problem.

    `metric` is the number that the program printed, if the user asks for it. `cost` is then compared instead
    of the seconds: this number, or its inverse if more is better.
    """

    remedies: tuple[str, ...]
    seconds: float | None
    problem: str = ""
    metric: float | None = None
    cost: float | None = None

    @property
    def judged(self) -> float | None:
        """The compared number, less is better; None for a failed run."""
        return self.seconds if self.cost is None else self.cost


class Runner:
    """Runs a launch command with a profile, so that the time excludes the launcher."""

    def __init__(self, command: Sequence[str], directory: Path, metric: FigureOfMerit | None = None) -> None:
        self.command = list(command)
        self.runs: list[TrialRun] = []
        self.outputs: dict[tuple[str, ...], Outputs] = {}
        self.taken = 0
        """Bytes of memory that the processes of the first run took from the system, on this node."""
        self._directory = directory
        self._metric = metric
        self._limit: float | None = None

    @property
    def profile(self) -> Path:
        """The profile of the first run."""
        return self._directory / "run-1.halo"

    def __call__(self, *remedies: Remedy) -> TrialRun:
        """Run the command once. The output of the program goes to a file in the directory."""
        number = len(self.runs) + 1
        profile, log = (self._directory / f"run-{number}.{suffix}" for suffix in ("halo", "log"))
        faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
        run = self._run(remedies, profile, log)
        self.runs.append(run)
        if number == 1:
            faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - faults
            self.taken = faults * resource.getpagesize()
        if run.seconds is not None and self._limit is None:
            self._limit = max(_LEAST_PATIENCE, _PATIENCE * run.seconds)
        if number > 1:
            profile.unlink(missing_ok=True)
            log.unlink(missing_ok=True)
        return run

    def _run(self, remedies: Sequence[Remedy], profile: Path, log: Path) -> TrialRun:
        names = tuple(remedy.name for remedy in remedies)
        command, environment = self._apply(remedies, profile)
        try:
            status = _run_command(command, environment, log, self._limit)
        except subprocess.TimeoutExpired:
            return TrialRun(names, None, f"ended after {duration_text(self._limit)}")
        if status or not profile.exists():
            return TrialRun(names, None, f"status {status}: {read_last_line(log) or 'no output'}")
        seconds = _read_duration(profile)
        if seconds is None:  # ratios need a positive time
            return TrialRun(names, None, "its profile has no duration")
        output = read_end(log, _MOST_OUTPUT)
        self.outputs.setdefault(names, Outputs()).add(output)
        if self._metric is None:
            return TrialRun(names, seconds)
        value, problem = self._metric.read(output)
        if value is None:
            return TrialRun(names, None, problem)
        return TrialRun(names, seconds, "", value, self._metric.cost(value))

    def _apply(self, remedies: Sequence[Remedy], profile: Path) -> tuple[list[str], dict[str, str]]:
        """Return the command with remedies that writes a profile, and its environment."""
        command, environment = self.command, dict(os.environ)
        for remedy in remedies:
            command = remedy.apply(command)
            for name, value in remedy.variables.items():
                environment.pop(name, None)
                if value is not None:
                    environment[name] = value
        command = [_find_haloscope(), "run", "--quiet", "-o", str(profile), "--", *command]
        for remedy in remedies:
            if remedy.around:
                around = [str(self.profile) if word == PROFILE else word for word in remedy.around]
                command = [_find_haloscope(), *around, *command]
        return command, environment


class Outputs:
    """Lines that all runs of a command print, and lines that any of them prints."""

    def __init__(self) -> None:
        self.of_all: frozenset[str] | None = None
        self.of_any: frozenset[str] = frozenset()

    def add(self, output: str) -> None:
        """Add the output of a run."""
        lines = frozenset(" ".join(line.split()) for line in output.splitlines())
        self.of_all = lines if self.of_all is None else self.of_all & lines
        self.of_any |= lines

    def find_missing(self, other: Outputs) -> list[str]:
        """Return the lines that all of these runs print, and none of the others."""
        return sorted((self.of_all or frozenset()) - other.of_any)


def _run_command(
    command: Sequence[str], environment: Mapping[str, str], log: Path, limit: float | None
) -> int:
    """Return the status of a command. On a timeout it gets SIGTERM first, so that it can end its ranks."""
    with (
        log.open("wb") as out,
        subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        ) as child,
    ):
        try:
            return child.wait(limit)
        except BaseException:
            child.terminate()
            try:
                child.wait(_GRACE)
            except subprocess.TimeoutExpired:
                child.kill()
            raise


def _read_duration(profile: Path) -> float | None:
    """Return the seconds of a run, None if unknown."""

    with Profile(profile) as opened:
        seconds = opened.info.get("duration")
    return float(seconds) if isinstance(seconds, int | float) and 0 < seconds < np.inf else None


def _find_haloscope() -> str:
    found = environment_tool("haloscope") or find_tool("haloscope")
    if found is None:
        raise LaunchError("the command haloscope is not on PATH; it is needed to start runs")
    return str(found)
