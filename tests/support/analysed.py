"""What must hold of any trace's analysis, and of the tables that are made of it."""

from __future__ import annotations

import polars as pl
import pytest

from haloscope.explain import Profile
from haloscope.profile.trace import Trace
from haloscope.profile.waiting import WaitAnalysis

_NO_WAITING = ("other", "polling", "barrier_completion", "nxn_completion")
_REPLAY = ("parallel", "load_balance", "serialisation", "transfer")


def check_sums(trace: Trace) -> WaitAnalysis:
    """Check all that holds for any trace, and return its analysis."""
    analysis = WaitAnalysis(trace)
    waits = analysis.waits
    waited = waits.filter(~pl.col("kind").is_in(list(_NO_WAITING)))["time"].sum()
    assert waits["time"].min() is None or float(waits["time"].min()) >= 0  # type: ignore[arg-type]
    in_mpi = (trace.calls["end"] - trace.calls["begin"]).sum() / 1e9
    assert analysis.delays["cost"].sum() == pytest.approx(waited, rel=1e-9, abs=1e-15)
    assert analysis.critical_path["time"].sum() == pytest.approx(analysis.run_time, rel=1e-9)
    assert analysis.critical_path["share"].sum() == pytest.approx(min(1, analysis.run_time * 1e9), rel=1e-9)
    found = analysis.efficiency
    if found is not None:
        assert found.parallel == pytest.approx(found.load_balance * found.serialisation * found.transfer)
        assert all(0 < getattr(found, name) <= 1 + 1e-12 for name in _REPLAY)
        assert found.computing_max <= found.ideal_time * (1 + 1e-12)
    if not analysis.remarks:
        assert waits["time"].sum() == pytest.approx(in_mpi, rel=1e-9, abs=1e-15)
        for unit, most in (("latency", 1e-6), ("byte", 1e-9)):
            curve = analysis.run_time_with(most, unit)  # type: ignore[arg-type]
            assert curve.evaluate(0) == pytest.approx(analysis.run_time, rel=1e-12)
    return analysis


def check_tables(profile: Profile) -> None:
    """Check that the tables of waiting agree with each other, for a profile with a trace."""
    waits, pairs, delays, path, tolerance = (
        profile.table(name, region="<program>")
        for name in ("waits", "wait_pairs", "delays", "critical_path", "tolerance")
    )
    for kind, time in pairs.group_by("kind").agg(pl.col("time").sum()).iter_rows():
        assert waits.filter(pl.col("kind") == kind)["time_total"].sum() == pytest.approx(time)
    assert waits["share"].sum() == pytest.approx(1)
    assert delays["cost"].sum() == pytest.approx(pairs["time"].sum(), abs=1e-12)
    assert path["share"].sum() == pytest.approx(1)
    pop = profile.table("pop").row(0, named=True)
    product = pop["load_balance"] * pop["serialisation"] * pop["transfer"]
    assert pop["parallel"] == pytest.approx(product, rel=1e-9)
    assert pop["communication"] == pytest.approx(pop["serialisation"] * pop["transfer"], rel=1e-9)
    assert pop["run_time"] == pytest.approx(path["time"].sum())
    for row in profile.table("pop").drop_nulls("parallel").to_dicts():
        assert row["parallel"] == pytest.approx(row["load_balance"] * row["communication"], rel=1e-9)
        assert 0 < row["parallel"] <= row["load_balance"] <= 1 + 1e-9
    # Exclusive values of all regions add up to the run.
    own = profile.table("waits", exclusive=True)
    assert own["time_total"].sum() == pytest.approx(waits["time_total"].sum())
    whole = tolerance.row(0, named=True)
    assert whole["run_time"] == pytest.approx(pop["run_time"])
    assert 0 < whole["without_waiting"] <= whole["run_time"] * (1 + 1e-12)
    parts = profile.table("tolerance", exclusive=True)
    for unit, most in (("latencies", "latency"), ("bytes", "per_byte")):
        assert parts[unit].max() <= whole[unit] or whole[unit] == 0
        assert whole[f"{most}_1"] is None or whole[f"{most}_1"] <= whole[f"{most}_2"] <= whole[f"{most}_5"]
        least = parts[f"{most}_1"].min()  # what no region tolerates, the run does not
        assert whole[f"{most}_1"] is None or least is None or whole[f"{most}_1"] <= least * (1 + 1e-9)  # type: ignore[operator]
