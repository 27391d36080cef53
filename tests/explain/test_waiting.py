"""Invariants of what is said of waiting: sums, bounds, and replays that take as long as the run did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies

from haloscope.profile.trace import Trace
from support.analysed import check_sums
from support.random_runs import Step, run_of, steps
from support.traces import cg_trace, halo_trace


@given(steps(), strategies.integers(1, 6))
@settings(max_examples=30)
def test_parts_sum_to_the_whole(program: list[Step], ranks: int) -> None:
    analysis = check_sums(run_of(program, ranks))
    assert analysis.remarks == []


@pytest.mark.parametrize("trace", [halo_trace(6, 5), cg_trace(7, 4), halo_trace(1), cg_trace(2)], ids=str)
def test_parts_of_real_patterns_sum_to_the_whole(trace: Trace) -> None:
    assert check_sums(trace).remarks == []


@given(steps(), strategies.integers(2, 5), strategies.randoms(use_true_random=False))
@settings(max_examples=30)
def test_a_damaged_trace_is_analysed_as_far_as_it_goes(
    program: list[Step], ranks: int, random: strategies.DrawFn
) -> None:
    """Messages are lost, clocks jump back and differ: something is said, and nothing is negative."""
    trace = run_of(program, ranks)
    generator = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]

    def thinned(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.filter(pl.Series(generator.random(len(frame)) < 0.8))

    shift = generator.integers(-2000, 2000, ranks)
    moved = pl.Series(shift).gather(trace.calls["rank"])
    jump = pl.Series(np.where(generator.random(len(trace.calls)) < 0.1, -500, 0))
    damaged = replace(
        trace,
        calls=trace.calls.with_columns(pl.col("begin", "end") + moved + jump),
        sends=thinned(trace.sends),
        receives=thinned(trace.receives).with_columns(pl.col("bytes") + (pl.col("tag") == 99)),
        collectives=thinned(trace.collectives),
    )
    check_sums(damaged)


def test_an_empty_trace_has_nothing() -> None:
    analysis = check_sums(run_of([], 1))
    assert (len(analysis.waits), len(analysis.delays), analysis.remarks) == (0, 0, [])
    trace = run_of([], 2)
    nothing = replace(trace, regions=trace.regions.clear())
    analysis = check_sums(nothing)
    assert (analysis.run_time, analysis.efficiency) == (0, None)
