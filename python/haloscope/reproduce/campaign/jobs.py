"""Starts runs by PSI/J: on this machine, by Slurm, Flux, PBS and LSF; many alike as arrays of Slurm."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from haloscope.base.errors import ComponentError, LaunchError
from haloscope.base.extras import remedy
from haloscope.reproduce.campaign.specification import CampaignSystem

if TYPE_CHECKING:
    from psij import Job, JobExecutor, JobStatus

ARRAY_FROM = 100  # runs alike that wait
_POLL = 5  # seconds
_EXECUTOR = Path(__file__).with_name("executor.py")
# A job's own time beside the program's limit: to start, to end it, to write.
_MARGIN = 60.0


class Jobs:
    """What is started on one system. `woken` is called, by any thread, when a job has ended."""

    def __init__(self, system: CampaignSystem, woken: Callable[[], None]) -> None:
        self.system = system
        self._woken = woken
        self._executor = _executor(system.executor)
        self._jobs: dict[Path, Job] = {}
        self._numbers: dict[Path, str] = {}  # of Slurm, which is asked by us
        self._asked = -float(_POLL)

    @property
    def is_local(self) -> bool:
        """Whether runs are processes of this machine."""
        return self.system.executor == "local"

    def submit(self, attempt: Path, nodes: int, ranks: int, limit: float) -> str:
        """Start the attempt in that directory, and return its job's number. Raises `LaunchError`."""
        from psij import SubmitException

        job = self._job([str(attempt)], nodes, ranks, limit)
        try:
            self._executor.submit(job)
        except SubmitException as error:
            raise LaunchError(f"{self.system.executor}: {_first_line(str(error))}") from None
        self._follow(attempt, job)
        return str(job.native_id)

    def attach(self, attempt: Path, number: str) -> None:
        """Follow a job that an earlier process started."""
        if self.system.executor == "slurm":
            self._numbers[attempt] = number
            return
        job = self._job([], 1, 1, 0.0)
        self._executor.attach(job, number)
        self._jobs[attempt] = job

    def _follow(self, attempt: Path, job: Job) -> None:
        # PSI/J takes all jobs for failed when one has a state or a reason that it does not know.
        if self.system.executor == "slurm":
            self._numbers[attempt] = str(job.native_id)
        else:
            self._jobs[attempt] = job

    def submit_array(
        self, listed: Path, attempts: Sequence[Path], nodes: int, ranks: int, limit: float
    ) -> list[str]:
        """Start many attempts as one array of Slurm; `listed` is a file to name them in.

        Return their numbers. Raises `LaunchError`.
        """
        system = self.system
        listed.write_text("\n".join(map(str, attempts)) + "\n", "utf-8")
        script = listed.with_suffix(".sh")
        script.write_text('#!/bin/sh\nexec "$@"\n', "utf-8")
        options = {
            "array": f"0-{len(attempts) - 1}%{system.at_once or 64}",
            "nodes": str(nodes),
            "ntasks-per-node": str(-(-ranks // nodes)),
            "time": str(_minutes(limit)),
            "job-name": "haloscope",
            "output": "/dev/null",
            "error": "/dev/null",
            **({"partition": system.queue} if system.queue else {}),
            **({"account": system.account} if system.account else {}),
            **system.attributes,
        }
        words = [
            "sbatch",
            "--parsable",
            "--exclusive",
            "--no-requeue",
            *(f"--{name}={value}" for name, value in options.items()),
        ]
        words += [str(script), sys.executable, "-I", "-S", str(_EXECUTOR), str(listed)]
        try:
            said = subprocess.run(words, capture_output=True, text=True, check=False)
        except OSError as error:
            raise LaunchError(f"sbatch: {error.strerror}") from None
        if said.returncode:
            raise LaunchError(f"sbatch: {_first_line(said.stderr.removeprefix('sbatch: '))}")
        number = said.stdout.strip().partition(";")[0]
        numbers = [f"{number}_{index}" for index in range(len(attempts))]
        self._numbers.update(zip(attempts, numbers, strict=True))
        return numbers

    def over(self, attempts: Sequence[Path]) -> set[Path]:
        """Return those attempts whose jobs are not waiting and not running."""
        found = {path for path in attempts if path in self._jobs and self._jobs[path].status.final}
        numbers = {self._numbers[path]: path for path in attempts if path in self._numbers}
        if numbers and time.monotonic() >= self._asked + _POLL:
            there = _in_queue()
            self._asked = time.monotonic()
            if there is not None:
                found |= {path for number, path in numbers.items() if number not in there}
        return found

    def _job(self, words: Sequence[str], nodes: int, ranks: int, limit: float) -> Job:
        from psij import Job, JobAttributes, JobSpec, ResourceSpecV1

        system = self.system
        attributes = {f"{system.executor}.{name}": value for name, value in system.attributes.items()}
        spec = JobSpec(
            executable=sys.executable,
            arguments=["-I", "-S", str(_EXECUTOR), *words],
            resources=None
            if self.is_local
            else ResourceSpecV1(
                node_count=nodes, processes_per_node=-(-ranks // nodes), exclusive_node_use=True
            ),
            attributes=JobAttributes(
                duration=timedelta(minutes=_minutes(limit)),
                queue_name=system.queue,
                account=system.account,
                custom_attributes=dict[str, object](attributes) or None,
            ),
        )
        job = Job(spec)
        job.set_job_status_callback(self._changed)
        return job

    def _changed(self, _job: Job, status: JobStatus) -> None:
        if status.final:
            self._woken()


def _first_line(said: str) -> str:
    return said.strip().partition("\n")[0] or "takes no job now"


def _minutes(limit: float) -> int:
    return -(-int(limit + _MARGIN) // 60)


def _executor(kind: str) -> JobExecutor:
    try:
        from psij import JobExecutor
        from psij.executors.batch.batch_scheduler_executor import BatchSchedulerExecutorConfig
    except ModuleNotFoundError as error:
        raise ComponentError(remedy(error) or f"PSI/J cannot be imported: {error}") from None
    # It tells of polls that fail; they are repeated, and what counts is what runs write.
    logging.getLogger("psij").setLevel(logging.CRITICAL)
    if kind == "local":
        return JobExecutor.get_instance("local")
    if kind == "slurm":
        # A job whose node is lost is ours to try again; Slurm's second start would find it given up.
        os.environ.setdefault("SBATCH_NO_REQUEUE", "1")
    config = BatchSchedulerExecutorConfig(
        queue_polling_interval=_POLL, initial_queue_polling_delay=_POLL, queue_polling_error_threshold=10**6
    )
    return JobExecutor.get_instance(kind, config=config)


def _in_queue() -> set[str] | None:
    """Return all jobs, and tasks of arrays, that Slurm has not ended; None if it doesn't answer."""
    try:
        said = subprocess.run(
            ["squeue", "--me", "-h", "-r", "-o", "%i"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return set(said.stdout.split()) if said.returncode == 0 else None
