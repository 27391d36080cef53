"""Runs what is left of a campaign, and is not to be confused by being killed."""

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
from haloscope.reproduce.campaign.attempts import Ending, abandon_attempt, end, ending_of, is_held, prepare
from haloscope.reproduce.campaign.campaign import Campaign
from haloscope.reproduce.campaign.jobs import ARRAY_FROM, Jobs
from haloscope.reproduce.campaign.journal import CampaignJournal
from haloscope.reproduce.campaign.points import Point
from haloscope.reproduce.campaign.programs import prepare_programs

_TICK = 0.5  # seconds; what runs on this machine wakes us
_GRACE = 10.0  # seconds that a file may need from another node
_AGAIN = 10.0  # seconds until a batch system that takes no job is asked again
_AT_ONCE = 64
_MOST_LOOKED_AT = 256  # files that are looked for in each tick


@dataclass(frozen=True)
class Happened:
    """What `run_campaign` tells of: `started`, `ended` or `waiting`, of which run, and how it ended."""

    what: str
    run: str
    outcome: str | None = None
    reason: str | None = None


@dataclass
class _Active:
    point: Point
    number: int
    place: Path
    has_job: bool
    over_since: float | None = None


def run_campaign(
    campaign: Campaign, *, again: bool = False, told: Callable[[Happened], None] = lambda happened: None
) -> None:
    """Run all that is not done. With `again`, what has failed is tried once more.

    Runs that an earlier process started are waited for, not started again. A Ctrl-C ends runs on this machine
    and leaves jobs of a batch system, which the next call finds. Raises `OutputError` if another process runs
    the campaign, or the disk is full; `UsageError` for a program that is not there, `LaunchError` if it can't
    be built.
    """
    with CampaignJournal.opened(campaign.directory) as journal:
        _Runner(campaign, journal, told).run(again=again)


