"""Execution of the remaining runs of a campaign, which can be killed and continued."""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from haloscope.base.errors import HaloscopeError, LaunchError
from haloscope.reproduce.campaign.attempts import (
    Ending,
    abandon_attempt,
    is_held,
    prepare,
    read_ending,
    terminate,
)
from haloscope.reproduce.campaign.campaign import Campaign
from haloscope.reproduce.campaign.jobs import ARRAY_FROM, Jobs
from haloscope.reproduce.campaign.journal import CampaignJournal
from haloscope.reproduce.campaign.points import Point
from haloscope.reproduce.campaign.programs import prepare_programs

_TICK = 0.5  # seconds between checks of batch systems; local runs are noticed at once
_GRACE = 10.0  # seconds after which files of another node are visible
_AGAIN = 10.0  # seconds between attempts to submit to a batch system that accepts no jobs
_AT_ONCE = 64
_MOST_LOOKED_AT = 256  # number of runs up to which all results are checked in each tick


@dataclass(frozen=True)
class CampaignEvent:
    """An event of `run_campaign`: `started`, `ended` or `waiting`, the run, and its outcome."""

    what: str
    run: str
    outcome: str | None = None
    reason: str | None = None


@dataclass
class _Active:
    point: Point
    number: int
    folder: Path
    has_job: bool
    over_since: float | None = None


def run_campaign(
    campaign: Campaign,
    *,
    again: bool = False,
    report: Callable[[CampaignEvent], None] = lambda happened: None,
) -> None:
    """Run the remaining runs of a campaign.

    Runs of an earlier process that still run are not started again. Ctrl-C ends runs on this machine, but not
    jobs of batch systems, whose results the next call finds.

    Args:
        campaign: The campaign.
        again: Whether to repeat failed runs.
        report: Receives each event.

    Raises:
        OutputError: Another process runs the campaign, or its directory cannot be written.
        UsageError: A program does not exist.
        LaunchError: A program cannot be built.
    """
    with CampaignJournal.opened(campaign.directory) as journal:
        _Runner(campaign, journal, report).run(again=again)


