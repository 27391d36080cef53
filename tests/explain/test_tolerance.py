"""The run time as a function of latency, against all paths through small graphs."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies

from haloscope.profile import kernels
from haloscope.profile.waiting import (
    ABSENT,
    COUNTED,
    Edges,
    Question,
    Timeline,
    Unit,
    WaitAnalysis,
    find_length_without_waiting,
    find_tolerance,
    pieces,
    tape,
)
from support.random_runs import Step, run_of, steps
from support.traces import Script, cg_trace

Lines = frozenset[tuple[int, int]]


class Paths:
    """Time and units of each path, found backwards from an event. Equal paths are merged."""

    def __init__(self, timeline: Timeline, edges: Edges, roles: list[int]) -> None:
        self.timeline, self.edges, self.roles = timeline, edges, roles
        self.gets = edges.gets.partition_by("call", as_dict=True)
        self.puts = dict(edges.puts.group_by("hub").agg("call").iter_rows())
        self.first = set(timeline.first_call[:-1])

    def to_the_end(self) -> Lines:
        """Return the paths to the end of the run."""
        ends: Lines = frozenset()
        for location, tail in enumerate(self.edges.tail):
            low, high = self.timeline.first_call[location : location + 2]
            ends |= _moved(self.end(int(high) - 1) if high > low else _START, int(tail))
        return ends

    @cache  # noqa: B019
    def begin(self, call: int) -> Lines:
        return _moved(_START if call in self.first else self.end(call - 1), int(self.edges.gap[call]))

    @cache  # noqa: B019
    def end(self, call: int) -> Lines:
        lines = _moved(self.begin(call), int(self.edges.own[call]))
        waits = self.gets.get((call,), self.edges.gets.clear())
        for get in waits.iter_rows(named=True):
            role = self.roles[get["group"]]
            for other in self.puts[get["hub"]] if role != ABSENT else []:
                lines |= _moved(self.begin(other), get["weight"], get["units"] * (role == COUNTED))
        return lines


_START: Lines = frozenset({(0, 0)})


def _moved(lines: Lines, time: int, units: int = 0) -> Lines:
    return frozenset((a + time, b + units) for a, b in lines)


UNITS: strategies.SearchStrategy[Unit] = strategies.sampled_from(("latency", "byte"))


@pytest.mark.slow
@given(
    steps(12),
    strategies.integers(1, 4),
    strategies.integers(0, 2**32),
    UNITS,
    strategies.sampled_from(("recorded", "injected", "at random")),
)
@settings(max_examples=60)
def test_all_pieces_are_those_of_the_longest_paths(
    program: list[Step], ranks: int, seed: int, unit: Unit, weighed: str
) -> None:
    trace = run_of(program, ranks)
    analysis = WaitAnalysis(trace, is_injected=weighed == "injected")
    timeline, edges = analysis.timeline, analysis.graph(unit)
    generator = np.random.default_rng(seed)
    if weighed == "at random":
        # The graph of a run, with random times.
        count = len(edges.gets)
        gets = edges.gets.with_columns(
            pl.Series("weight", generator.integers(0, 500, count)),
            pl.Series("units", generator.integers(0, 6, count), dtype=pl.Int64),
        )
        edges = Edges(edges.gap, edges.own, edges.tail, edges.puts, gets)
    made = tape(timeline, edges)
    roles = generator.integers(0, 3, timeline.paths).astype(np.uint8)
    lines = Paths(timeline, edges, roles.tolist()).to_the_end()
    end = 3000.0

    def longest(x: float) -> float:
        return max(a + b * x for a, b in lines)

    found = pieces(made, roles, end)
    assert found.is_whole
    assert made.circles == 0
    for x in [0.0, end, *generator.uniform(0, end, 10), *found.begin]:
        assert found.evaluate(float(x)) == pytest.approx(longest(float(x)), rel=1e-10)
    # Pieces are distinct, and each is the line of a path.
    assert (np.diff(found.slope) > 0).all()
    for begin, time, slope in zip(found.begin, found.time, found.slope, strict=True):
        intercept = round(time - slope * begin)
        assert (intercept, round(slope)) in lines


@given(steps(20), strategies.integers(2, 5), UNITS)
@settings(max_examples=30)
def test_the_tolerated_latency_has_the_stated_effect(program: list[Step], ranks: int, unit: Unit) -> None:
    analysis = WaitAnalysis(run_of(program, ranks))
    timeline = analysis.timeline
    made = tape(timeline, analysis.graph(unit))
    masks = [np.arange(timeline.paths) == path for path in range(timeline.paths)]
    masks.append(np.ones(timeline.paths, dtype=np.bool_))
    longer = (0.01, 0.05, 0.5)
    most, slopes = find_tolerance(made, masks, longer)
    shorter = find_length_without_waiting(made, masks)
    for mask, latencies, slope, time in zip(masks, most, slopes, shorter, strict=True):
        roles = np.where(mask, COUNTED, 0).astype(np.uint8)
        assert np.isinf(latencies).all() or (np.diff(latencies) >= 0).all()
        assert time <= made.length
        for share, x in zip(longer, latencies, strict=True):
            if np.isinf(x):
                assert made.play([Question(1e12, roles)])[0, 0] == made.length
            else:
                goal = made.length * (1 + share)
                assert made.play([Question(x, roles)])[0, 0] == pytest.approx(goal, rel=1e-9)
                assert slope == 0 or x <= made.length * share / slope * (1 + 1e-9)
    # All regions together tolerate at most the minimum of all regions.
    assert (most[-1] <= most[:-1].min(axis=0) * (1 + 1e-9)).all()


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_a_chain_of_messages_takes_a_latency_each(ranks: int) -> None:
    """Each rank forwards a message to the next one: the run time grows by a latency per message."""
    script = Script(ranks)
    path = script.path("chain")
    for rank in range(ranks):
        if rank:
            script.receive(script.call(rank, "MPI_Recv", 0, 100 * rank, path), rank - 1, 8)
        if rank + 1 < ranks:
            script.send(script.call(rank, "MPI_Send", 100 * rank + 50, 100 * rank + 60, path), rank + 1, 8)
    analysis = WaitAnalysis(script.trace())
    row = analysis.tolerance([np.array([False, True])]).row(0, named=True)
    length = 100e-9 * (ranks - 1)
    assert row["units"] == ranks - 1
    assert row["most_1"] == pytest.approx(0.02 * length / (ranks - 1))
    assert analysis.run_time_with(1e-6).evaluate(1e-6) == pytest.approx(length + 1e-6 * (ranks - 1))
    bytes_ = analysis.tolerance([np.array([False, True])], (0.02,), "byte").row(0, named=True)
    assert bytes_["units"] == 8 * (ranks - 1)
    assert bytes_["most_0"] == pytest.approx(row["most_1"] / 8)
    assert analysis.run_time_with(1e-9, "byte").evaluate(1e-9) == pytest.approx(length + 8e-9 * (ranks - 1))


def test_large_messages_count_to_the_byte() -> None:
    """More bytes than 32 bits can count: seconds of transfer at a usual bandwidth."""
    script, size = Script(2), 5 * 2**32 + 1
    script.send(script.call(0, "MPI_Send", 20, 30), 1, size)
    script.receive(script.call(1, "MPI_Recv", 0, 100), 0, size)
    analysis = WaitAnalysis(script.trace())
    assert analysis.run_time_with(1e-9, "byte").evaluate(1e-9) == pytest.approx(
        100e-9 + size * 1e-9, rel=1e-12
    )


def test_an_injected_latency_counts_from_the_send() -> None:
    """A message that took 60 ns is not delayed by a latency of 50 ns, and 40 ns later with 100 ns."""
    script = Script(2)
    script.send(script.call(0, "MPI_Send", 20, 30), 1, 8)
    script.receive(script.call(1, "MPI_Recv", 0, 80), 0, 8)
    for is_injected, lengths in ((False, (80, 130, 180)), (True, (80, 80, 120))):
        found = WaitAnalysis(script.trace(), is_injected=is_injected).run_time_with(100e-9)
        assert [found.evaluate(x * 1e-9) for x in (0, 50, 100)] == pytest.approx([1e-9 * x for x in lengths])


@pytest.mark.parametrize("operation", ["MPI_Allreduce", "MPI_Bcast"])
def test_an_injected_latency_comes_on_top_of_a_collective(operation: str) -> None:
    """Rank 1 comes last and does not wait, but continues a latency after the end of the library's call."""
    script = Script(2)
    root = 0 if operation == "MPI_Bcast" else -1
    for rank, begin, end in ((0, 0, 55), (1, 30, 60)):
        call = script.call(rank, operation, begin, end)
        script.collective(call, operation, 0, 8, 8, root, completed=call)
    found = WaitAnalysis(script.trace(), is_injected=True).run_time_with(100e-9)
    assert [found.evaluate(x * 1e-9) for x in (0, 100)] == pytest.approx([60e-9, 160e-9])


