"""Time to compute the latency that each region tolerates, on an event graph of 10^8 edges.

The graph is that of a synthetic run: ranks on a ring exchange with four neighbours and reduce, in eight
alternating regions, with computing of random length. Edges connect begins and ends of calls, and the hub of a
reduction. Prints one JSON object per line.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from dataclasses import dataclass

import numpy as np
import polars as pl

from haloscope.profile.waiting import (
    Edges,
    Question,
    Timeline,
    find_length_without_waiting,
    find_tolerance,
    pieces,
    tape,
)

REGIONS = 8
_NEIGHBOURS = (-2, -1, 1, 2)
# Local edges of an iteration: to the begin and to the end of a sending, a completing and a reducing call.
_LOCAL = 6


@dataclass(frozen=True)
class Ring:
    """A synthetic run."""

    ranks: int
    iterations: int

    @property
    def edges(self) -> int:
        """Number of edges of the event graph."""
        return self.ranks * self.iterations * (_LOCAL + len(_NEIGHBOURS) + 2)

    def graph(self) -> tuple[Timeline, Edges]:
        """Return the graph: call 3 i of a rank sends in iteration i, 3 i + 1 completes, 3 i + 2 reduces."""
        generator = np.random.default_rng(17)
        ranks, iterations = self.ranks, self.iterations
        calls = 3 * ranks * iterations
        first = 3 * iterations * np.arange(ranks + 1)
        gap = generator.integers(100, 20_000, calls)
        own = generator.integers(100, 500, calls)
        path = np.tile(np.repeat(np.arange(iterations) % REGIONS, 3), ranks).astype(np.int32)
        here = np.repeat(np.arange(ranks), iterations)
        turn = np.tile(np.arange(iterations), ranks)
        puts, gets = [], []
        for i, step in enumerate(_NEIGHBOURS):
            # The hub of a message is numbered by its receiver.
            hub = (i * ranks * iterations + here * iterations + turn).astype(np.int32)
            sender = (here + step) % ranks
            puts.append(pl.DataFrame({"call": 3 * (sender * iterations + turn), "hub": hub}))
            gets.append(self._gets(3 * (here * iterations + turn) + 1, hub, path, generator, 1))
        hub = (len(_NEIGHBOURS) * ranks * iterations + turn).astype(np.int32)
        reduction = 3 * (here * iterations + turn) + 2
        puts.append(pl.DataFrame({"call": reduction, "hub": hub}))
        gets.append(self._gets(reduction, hub, path, generator, int(np.ceil(np.log2(ranks)))))
        timeline = Timeline(
            locations=pl.DataFrame(
                {"rank": np.arange(ranks, dtype=np.int32), "thread": np.zeros(ranks, dtype=np.int32)}
            ),
            location=np.empty(0, dtype=np.int32),
            begin=np.zeros(calls, dtype=np.int64),
            end=np.empty(0, dtype=np.int64),
            path=path,
            names=pl.Series([], dtype=pl.String),
            first_call=first,
            visits=pl.DataFrame(),
            first_visit=np.empty(0, dtype=np.int64),
            parents=np.full(REGIONS, -1, dtype=np.int64),
            jumps=0,
        )
        tail = np.zeros(ranks, dtype=np.int64)
        return timeline, Edges(gap, own, tail, pl.concat(puts), pl.concat(gets))

    @staticmethod
    def _gets(
        call: np.ndarray[tuple[int], np.dtype[np.int64]],
        hub: np.ndarray[tuple[int], np.dtype[np.int32]],
        path: np.ndarray[tuple[int], np.dtype[np.int32]],
        generator: np.random.Generator,
        units: int,
    ) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "call": call,
                "hub": hub,
                "weight": generator.integers(1000, 3000, len(call)),
                "units": np.full(len(call), units),
                "group": path[call],
            }
        )


def run(ranks: int, iterations: int) -> None:
    """Measure each step once."""
    ring = Ring(ranks, iterations)
    timeline, edges = ring.graph()
    took = {}

    def timed(name: str, begin: tuple[float, float]) -> None:
        took[name] = (time.perf_counter() - begin[0], time.process_time() - begin[1])

    begin = (time.perf_counter(), time.process_time())
    made = tape(timeline, edges)
    timed("tape", begin)
    del edges
    begin = (time.perf_counter(), time.process_time())
    length = made.length
    timed("one replay", begin)
    masks = [np.arange(REGIONS) == region for region in range(REGIONS)]
    begin = (time.perf_counter(), time.process_time())
    most, _ = find_tolerance(made, masks, (0.01, 0.02, 0.05))
    timed("tolerance of 8 regions", begin)
    begin = (time.perf_counter(), time.process_time())
    find_length_without_waiting(made, masks)
    timed("8 regions without waiting", begin)
    begin = (time.perf_counter(), time.process_time())
    found = pieces(made, made.all_roles, float(most.min()))
    timed("all pieces", begin)
    check = made.play([Question(float(most[0, 0]), np.where(masks[0], 1, 0).astype(np.uint8))])[0, 0]
    assert abs(check / (1.01 * length) - 1) < 1e-9
    for name, (seconds, of_processors) in took.items():
        emit(name, seconds, "s", of_processors=round(of_processors, 3), edges=ring.edges, steps=len(made))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    emit("memory at most", memory, "GiB", edges=ring.edges, pieces=len(found.begin))


def emit(case: str, value: float, unit: str, **more: float) -> None:
    """Print one result."""
    record = {"benchmark": "explain-tolerance", "case": case, "ours": round(value, 3), "unit": unit}
    print(json.dumps(record | more), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=1000)
    parser.add_argument("--iterations", type=int, default=8334)
    chosen = parser.parse_args()
    run(chosen.ranks, chosen.iterations)
