"""Traces that no run left: written by hand, call by call, or repeated to any length by arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from haloscope.profile.trace import CALLS, COLLECTIVES, COMMUNICATORS, RECEIVES, REGIONS, SENDS, Trace

_PATHS = {"path": pl.Int64, "parent": pl.Int64, "communication": pl.Int64, "name": pl.String}
_WRITTEN_PATHS = {"path": pl.Int64, "parent": pl.Int64, "name": pl.String, "communication": pl.Int64}
_PROCESSES = {
    "rank": pl.Int64,
    "host": pl.String,
    "pid": pl.Int64,
    "start": pl.Float64,
    "duration": pl.Float64,
    "threads": pl.Int64,
}
_DROPPED = {"rank": pl.Int32, "events": pl.Int64}


@dataclass
class Script:
    """A trace that is written down event by event, in any order of ranks; a call is named by its number.

    Rows of calls are numbered as they are written. `trace()` sorts them in the order of a `Trace`, and
    numbers them again.
    """

    ranks: int
    ranks_a_host: int = 2
    paths: list[tuple[int, str, int]] = field(default_factory=lambda: [(-1, "<program>", 0)])
    rows: dict[str, list[tuple[Any, ...]]] = field(
        default_factory=lambda: {
            name: [] for name in ("calls", "regions", "sends", "receives", "collectives", "dropped")
        }
    )
    groups: list[tuple[str, list[int]]] = field(default_factory=list)
    hosts: list[str] | None = None

    def __post_init__(self) -> None:
        self.communicator(range(self.ranks), "MPI_COMM_WORLD")

    def communicator(self, ranks: Iterable[int], name: str = "") -> int:
        """Return the number of a new communicator of these world ranks."""
        self.groups.append((name, list(ranks)))
        return len(self.groups) - 1

    def path(self, name: str, parent: int = 0, communication: bool = False) -> int:
        """Return the number of a new region below `parent`."""
        self.paths.append((parent, name, int(communication)))
        return len(self.paths) - 1

    def region(self, rank: int, begin: int, end: int, path: int, thread: int = 0) -> None:
        """Visit a region."""
        self.rows["regions"].append((rank, thread, begin, end, path))

    def call(
        self,
        rank: int,
        name: str,
        begin: int,
        end: int,
        path: int = 0,
        size: int = -1,
        thread: int = 0,
        is_exact: bool = True,
    ) -> int:
        """Return the number of a new call of MPI."""
        self.rows["calls"].append((rank, thread, begin, end, name, path, size, is_exact))
        return len(self.rows["calls"]) - 1

    def send(
        self,
        started: int,
        to: int,
        size: int,
        tag: int = 0,
        communicator: int = 0,
        completed: int | None = None,
    ) -> None:
        """Send in the call `started`, which `completed` completes (the same one unless named; -1: none)."""
        self._message("sends", started, completed, to, tag, communicator, size)

    def receive(
        self,
        started: int,
        source: int,
        size: int,
        tag: int = 0,
        communicator: int = 0,
        completed: int | None = None,
    ) -> None:
        """Receive, as `send` sends."""
        self._message("receives", started, completed, source, tag, communicator, size)

    def collective(
        self,
        started: int,
        operation: str,
        number: int,
        bytes_sent: int = 0,
        bytes_received: int = 0,
        root: int = -1,
        communicator: int = 0,
        completed: int | None = None,
    ) -> None:
        """Take part in collective `number` of the communicator, in the call `started`."""
        where, done = self._where(started), started if completed is None else completed
        self.rows["collectives"].append(
            (*where, started, done, operation, communicator, number, root, bytes_sent, bytes_received)
        )

    def drop(self, rank: int, events: int) -> None:
        """Lose events of a rank."""
        self.rows["dropped"].append((rank, events))

    def trace(self) -> Trace:
        """Return the written rows."""
        calls = _frame(self.rows["calls"], CALLS).with_row_index("row").sort("rank", "thread", "begin", "end")
        found = pl.Series(range(-1, len(calls)), dtype=pl.Int64)
        old = calls["row"].cast(pl.Int64)
        new = pl.DataFrame({"row": old, "now": pl.Series(range(len(calls)), dtype=pl.Int64)}).sort("row")
        now = pl.concat([found[:1], new["now"]])  # what is not completed, -1, stays so

        def numbered(name: str, schema: dict[str, Any]) -> pl.DataFrame:
            frame = _frame(self.rows[name], schema)
            return frame.with_columns(
                now.gather(frame[column] + 1).alias(column) for column in ("started", "completed")
            ).sort("rank", "thread", "started", maintain_order=True)

        return Trace(
            calls=calls.drop("row"),
            regions=_frame(self.rows["regions"], REGIONS).sort(
                "rank", "thread", "begin", "path", maintain_order=True
            ),
            sends=numbered("sends", SENDS),
            receives=numbered("receives", RECEIVES),
            collectives=numbered("collectives", COLLECTIVES),
            communicators=pl.DataFrame(
                [(number, *group) for number, group in enumerate(self.groups)],
                schema=COMMUNICATORS,
                orient="row",
            ),
            paths=_frame([(i, *path) for i, path in enumerate(self.paths)], _WRITTEN_PATHS).select(
                list(_PATHS)
            ),
            processes=_frame(
                [
                    (rank, self._host(rank), 1000 + rank, 0.0, self._last() / 1e9, 1)
                    for rank in range(self.ranks)
                ],
                _PROCESSES,
            ),
            dropped=_frame(self.rows["dropped"], _DROPPED),
        )

    def _host(self, rank: int) -> str:
        return self.hosts[rank] if self.hosts else f"node{rank // self.ranks_a_host}"

    def _last(self) -> int:
        return max((row[3] for row in self.rows["calls"] + self.rows["regions"]), default=0)

    def _where(self, call: int) -> tuple[int, int]:
        rank, thread, *_ = self.rows["calls"][call]
        return rank, thread

    def _message(self, kind: str, started: int, completed: int | None, *rest: int) -> None:
        done = started if completed is None else completed
        self.rows[kind].append((*self._where(started), started, done, *rest))


def _frame(rows: Sequence[tuple[Any, ...]], schema: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema, orient="row")


def repeated(trace: Trace, times: int) -> Trace:
    """Return a trace of `times` iterations, each as the whole of `trace`, one after the other."""
    last = max(int(frame["end"].max() or 0) for frame in (trace.calls, trace.regions))  # type: ignore[arg-type]
    period = last + 1000
    turn = pl.LazyFrame({"turn": pl.Series(range(times), dtype=pl.Int64)})
    length = pl.len().over("rank", "thread")
    # Rows of a thread stand together: those before it are there `times` times, as are its own.
    first = pl.col("row").min().over("rank", "thread")
    places = trace.calls.lazy().with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    table = places.select(length.cast(pl.Int64).alias("length"), first.alias("first")).collect()
    rounds = trace.collectives.group_by("communicator").agg((pl.col("number").max() + 1).alias("rounds"))

    def moved(column: str) -> pl.Expr:
        before = pl.col(f"{column}_first") * (times - 1) + pl.col("turn") * pl.col(f"{column}_length")
        return pl.when(pl.col(column) < 0).then(-1).otherwise(pl.col(column) + before).alias(column)

    def at_rows(frame: pl.DataFrame) -> pl.DataFrame:
        for column in ("started", "completed"):
            known = table[frame[column].clip(lower_bound=0)] if len(table) else table
            frame = frame.with_columns(
                known["first"].alias(f"{column}_first"), known["length"].alias(f"{column}_length")
            )
        return frame

    def again(frame: pl.DataFrame) -> pl.LazyFrame:
        repeats = frame.lazy().with_row_index("order").join(turn, how="cross")
        return repeats.sort("rank", "thread", "turn", "order")

    def timed(frame: pl.DataFrame) -> pl.DataFrame:
        shift = pl.col("turn") * period
        return again(frame).with_columns(pl.col("begin", "end") + shift).select(frame.columns).collect()

    def events(frame: pl.DataFrame, *more: pl.Expr) -> pl.DataFrame:
        columns = [moved("started"), moved("completed"), *more]
        return again(at_rows(frame)).with_columns(columns).select(trace_columns(frame)).collect()

    def trace_columns(frame: pl.DataFrame) -> list[str]:
        return [name for name in frame.columns if name != "rounds"]

    counted = trace.collectives.join(rounds, on="communicator", how="left", maintain_order="left")
    return Trace(
        calls=timed(trace.calls),
        regions=timed(trace.regions),
        sends=events(trace.sends),
        receives=events(trace.receives),
        collectives=events(counted, pl.col("number") + pl.col("turn") * pl.col("rounds")),
        communicators=trace.communicators,
        paths=trace.paths,
        processes=trace.processes.with_columns(duration=pl.col("duration") * times),
        dropped=trace.dropped,
    )


def halo_trace(ranks: int, iterations: int = 1, computing: int = 50_000, size: int = 4096) -> Trace:
    """Return a trace of a ring's exchange: Irecv and Isend with both neighbours, Waitall; then an Allreduce.

    Rank r computes r hundredths of `computing` (ns) longer than rank 0, so it waits less.
    """
    script = Script(ranks)
    solve = script.path("solve")
    halo = script.path("halo", solve, communication=True)
    ready = computing + computing * (ranks - 1) // 100
    for rank in range(ranks):
        at = computing + computing * rank // 100
        left, right = (rank - 1) % ranks, (rank + 1) % ranks
        receives = [script.call(rank, "MPI_Irecv", at + 200 * i, at + 200 * i + 100, halo) for i in range(2)]
        sends = [
            script.call(rank, "MPI_Isend", at + 400 + 300 * i, at + 600 + 300 * i, halo, size)
            for i in range(2)
        ]
        # The slowest neighbour's message comes last.
        late = max(computing + computing * other // 100 for other in (left, rank, right)) + 3000
        wait = script.call(rank, "MPI_Waitall", at + 1000, late, halo)
        for call, other, tag in zip(receives, (left, right), (1, 2), strict=True):
            script.receive(call, other, size, tag, completed=wait)
        for call, other, tag in zip(sends, (right, left), (1, 2), strict=True):
            script.send(call, other, size, tag, completed=wait)
        script.region(rank, at - 50, late + 50, halo)
        reduce = script.call(rank, "MPI_Allreduce", late + 500, ready + 9000, solve, 8)
        script.collective(reduce, "MPI_Allreduce", 0, 8, 8)
        script.region(rank, 0, ready + 9100, solve)
    return repeated(script.trace(), iterations)


def cg_trace(ranks: int, iterations: int = 1, computing: int = 200_000, size: int = 8192) -> Trace:
    """Return a trace of conjugate gradients on a line of ranks: Irecv, Send and Wait with each neighbour, two
    reductions. Every second rank belongs to another communicator, where a barrier ends the iteration.
    """
    script = Script(ranks)
    solve = script.path("cg")
    exchange = script.path("exchange", solve, communication=True)
    dot = script.path("dot", solve, communication=True)
    halves = [script.communicator(range(odd, ranks, 2), f"half {odd}") for odd in range(min(ranks, 2))]
    for rank in range(ranks):
        near = [other for other in (rank - 1, rank + 1) if 0 <= other < ranks]
        at = 1000
        posts = [
            script.call(rank, "MPI_Irecv", at + 200 * i, at + 200 * i + 100, exchange)
            for i, _ in enumerate(near)
        ]
        for i, other in enumerate(near):
            call = script.call(rank, "MPI_Send", at + 500 + 800 * i, at + 1100 + 800 * i, exchange, size)
            script.send(call, other, size, tag=other)
        for i, (call, other) in enumerate(zip(posts, near, strict=True)):
            wait = script.call(rank, "MPI_Wait", at + 2200 + 900 * i, at + 3000 + 900 * i, exchange)
            script.receive(call, other, size, tag=rank, completed=wait)
        script.region(rank, at - 100, at + 4100, exchange)
        ready = at + 4200 + computing
        for i in range(2):
            begin = ready + i * 20_000 + 37 * (rank % 5)
            call = script.call(rank, "MPI_Allreduce", begin, ready + i * 20_000 + 6000, dot, 8)
            script.collective(call, "MPI_Allreduce", i, 8, 8)
            script.region(rank, begin - 20, ready + i * 20_000 + 6020, dot)
        barrier = script.call(rank, "MPI_Barrier", ready + 40_000, ready + 43_000, solve)
        script.collective(barrier, "MPI_Barrier", 0, communicator=halves[rank % 2])
        script.region(rank, 0, ready + 44_000, solve)
    return repeated(script.trace(), iterations)
