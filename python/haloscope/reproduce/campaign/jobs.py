"""Runs by PSI/J on this machine, Slurm, Flux, PBS and LSF; many equal runs as arrays of Slurm."""

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

ARRAY_FROM = 100  # smallest number of equal waiting runs for an array
_POLL = 5  # seconds
_EXECUTOR = Path(__file__).with_name("executor.py")
# Time of a job in addition to the program's limit (s), to start and end it.
_MARGIN = 60.0


class Jobs:
    """The jobs of one system. `woken` is called by any thread when a job has ended."""

    def __init__(self, system: CampaignSystem, woken: Callable[[], None]) -> None:
        self.system = system
        self._woken = woken
        self._executor = _open_executor(system.executor)
        self._jobs: dict[Path, Job] = {}
        self._numbers: dict[Path, str] = {}  # of Slurm, which is queried without PSI/J
        self._query_time = -float(_POLL)

    @property
    def is_local(self) -> bool:
        """Whether runs are processes of this machine."""
        return self.system.executor == "local"

    def submit(self, attempt: Path, nodes: int, ranks: int, limit: float) -> str:
        """Start the attempt in a directory. Return the number of its job.

        Raises:
            LaunchError: The system does not accept the job.
        """
        from psij import SubmitException

        job = self._make_job([str(attempt)], nodes, ranks, limit)
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
        job = self._make_job([], 1, 1, 0.0)
        self._executor.attach(job, number)
        self._jobs[attempt] = job

    def _follow(self, attempt: Path, job: Job) -> None:
        # PSI/J regards all jobs as failed if one has an unknown state or reason.
        if self.system.executor == "slurm":
            self._numbers[attempt] = str(job.native_id)
        else:
            self._jobs[attempt] = job

    def submit_array(
        self, listed: Path, attempts: Sequence[Path], nodes: int, ranks: int, limit: float
    ) -> list[str]:
        """Start attempts as one array of Slurm. Return their numbers.

        Args:
            listed: File to which the list of attempts is written.
            attempts: Directories of the attempts.
            nodes: Nodes of each attempt.
            ranks: Ranks of each attempt.
            limit: Time limit of each attempt (s).

        Raises:
            LaunchError: Slurm does not accept the array.
        """
        system = self.system
        listed.write_text("\n".join(map(str, attempts)) + "\n", "utf-8")
        script = listed.with_suffix(".sh")
        script.write_text('#!/bin/sh\nexec "$@"\n', "utf-8")
        options = {
            "array": f"0-{len(attempts) - 1}%{system.at_once or 64}",
            "nodes": str(nodes),
            "ntasks-per-node": str(-(-ranks // nodes)),
            "time": str(_count_minutes(limit)),
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
            result = subprocess.run(words, capture_output=True, text=True, check=False)
        except OSError as error:
            raise LaunchError(f"sbatch: {error.strerror}") from None
        if result.returncode:
            raise LaunchError(f"sbatch: {_first_line(result.stderr.removeprefix('sbatch: '))}")
        number = result.stdout.strip().partition(";")[0]
        numbers = [f"{number}_{index}" for index in range(len(attempts))]
        self._numbers.update(zip(attempts, numbers, strict=True))
        return numbers

    def find_ended(self, attempts: Sequence[Path]) -> set[Path]:
        """Return the attempts whose jobs are neither waiting nor running."""
        found = {path for path in attempts if path in self._jobs and self._jobs[path].status.final}
        numbers = {self._numbers[path]: path for path in attempts if path in self._numbers}
        if numbers and time.monotonic() >= self._query_time + _POLL:
            queued = _list_queued()
            self._query_time = time.monotonic()
            if queued is not None:
                found |= {path for number, path in numbers.items() if number not in queued}
        return found

    def _make_job(self, words: Sequence[str], nodes: int, ranks: int, limit: float) -> Job:
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
                duration=timedelta(minutes=_count_minutes(limit)),
                queue_name=system.queue,
                account=system.account,
                custom_attributes=dict[str, object](attributes) or None,
            ),
        )
        job = Job(spec)
        job.set_job_status_callback(self._handle_status)
        return job

    def _handle_status(self, _job: Job, status: JobStatus) -> None:
        if status.final:
            self._woken()


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0] or "accepts no job now"


def _count_minutes(limit: float) -> int:
    return -(-int(limit + _MARGIN) // 60)


def _open_executor(kind: str) -> JobExecutor:
    try:
        from psij import JobExecutor
        from psij.executors.batch.batch_scheduler_executor import BatchSchedulerExecutorConfig
    except ModuleNotFoundError as error:
        raise ComponentError(remedy(error) or f"PSI/J cannot be imported: {error}") from None
    # Its messages about failed polls are irrelevant, as polls are repeated and runs write their results.
    logging.getLogger("psij").setLevel(logging.CRITICAL)
    if kind == "local":
        return JobExecutor.get_instance("local")
    if kind == "slurm":
        # Lost jobs are repeated here; a second start by Slurm would find an abandoned attempt.
        os.environ.setdefault("SBATCH_NO_REQUEUE", "1")
    config = BatchSchedulerExecutorConfig(
        queue_polling_interval=_POLL, initial_queue_polling_delay=_POLL, queue_polling_error_threshold=10**6
    )
    return JobExecutor.get_instance(kind, config=config)


def _list_queued() -> set[str] | None:
    """Return the jobs and array tasks that have not ended; None if Slurm does not answer."""
    try:
        result = subprocess.run(
            ["squeue", "--me", "-h", "-r", "-o", "%i"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return set(result.stdout.split()) if result.returncode == 0 else None
