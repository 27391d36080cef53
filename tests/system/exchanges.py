"""Typical calls of mpi4py programs: buffers and objects, blocking and not, collectives, communicators.

Runs on 2 or more ranks; rank 0 prints its results. `exchanges.py STATUS DIRECTORY` ends with this status on
all ranks, after the last rank has left MPI: a launcher may kill the others when the first rank ends.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]
world = MPI.COMM_WORLD
rank, size = world.rank, world.size
up, down = (rank + 1) % size, (rank - 1) % size


def numbers(count: int) -> Numbers:
    return np.arange(count, dtype=np.float64) + rank


def buffers() -> float:
    """Isend, Irecv, Waitall and Sendrecv around the ring; Send and Recv from rank 0 to the last."""
    parts = [numbers(10 * (i + 1)) for i in range(3)]
    got = [np.empty_like(part) for part in parts]
    requests = [world.Irecv(part, source=down, tag=i) for i, part in enumerate(got)]
    requests += [world.Isend(part, dest=up, tag=i) for i, part in enumerate(parts)]
    statuses = [MPI.Status() for _ in requests]
    MPI.Request.Waitall(requests, statuses)
    assert [s.Get_count(MPI.DOUBLE) for s in statuses[:3]] == [10, 20, 30]
    assert {s.Get_source() for s in statuses[:3]} == {down}
    world.Sendrecv(parts[0], dest=down, recvbuf=got[0], source=up)
    if rank == 0:
        world.Send(numbers(100_000), dest=size - 1, tag=7)  # by rendezvous
    if rank == size - 1:
        large, status = np.empty(100_001), MPI.Status()
        world.Recv(large, source=MPI.ANY_SOURCE, tag=7, status=status)
        assert (status.Get_source(), status.Get_count(MPI.DOUBLE)) == (0, 100_000)
    return sum(float(part.sum()) for part in got)


def objects() -> list[str]:
    """Pickled messages without a stated size; rank 0 receives one of each rank, in any order."""
    received = world.sendrecv({"from": rank, "text": "x" * 100 * rank}, dest=up, source=down)
    request = world.isend([rank] * (rank + 1), dest=up, tag=5)
    lengths = world.recv(source=down, tag=5)
    request.wait()
    assert received["from"] == down
    assert lengths == [down] * (down + 1)
    if rank:
        world.send("y" * 10_000 * rank, dest=0, tag=6)
        return []
    return sorted(world.recv(source=MPI.ANY_SOURCE, tag=6)[: 3 + i] for i in range(size - 1))


def collectives() -> list[object]:
    settings = world.bcast({"steps": [1, 2, 3]} if rank == size - 1 else None, root=size - 1)
    total, array = np.empty(5), numbers(7)
    world.Allreduce(numbers(5), total)
    world.Allreduce(MPI.IN_PLACE, array, op=MPI.MAX)
    world.Bcast(total, root=0)
    counts = [i + 1 for i in range(size)]
    table = np.empty(sum(counts))
    world.Allgatherv(numbers(rank + 1), (table, counts))
    world.Barrier()
    return [settings, total.tolist(), array.tolist(), table.tolist(), world.gather(rank * "z")]


def communicators() -> list[int]:
    """Ranks in reverse order, and every second one: partners have other numbers there."""
    found = []
    for comm in (world.Split(0, -rank), world.Split(rank % 2, rank), world.Dup()):
        got = np.empty(4, dtype=np.int64)
        source, dest = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        request = comm.Irecv(got, source=source)
        comm.Send(np.full(4, rank, dtype=np.int64), dest=dest)
        request.Wait()
        comm.Allreduce(MPI.IN_PLACE, got)
        found.append(int(got[0]))
        comm.Free()
    return found


def wait_for_all(directory: Path) -> None:
    """Without MPI: each rank leaves a file."""
    (directory / f"rank-{rank}").touch()
    while len(list(directory.glob("rank-*"))) < size:
        time.sleep(0.01)


if __name__ == "__main__":
    lines = [buffers(), objects(), collectives(), communicators()]
    if rank == 0:
        print(*lines, sep="\n")
    sys.stdout.flush()
    if len(sys.argv) > 1:
        wait_for_all(Path(sys.argv[2]))
        sys.exit(int(sys.argv[1]))
