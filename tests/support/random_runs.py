"""Runs that could have been: programs of random steps, with the times that an imagined machine takes."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies

from haloscope.profile.trace import Trace
from support.traces import Script

_OPERATIONS = "Barrier Allreduce Reduce Bcast Scan Iallreduce Scatterv Gather Alltoall Ibarrier".split()
_MODES = "eager synchronous posted tested".split()


@dataclass(frozen=True)
class Step:
    """What some ranks do: `kind` is `compute`, a mode of a message, or a collective; all numbers are free."""

    kind: str
    rank: int
    other: int
    time: int


def steps(most: int = 25) -> strategies.SearchStrategy[list[Step]]:
    """Return lists of random steps."""
    kinds = strategies.sampled_from(["compute", *_MODES, *_OPERATIONS])
    small = strategies.integers(0, 7)
    step = strategies.builds(Step, kinds, small, small, strategies.integers(0, 1000))
    return strategies.lists(step, max_size=most)


def run_of(program: list[Step], ranks: int) -> Trace:
    """Return the trace of a program: each step goes on where its ranks have come to."""
    machine = _Machine(ranks)
    for step in program:
        machine.do(step)
    return machine.finished()


class _Machine:
    def __init__(self, ranks: int) -> None:
        self.script = Script(ranks)
        self.regions = [self.script.path("outer"), self.script.path("inner", 1)]
        self.now = [0] * ranks
        self.collectives = 0

    def do(self, step: Step) -> None:
        ranks = len(self.now)
        rank, other = step.rank % ranks, step.other % ranks
        if step.kind == "compute":
            self.compute(rank, step)
        elif step.kind in _MODES:
            if rank != other:
                self.message(step.kind, rank, other, step.time)
        else:
            self.collective(step.kind, rank, step.time)

    def compute(self, rank: int, step: Step) -> None:
        begin = self.now[rank]
        self.now[rank] += step.time
        if step.time > 10 and step.other % 2:
            self.script.region(rank, begin, self.now[rank], self.regions[0])
            self.script.region(rank, begin + 3, self.now[rank] - step.other % 5, self.regions[1])

    def message(self, mode: str, source: int, target: int, time: int) -> None:
        script, size = self.script, 10_000 + time if mode == "synchronous" else time
        begin, there = self.now[source], self.now[target]
        arrived = begin + 5 + time % 50
        done = max(arrived, there) + 7
        if mode == "synchronous":
            send = script.call(source, "MPI_Ssend", begin, done, 0, size)
            script.send(send, target, size)
            self.now[source] = done
        else:
            send = script.call(source, "MPI_Send", begin, begin + 4, 0, size)
            script.send(send, target, size)
            self.now[source] = begin + 4
        if mode in {"posted", "tested"}:
            post = script.call(target, "MPI_Irecv", there, there + 2, self.regions[0])
            wait = script.call(
                target,
                "MPI_Wait" if mode == "posted" else "MPI_Test",
                there + 10,
                max(done, there + 10) + 3,
                self.regions[0],
            )
            script.receive(post, source, size, completed=wait)
            self.now[target] = max(done, there + 10) + 3
        else:
            receive = script.call(target, "MPI_Recv", there, done, self.regions[1])
            script.receive(receive, source, size)
            self.now[target] = done

    def collective(self, operation: str, root: int, time: int) -> None:
        name = f"MPI_{operation}"
        begins = list(self.now)
        for rank, begin in enumerate(begins):
            ready = max(begins)
            if operation in {"Bcast", "Scatterv"}:
                ready = max(begin, begins[root])
            elif operation in {"Reduce", "Gather"} and rank != root:
                ready = begin
            elif operation == "Scan":
                ready = max(begins[: rank + 1])
            end = ready + 20 + (time * (rank + 3)) % 17
            call = self.script.call(rank, name, begin, begin + 1 if name[4] == "I" else end, self.regions[0])
            completed = call
            if name[4] == "I":
                completed = self.script.call(rank, "MPI_Wait", begin + 1, end + 1, self.regions[1])
            self.script.collective(
                call,
                name,
                self.collectives,
                8,
                8,
                root if operation in {"Bcast", "Scatterv", "Reduce", "Gather"} else -1,
                completed=completed,
            )
            self.now[rank] = end + 1
        self.collectives += 1

    def finished(self) -> Trace:
        """Return the trace; each rank computes for a last moment."""
        for rank in range(len(self.now)):
            self.script.region(rank, self.now[rank], self.now[rank] + 5, self.regions[0])
        return self.script.trace()
