"""Waiting: sums, bounds, replays that take the same time as the run, and the tables of a recorded program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies

import haloscope as library
from haloscope.cli import haloscope as command
from haloscope.explain import Profile
from haloscope.profile.shown import SHOWN
from haloscope.profile.trace import Trace
from support.analysed import check_sums, check_tables
from support.profiles import Draft, columns_of, draft, path_rows
from support.random_runs import Step, run_of, steps
from support.traced_drafts import CALL, symbol, traced_draft
from support.traces import cg_trace, halo_trace

TRACE_TABLES = ("waits", "wait_pairs", "delays", "critical_path", "tolerance")


@pytest.mark.slow
@given(steps(), strategies.integers(1, 6))
@settings(max_examples=30)
def test_parts_sum_to_the_whole(program: list[Step], ranks: int) -> None:
    analysis = check_sums(run_of(program, ranks))
    assert analysis.remarks == []


@pytest.mark.parametrize("trace", [halo_trace(6, 5), cg_trace(7, 4), halo_trace(1), cg_trace(2)], ids=str)
def test_parts_of_real_patterns_sum_to_the_whole(trace: Trace) -> None:
    assert check_sums(trace).remarks == []


@pytest.mark.slow
@given(steps(), strategies.integers(2, 5), strategies.randoms(use_true_random=False))
@settings(max_examples=30)
def test_a_damaged_trace_is_analysed_as_far_as_possible(
    program: list[Step], ranks: int, random: strategies.DrawFn
) -> None:
    """Messages are lost, clocks jump back and differ: there are results, and none is negative."""
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


def test_tables_agree_with_each_other(late_ring: Path) -> None:
    with library.open(late_ring) as profile:
        check_tables(profile)
        for name in TRACE_TABLES:
            assert profile.table(name).columns == SHOWN[name].columns
            assert len(profile.table(name))
        assert profile.remarks("waits") == []


def test_the_run_is_from_mpi_init_to_mpi_finalize(tmp_path: Path) -> None:
    """Ranks compute before their first call and after their last one."""
    written = traced_draft(
        [symbol(0, CALL, call="MPI_Wtime")], [np.array([[400, 500]]), np.array([[0, 400]])]
    )
    durations = {**written.tables["processes"], "duration": [1e-6, 7e-7]}
    ranks = columns_of("ranks", [{"path": 0, "rank": rank, "instances": 1} for rank in range(2)])
    written.tables = {**written.tables, "processes": durations, "ranks": ranks}
    with library.open(written.write(tmp_path / "late.halo")) as profile:
        (whole,) = profile.table("pop", region="<program>").to_dicts()
        path = profile.table("critical_path", region="<program>")
    assert whole["run_time"] == pytest.approx(1e-6)
    assert whole["computing_mean"] == pytest.approx((900 + 300) / 2 * 1e-9)
    assert whole["parallel"] == pytest.approx(0.6)
    assert path["time"].sum() == pytest.approx(1e-6)


@pytest.mark.parametrize("name", TRACE_TABLES)
def test_the_command_shows_them(late_ring: Path, name: str) -> None:
    done = CliRunner().invoke(command, ["show", str(late_ring), "--table", name])
    assert done.exit_code == 0
    assert done.stdout.strip()
    assert done.stderr == ""


@pytest.mark.parametrize("name", TRACE_TABLES)
def test_without_a_trace_tables_are_empty_with_a_reason(read: Callable[[Draft], Profile], name: str) -> None:
    profile = read(draft(paths=path_rows()))
    assert profile.table(name).is_empty()
    done = CliRunner().invoke(command, ["show", str(profile.path), "--table", name])
    assert done.exit_code == 0
    assert done.stderr.count("\n") == 1
    assert "haloscope run --trace" in done.stderr
