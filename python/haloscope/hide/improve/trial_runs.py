"""Runs of a program with remedies: their time, or the reason of their failure."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haloscope.base.errors import LaunchError
from haloscope.base.files import read_last_line
from haloscope.base.tools import environment_tool, find_tool
from haloscope.base.units import duration_text
from haloscope.hide.improve.remedy import PROFILE, Remedy
from haloscope.profile import Profile

# A run that takes this multiple of the first one is ended, as it may hang.
_PATIENCE = 5.0
_LEAST_PATIENCE = 60.0
_GRACE = 10.0


@dataclass(frozen=True)
class TrialRun:
    """One run: names of its remedies, and seconds from MPI_Init to MPI_Finalize, or None and the problem."""

    remedies: tuple[str, ...]
    seconds: float | None
    problem: str = ""


class Runner:
    """Runs a launch command with a profile, so that the time excludes the launcher."""

    def __init__(self, command: Sequence[str], directory: Path) -> None:
        self.command = list(command)
        self._directory = directory
        self._limit: float | None = None
        self.runs: list[TrialRun] = []

    @property
    def profile(self) -> Path:
        """The profile of the first run."""
        return self._directory / "run-1.halo"

    def __call__(self, *remedies: Remedy) -> TrialRun:
        """Run the command once. The output of the program goes to a file in the directory."""
        number = len(self.runs) + 1
        profile = self._directory / f"run-{number}.halo"
        run = self._run(remedies, profile, self._directory / f"run-{number}.log")
        self.runs.append(run)
        if run.seconds is not None and self._limit is None:
            self._limit = max(_LEAST_PATIENCE, _PATIENCE * run.seconds)
        if number > 1:
            profile.unlink(missing_ok=True)
        return run

    def _run(self, remedies: Sequence[Remedy], profile: Path, log: Path) -> TrialRun:
        names = tuple(remedy.name for remedy in remedies)
        command, environment = self.command, dict(os.environ)
        for remedy in remedies:
            command = remedy.apply(command)
            for name, value in remedy.variables.items():
                environment.pop(name, None)
                if value is not None:
                    environment[name] = value
        profiled = [_find_haloscope(), "run", "--quiet", "-o", str(profile), "--", *command]
        for remedy in remedies:
            if remedy.around:
                around = [str(self.profile) if word == PROFILE else word for word in remedy.around]
                profiled = [_find_haloscope(), *around, *profiled]
        try:
            status = _run_command(profiled, environment, log, self._limit)
        except subprocess.TimeoutExpired:
            return TrialRun(names, None, f"ended after {duration_text(self._limit)}")
        if status or not profile.exists():
            return TrialRun(names, None, f"status {status}: {read_last_line(log) or 'no output'}")
        seconds = _read_duration(profile)
        # Ratios need a positive time.
        return TrialRun(names, seconds, "" if seconds else "its profile has no duration")


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