class _Runner:
    def __init__(
        self, campaign: Campaign, journal: CampaignJournal, report: Callable[[CampaignEvent], None]
    ) -> None:
        self.campaign, self.journal, self.report = campaign, journal, report
        self.woken = Event()
        self.active: dict[str, list[_Active]] = {}
        self.jobs: dict[str, Jobs] = {}
        self.attempts: dict[str, list[dict[str, Any]]] = campaign.attempts()
        self.paths: dict[str, Path] = {}
        self.turns = {point.name: turn for turn, point in enumerate(campaign.points)}
        self.accepting: set[str] = set()
        self.refused: dict[str, float] = {}

    def run(self, *, again: bool) -> None:
        self._adopt_runs()
        waiting: dict[str, deque[Point]] = {name: deque() for name in self.campaign.specification.systems}
        for point in self.campaign.points:
            state = self.campaign.state(point, self.attempts)
            if state == "waiting" or (state == "failed" and again):
                waiting[point.system].append(point)
        self.paths = prepare_programs(
            self.campaign, [point for points in waiting.values() for point in points]
        )
        with self._end_if_interrupted():
            while any(waiting.values()) or any(self.active.values()):
                self._start_ready(waiting)
                self.woken.wait(_TICK)
                self.woken.clear()
                for system, runs in self.active.items():
                    waiting[system].extendleft(reversed(list(self._check_runs(system, runs))))

    def _adopt_runs(self) -> None:
        """Continue with runs of an earlier process that have no recorded end."""
        by_name = {point.name: point for point in self.campaign.points}
        for run, attempts in self.attempts.items():
            last, point = attempts[-1], by_name.get(run)
            if "outcome" in last or point is None:
                continue
            folder = self.campaign.place(run, int(last["attempt"]))
            active = _Active(point, int(last["attempt"]), folder, has_job=False)
            ending = self._read_ending(active)
            if ending is None and last.get("job") and not self._jobs(point.system).is_local:
                self._jobs(point.system).attach(folder, str(last["job"]))
                self.accepting.add(point.system)
                active.has_job = True
            elif ending is None and not is_held(folder) and abandon_attempt(folder):
                ending = Ending("cut off", "killed together with its campaign run")
            if ending is None:
                self.active.setdefault(point.system, []).append(active)
                self.report(CampaignEvent("started", run))
            else:
                self._note_end(active, ending)

    def _jobs(self, system: str) -> Jobs:
        if system not in self.jobs:
            self.jobs[system] = Jobs(self.campaign.specification.systems[system], self.woken.set)
        return self.jobs[system]

    def _start_ready(self, waiting: dict[str, deque[Point]]) -> None:
        """Start all runs that can run now, in the order of the campaign over all systems."""
        has_started = True
        while has_started:
            ready = sorted(
                (name for name in waiting if waiting[name]),
                key=lambda name: self.turns[waiting[name][0].name],
            )
            has_started = any(self._start(name, waiting[name]) for name in ready)

    def _start(self, system: str, waiting: deque[Point]) -> bool:
        """Start the next run on this machine, or all that a batch system accepts.

        Return whether any began.
        """
        if time.monotonic() < self.refused.get(system, 0.0):
            return False
        jobs, active = self._jobs(system), self.active.setdefault(system, [])
        if jobs.system.executor == "slurm" and not self._start_arrays(jobs, waiting, active):
            return False
        at_once = jobs.system.at_once or (1 if jobs.is_local else _AT_ONCE)
        has_started = False
        while waiting and self._count(system) < at_once and not (jobs.is_local and has_started):
            point = waiting.popleft()
            run = self._begin(point)
            try:
                number = jobs.submit(run.folder, point.nodes, point.ranks, self._limit(point))
            except LaunchError as error:
                self._refuse(system, [run], waiting, error)
                return False
            active.append(run)
            self._note_start(run, number)
            has_started = True
        return has_started

    def _count(self, system: str) -> int:
        """Return the number of active runs of a system; all local systems are this machine."""
        is_local = self._jobs(system).is_local
        alike = (name for name in self.active if name == system or (is_local and self._jobs(name).is_local))
        return sum(len(self.active[name]) for name in alike)

    def _start_arrays(self, jobs: Jobs, waiting: deque[Point], active: list[_Active]) -> bool:
        """Submit many runs of equal size to Slurm as arrays. Return whether it accepts jobs."""
        groups: dict[tuple[int, int, float], list[Point]] = {}
        for point in waiting:
            groups.setdefault((point.nodes, point.ranks, self._limit(point)), []).append(point)
        for (nodes, ranks, limit), points in groups.items():
            if len(points) < ARRAY_FROM:
                continue
            runs = [self._begin(point) for point in points]
            listed = self.campaign.directory / f"array-{time.time_ns()}.txt"
            for point in points:
                waiting.remove(point)
            try:
                numbers = jobs.submit_array(listed, [run.folder for run in runs], nodes, ranks, limit)
            except LaunchError as error:
                self._refuse(points[0].system, runs, waiting, error)
                return False
            for run, number in zip(runs, numbers, strict=True):
                active.append(run)
                self._note_start(run, number)
        return True

    def _refuse(self, system: str, runs: list[_Active], waiting: deque[Point], error: LaunchError) -> None:
        """Wait before the next submission to a batch system that accepts no more jobs.

        If it has never accepted a job, the error is final.
        """
        for run in reversed(runs):
            if not abandon_attempt(run.folder):  # only the answer was lost: the job exists
                run.has_job = False
                self.active[system].append(run)
                continue
            shutil.rmtree(run.folder, ignore_errors=True)  # otherwise each submission would leave a directory
            self._note_end(run, Ending("cut off", str(error)))
            waiting.appendleft(run.point)
        if system not in self.accepting:
            raise error
        self.refused[system] = time.monotonic() + _AGAIN
        self.report(CampaignEvent("waiting", runs[0].point.name, reason=str(error)))

    def _begin(self, point: Point) -> _Active:
        """Record the start of a run before it starts, so that no run starts unrecorded."""
        tried = self.attempts.get(point.name, [])
        number = 1 + max((int(attempt["attempt"]) for attempt in tried), default=0)
        folder = self.campaign.place(point.name, number)
        while folder.exists():
            number += 1
            folder = self.campaign.place(point.name, number)
        self.journal.note("started", point.name, number, {})
        self.attempts.setdefault(point.name, []).append({"attempt": number})
        prepare(
            folder,
            point,
            self.campaign.specification,
            self.paths.get(point.program),
            self.campaign.file.parent,
        )
        return _Active(point, number, folder, has_job=True)

    def _note_start(self, run: _Active, job: str) -> None:
        self.accepting.add(run.point.system)
        if not self._jobs(run.point.system).is_local:
            self.journal.note("submitted", run.point.name, run.number, {"job": job})
        self.report(CampaignEvent("started", run.point.name))

    def _limit(self, point: Point) -> float:
        return self.campaign.specification.programs[point.program].limit

    def _read_ending(self, run: _Active) -> Ending | None:
        specification = self.campaign.specification
        point = run.point
        return read_ending(
            run.folder, specification.programs[point.program], specification.variants[point.variant]
        )

    def _check_runs(self, system: str, runs: list[_Active]) -> Iterator[Point]:
        """Record the ends of runs, and yield the points to repeat."""
        jobs = self._jobs(system)
        over = jobs.find_ended([run.folder for run in runs if run.has_job])
        few = len(runs) <= _MOST_LOOKED_AT
        for run in list(runs):
            if not few and run.has_job and run.folder not in over:
                continue
            ending = self._read_ending(run) or self._find_loss(run, jobs, over)
            if ending is None:
                continue
            runs.remove(run)
            self._note_end(run, ending)
            if self.campaign.state(run.point, self.attempts) == "waiting":
                yield run.point

    def _find_loss(self, run: _Active, jobs: Jobs, over: set[Path]) -> Ending | None:
        """Return the end of a run that has ended without a result, or None."""
        if run.has_job:
            if run.folder not in over:
                return None
            run.over_since = run.over_since or time.monotonic()
            if time.monotonic() - run.over_since < (0.0 if jobs.is_local else _GRACE):
                return None
        elif is_held(run.folder):
            return None
        if not abandon_attempt(run.folder):
            return self._read_ending(run)
        return Ending("lost", "its node or its launcher was lost, or the disk was full")

    def _note_end(self, run: _Active, ending: Ending) -> None:
        values = {
            "outcome": ending.outcome,
            "reason": ending.reason,
            "seconds": ending.seconds,
            "host": ending.host,
            "figures": dict(ending.figures),
        }
        self.journal.note("ended", run.point.name, run.number, values)
        for attempt in self.attempts[run.point.name]:
            if attempt["attempt"] == run.number:
                attempt.update(values)
        self.report(CampaignEvent("ended", run.point.name, ending.outcome, ending.reason))

    @contextmanager
    def _end_if_interrupted(self) -> Iterator[None]:
        """End local runs if the campaign is interrupted; a second Ctrl-C does not wait for that."""
        try:
            yield
        except (KeyboardInterrupt, HaloscopeError):
            for system, runs in self.active.items():
                if not self._jobs(system).is_local:
                    continue
                for run in runs:
                    terminate(run.folder)
                self._wait_for(runs)
            raise

    def _wait_for(self, runs: list[_Active]) -> None:
        until = time.monotonic() + _GRACE + 5
        while runs and time.monotonic() < until:
            for run in list(runs):
                ending = self._read_ending(run)
                if ending is not None:
                    runs.remove(run)
                    self._note_end(run, ending)
            time.sleep(0.05)
