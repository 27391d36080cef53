"""A program run once more, with remedies: how long it took, or why it did not come to its end."""

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
from haloscope.hide.improve.remedy import PROFILE, Remedy
from haloscope.profile import Profile

# A run that takes so many times longer than the first one is no remedy, and may hang.
_PATIENCE = 5.0
_LEAST_PATIENCE = 60.0
_GRACE = 10.0


@dataclass(frozen=True)
class TrialRun:
    """One run: `remedies` are names; `seconds` from MPI_Init to MPI_Finalize, or None and what went wrong."""

    remedies: tuple[str, ...]
    seconds: float | None
    problem: str = ""


class Runner:
    """Runs a launch command, watched, so that its time is that of the program and not of its launcher."""

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
        """Run it once. What the program prints goes to a file in the directory."""
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
            command = remedy.applied(command)
            for name, value in remedy.variables.items():
                environment.pop(name, None)
                if value is not None:
                    environment[name] = value
        watched = [_haloscope(), "run", "--quiet", "-o", str(profile), "--", *command]
        for remedy in remedies:
            if remedy.around:
                around = [str(self.profile) if word == PROFILE else word for word in remedy.around]
                watched = [_haloscope(), *around, *watched]
        try:
            status = _ended(watched, environment, log, self._limit)
        except subprocess.TimeoutExpired:
            return TrialRun(names, None, f"was ended after {self._limit:.0f} s")
        if status or not profile.exists():
            return TrialRun(names, None, f"status {status}: {read_last_line(log) or 'nothing was said'}")
        seconds = _duration(profile)
        # A ratio of what is no time would be no number.
        return TrialRun(names, seconds, "" if seconds else "its profile does not say how long it took")


def _ended(command: Sequence[str], environment: Mapping[str, str], log: Path, limit: float | None) -> int:
    """Return the status of a command. What we end is asked first, so that it leaves no ranks behind."""
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


def _duration(profile: Path) -> float | None:
    """Return the seconds of a run, None if they are not known."""

    with Profile(profile) as opened:
        told = opened.info.get("duration")
    return float(told) if isinstance(told, int | float) and 0 < told < np.inf else None


def _haloscope() -> str:
    found = environment_tool("haloscope") or find_tool("haloscope")
    if found is None:
        raise LaunchError("the command haloscope is not on PATH; runs are started by it")
    return str(found)