class _Runner:
    def __init__(
        self, campaign: Campaign, journal: CampaignJournal, told: Callable[[Happened], None]
    ) -> None:
        self.campaign, self.journal, self.told = campaign, journal, told
        self.woken = Event()
        self.active: dict[str, list[_Active]] = {}
        self.jobs: dict[str, Jobs] = {}
        self.attempts: dict[str, list[dict[str, Any]]] = campaign.attempts()
        self.paths: dict[str, Path] = {}
        self.turns = {point.name: turn for turn, point in enumerate(campaign.points)}
        self.accepting: set[str] = set()
        self.refused: dict[str, float] = {}

    def run(self, *, again: bool) -> None:
        self._adopt()
        waiting: dict[str, deque[Point]] = {name: deque() for name in self.campaign.specification.systems}
        for point in self.campaign.points:
            state = self.campaign.state(point, self.attempts)
            if state == "waiting" or (state == "failed" and again):
                waiting[point.system].append(point)
        self.paths = prepare_programs(
            self.campaign, [point for points in waiting.values() for point in points]
        )
        with self._ended_if_interrupted():
            while any(waiting.values()) or any(self.active.values()):
                self._start_what_may(waiting)
                self.woken.wait(_TICK)
                self.woken.clear()
                for system, runs in self.active.items():
                    waiting[system].extendleft(reversed(list(self._looked_at(system, runs))))

    def _adopt(self) -> None:
        """Take over what an earlier process started and did not see the end of."""
        by_name = {point.name: point for point in self.campaign.points}
        for run, attempts in self.attempts.items():
            last, point = attempts[-1], by_name.get(run)
            if "outcome" in last or point is None:
                continue
            place = self.campaign.place(run, int(last["attempt"]))
            active = _Active(point, int(last["attempt"]), place, has_job=False)
            ending = self._ending(active)
            if ending is None and last.get("job") and not self._jobs(point.system).is_local:
                self._jobs(point.system).attach(place, str(last["job"]))
                self.accepting.add(point.system)
                active.has_job = True
            elif ending is None and not is_held(place) and abandon_attempt(place):
                ending = Ending("cut off", "it was killed with what had started it")
            if ending is None:
                self.active.setdefault(point.system, []).append(active)
                self.told(Happened("started", run))
            else:
                self._note_end(active, ending)

    def _jobs(self, system: str) -> Jobs:
        if system not in self.jobs:
            self.jobs[system] = Jobs(self.campaign.specification.systems[system], self.woken.set)
        return self.jobs[system]

    def _start_what_may(self, waiting: dict[str, deque[Point]]) -> None:
        """Start all that may run now, in the order of the campaign, also among systems."""
        has_started = True
        while has_started:
            ready = sorted(
                (name for name in waiting if waiting[name]),
                key=lambda name: self.turns[waiting[name][0].name],
            )
            has_started = any(self._start(name, waiting[name]) for name in ready)

    def _start(self, system: str, waiting: deque[Point]) -> bool:
        """Start the next run on this machine, or all that a batch system takes; return whether any began."""
        if time.monotonic() < self.refused.get(system, 0.0):
            return False
        jobs, active = self._jobs(system), self.active.setdefault(system, [])
        if jobs.system.executor == "slurm" and not self._start_arrays(jobs, waiting, active):
            return False
        at_once = jobs.system.at_once or (1 if jobs.is_local else _AT_ONCE)
        has_started = False
        while waiting and self._count(system) < at_once and not (jobs.is_local and has_started):
            point = waiting.popleft()
            run = self._begun(point)
            try:
                number = jobs.submit(run.place, point.nodes, point.ranks, self._limit(point))
            except LaunchError as error:
                self._refuse(system, [run], waiting, error)
                return False
            active.append(run)
            self._note_start(run, number)
            has_started = True
        return has_started

    def _count(self, system: str) -> int:
        """Return how many runs are where those of a system are: this machine is one, by whatever name."""
        is_local = self._jobs(system).is_local
        alike = (name for name in self.active if name == system or (is_local and self._jobs(name).is_local))
        return sum(len(self.active[name]) for name in alike)

    def _start_arrays(self, jobs: Jobs, waiting: deque[Point], active: list[_Active]) -> bool:
        """Hand runs that need alike to Slurm as arrays, where they are many; return whether it takes jobs."""
        groups: dict[tuple[int, int, float], list[Point]] = {}
        for point in waiting:
            groups.setdefault((point.nodes, point.ranks, self._limit(point)), []).append(point)
        for (nodes, ranks, limit), points in groups.items():
            if len(points) < ARRAY_FROM:
                continue
            runs = [self._begun(point) for point in points]
            listed = self.campaign.directory / f"array-{time.time_ns()}.txt"
            for point in points:
                waiting.remove(point)
            try:
                numbers = jobs.submit_array(listed, [run.place for run in runs], nodes, ranks, limit)
            except LaunchError as error:
                self._refuse(points[0].system, runs, waiting, error)
                return False
            for run, number in zip(runs, numbers, strict=True):
                active.append(run)
                self._note_start(run, number)
        return True

    def _refuse(self, system: str, runs: list[_Active], waiting: deque[Point], error: LaunchError) -> None:
        """Wait with a batch system that takes no job any more, as when its controller is away.

        One that has taken none at all is not asked again: something else is wrong.
        """
        for run in reversed(runs):
            if not abandon_attempt(run.place):  # its answer was lost, not the job
                run.has_job = False
                self.active[system].append(run)
                continue
            shutil.rmtree(run.place, ignore_errors=True)  # or hours of asking leave a directory each time
            self._note_end(run, Ending("cut off", str(error)))
            waiting.appendleft(run.point)
        if system not in self.accepting:
            raise error
        self.refused[system] = time.monotonic() + _AGAIN
        self.told(Happened("waiting", runs[0].point.name, reason=str(error)))

    def _begun(self, point: Point) -> _Active:
        """Note that a run starts, before it does: what was not noted has not started."""
        tried = self.attempts.get(point.name, [])
        number = 1 + max((int(attempt["attempt"]) for attempt in tried), default=0)
        place = self.campaign.place(point.name, number)
        while place.exists():
            number += 1
            place = self.campaign.place(point.name, number)
        self.journal.note("started", point.name, number, {})
        self.attempts.setdefault(point.name, []).append({"attempt": number})
        prepare(
            place,
            point,
            self.campaign.specification,
            self.paths.get(point.program),
            self.campaign.file.parent,
        )
        return _Active(point, number, place, has_job=True)

    def _note_start(self, run: _Active, job: str) -> None:
        self.accepting.add(run.point.system)
        if not self._jobs(run.point.system).is_local:
            self.journal.note("submitted", run.point.name, run.number, {"job": job})
        self.told(Happened("started", run.point.name))

    def _limit(self, point: Point) -> float:
        return self.campaign.specification.programs[point.program].limit

    def _ending(self, run: _Active) -> Ending | None:
        specification = self.campaign.specification
        point = run.point
        return ending_of(
            run.place, specification.programs[point.program], specification.variants[point.variant]
        )

    def _looked_at(self, system: str, runs: list[_Active]) -> Iterator[Point]:
        """Note what has ended, and yield what is to be tried again."""
        jobs = self._jobs(system)
        over = jobs.over([run.place for run in runs if run.has_job])
        few = len(runs) <= _MOST_LOOKED_AT
        for run in list(runs):
            if not few and run.has_job and run.place not in over:
                continue
            ending = self._ending(run) or self._lost(run, jobs, over)
            if ending is None:
                continue
            runs.remove(run)
            self._note_end(run, ending)
            if self.campaign.state(run.point, self.attempts) == "waiting":
                yield run.point

    def _lost(self, run: _Active, jobs: Jobs, over: set[Path]) -> Ending | None:
        """Return the end of a run of which nothing more will come."""
        if run.has_job:
            if run.place not in over:
                return None
            run.over_since = run.over_since or time.monotonic()
            if time.monotonic() - run.over_since < (0.0 if jobs.is_local else _GRACE):
                return None
        elif is_held(run.place):
            return None
        if not abandon_attempt(run.place):
            return self._ending(run)
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
        self.told(Happened("ended", run.point.name, ending.outcome, ending.reason))

    @contextmanager
    def _ended_if_interrupted(self) -> Iterator[None]:
        """End what runs on this machine if we are to end; a second Ctrl-C does not wait for that."""
        try:
            yield
        except (KeyboardInterrupt, HaloscopeError):
            for system, runs in self.active.items():
                if not self._jobs(system).is_local:
                    continue
                for run in runs:
                    end(run.place)
                self._waited_for(runs)
            raise

    def _waited_for(self, runs: list[_Active]) -> None:
        until = time.monotonic() + _GRACE + 5
        while runs and time.monotonic() < until:
            for run in list(runs):
                ending = self._ending(run)
                if ending is not None:
                    runs.remove(run)
                    self._note_end(run, ending)
            time.sleep(0.05)
