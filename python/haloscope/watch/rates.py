"""A running program between two looks at its records: rates, as top(1) shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from haloscope.watch.live import Process, Snapshot
from haloscope.watch.roll_call import RollCall, roll_call


@dataclass(frozen=True)
class RankNow:
    """One rank between the two looks. `mpi` and `wait` are shares of the time; rates are per second.

    Without a first look they are None.
    """

    process: Process
    mpi: float | None = None
    wait: float | None = None
    sent: float | None = None
    received: float | None = None
    messages: float | None = None
    collectives: float | None = None


@dataclass(frozen=True)
class RunningProgram:
    """A running or hanging program: one MPI_COMM_WORLD."""

    run: str
    before: tuple[Process, ...]
    after: tuple[Process, ...]
    seconds: float

    @property
    def any_process(self) -> Process:
        """One of the processes, for what all have in common, such as the program's name."""
        return self.after[0]

    @property
    def ranks(self) -> list[RankNow]:
        """All ranks that have a record here, by rank."""
        earlier = {process.path: process for process in self.before}
        return [_rank(earlier.get(process.path), process, self.seconds) for process in self.after]

    @property
    def slowest(self) -> list[RankNow]:
        """The ranks, those that wait least first: the other ranks wait for them."""
        return sorted(self.ranks, key=lambda rank: (rank.mpi is None, rank.mpi or 0.0, rank.process.rank))

    @property
    def is_alive(self) -> bool:
        """Whether any of its processes exists."""
        return any(process.state != "dead" for process in self.after)

    def mean(self, name: str) -> float | None:
        """Return the mean over ranks of `mpi` or `wait`."""
        values = [value for value in (getattr(rank, name) for rank in self.ranks) if value is not None]
        return sum(values) / len(values) if values else None

    def total(self, name: str) -> float | None:
        """Return the sum over ranks of a rate."""
        values = [value for value in (getattr(rank, name) for rank in self.ranks) if value is not None]
        return sum(values) if values else None

    def roll_call(self) -> RollCall:
        """Return the call of each rank, and what keeps the program from going on."""
        return roll_call(self.before, self.after)


def _rank(before: Process | None, process: Process, seconds: float) -> RankNow:
    if before is None or seconds <= 0:
        return RankNow(process)
    old, new, threads = before.sums, process.sums, max(len(process.threads), 1)

    def share(name: str) -> float:
        gone: float = getattr(new, name) - getattr(old, name)
        return min(max(gone / seconds / threads, 0.0), 1.0)

    def rate(name: str) -> float:
        gone: int = getattr(new, name) - getattr(old, name)
        return max(gone, 0) / seconds

    return RankNow(
        process,
        share("mpi_time"),
        share("wait_time"),
        rate("bytes_sent"),
        rate("bytes_recv"),
        rate("sends"),
        rate("colls"),
    )


def running(before: Snapshot, after: Snapshot) -> list[RunningProgram]:
    """Return the programs that are in both looks, or in the later one; the oldest first."""
    earlier = before.worlds()
    found = []
    for world, processes in after.worlds().items():
        past = earlier.get(world, [])
        found.append(
            RunningProgram(_run_of(processes), tuple(past), tuple(processes), _seconds(past, processes))
        )
    return found


def _run_of(processes: Sequence[Process]) -> str:
    """Return the run's identity, from the name of its directory."""
    for parent in Path(processes[0].path).parents:
        if parent.name.startswith("haloscope-"):
            return parent.name.removeprefix("haloscope-")
    return processes[0].world


def _seconds(before: Sequence[Process], after: Sequence[Process]) -> float:
    """Return the seconds between the looks, by the clocks of the processes."""
    earlier = {process.path: process.elapsed for process in before}
    gone = [p.elapsed - earlier[p.path] for p in after if p.path in earlier and p.elapsed > 0]
    return max(gone, default=0.0)