def test_an_injected_latency_counts_from_where_a_collective_was_posted() -> None:
    """Rank 1 posts at 30 ns, for 2 ns, and waits from 50 to 60: 20 ns more are hidden, 100 ns end at 132."""
    script = Script(2)
    for rank, begin, wait in ((0, 0, 40), (1, 30, 50)):
        post = script.call(rank, "MPI_Iallreduce", begin, begin + 2)
        script.collective(
            post, "MPI_Iallreduce", 0, 8, 8, -1, completed=script.call(rank, "MPI_Wait", wait, 60)
        )
    found = WaitAnalysis(script.trace(), is_injected=True).run_time_with(100e-9)
    assert [found.evaluate(x * 1e-9) for x in (0, 20, 100)] == pytest.approx([60e-9, 60e-9, 132e-9])


def test_instruction_sets_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = cg_trace(9, 5)
    analysis = WaitAnalysis(trace)
    timeline = analysis.timeline
    made = tape(timeline, analysis.graph())
    generator = np.random.default_rng(1)
    questions = [
        Question(float(generator.uniform(0, 1e5)), generator.integers(0, 3, timeline.paths).astype(np.uint8))
        for _ in range(19)
    ]
    answers = []
    for number in range(len(kernels.instruction_sets())):
        monkeypatch.setattr(kernels, "_instruction_set", number)
        answers.append(made.play(questions))
    for other in answers:
        np.testing.assert_allclose(other, answers[-1], rtol=1e-13)


def test_a_region_that_does_not_matter_tolerates_any_latency() -> None:
    trace = cg_trace(4, 3)
    analysis = WaitAnalysis(trace)
    nothing = np.zeros(len(trace.paths), dtype=np.bool_)
    row = analysis.tolerance([nothing]).row(0, named=True)
    assert (row["units"], row["most_0"]) == (0, None)
    assert analysis.compute_without_waiting([nothing]) == pytest.approx([analysis.run_time])
