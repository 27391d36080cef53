"""Bounds of all findings: no gain, and no upper end of an interval, exceeds the run, whatever it recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import haloscope
from haloscope.explain.findings import RULES, Finding, MachineMeasurements
from support.profiles import Draft, draft, path_rows, process_rows

RUN = 10.0
REGIONS = ("steps", "halo", "write")
CALLS = """
    MPI_Recv MPI_Send MPI_Ssend MPI_Waitall MPI_Sendrecv MPI_Irecv MPI_Allreduce MPI_Comm_split MPI_Comm_free
""".split()
# A share of the run; estimates from samples may exceed the time that there was.
SHARE = st.sampled_from([0.0, 0.02, 0.3, 0.6, 0.95, 1.0]) | st.floats(0, 1.6)
COUNT = st.sampled_from([0, 1, 30, 1000, 40_000_000])
SIZE = st.sampled_from([8, 300, 9000, 70_000, 1 << 20])


def _rank_rows(pick: Any, ranks: int) -> list[dict[str, Any]]:
    """Ranks that have the same work in each region, or different work, at different speeds."""
    rows = []
    work = [pick(SHARE) for _ in REGIONS] if pick(st.booleans()) else None
    staged = pick(st.sampled_from([0, 0, 1 << 20]))
    for rank in range(ranks):
        rows.append({"path": 0, "rank": rank, "instances": 1, "time": RUN, "coll_time": RUN * pick(SHARE)})
        left, speed = RUN, pick(st.sampled_from([0.3, 0.3, 0.6]))
        for path in (1, 2, 3):
            time = min(left, RUN * (pick(SHARE) if work is None else work[path - 1] * speed))
            left -= time
            spent = {name: time * pick(SHARE) for name in ("p2p_time", "coll_time", "other_time")}
            if work is not None:
                spent = dict.fromkeys(spent, 0.0)
            rows.append(
                {
                    "path": path,
                    "rank": rank,
                    "instances": 30,
                    "time": time,
                    **spent,
                    "dest_ranks_exclusive": 1,
                }
                | {"wait_time": sum(spent.values()) * pick(st.sampled_from([0.0, 1.0]))}
                | {"sends": pick(COUNT), "recvs": pick(COUNT), "polls": pick(COUNT)}
                | {"device_copies": 1, "device_copy_bytes": 1 << 20, "device_copy_time": RUN * pick(SHARE)}
                | {"staged_bytes": staged}
            )
    return rows


def _call_rows(pick: Any, ranks: int) -> list[dict[str, Any]]:
    rows = []
    for path in range(4):
        for call in CALLS:
            count, time = pick(COUNT), ranks * RUN * pick(SHARE)
            row = {"path": path, "call": call, "calls": count, "bytes": count * pick(SIZE)}
            rows.append(row | {"time_total": time, "time_max": time / max(count, 1) * pick(st.floats(1, 4))})
    return [row for row in rows if row["calls"]]


@st.composite
def runs(choose: st.DrawFn) -> Draft:
    """A run of 10 s with arbitrary times and counts in the tables that rules read."""
    ranks = choose(st.integers(1, 4))
    hosts = choose(st.sampled_from([["alpha"] * ranks, ["alpha", "beta", "alpha", "beta"][:ranks]]))
    made = draft(
        {"ranks": ranks, "mpi_library": choose(st.sampled_from(["Open MPI v4.1.4", "MPICH 4.0.2"]))},
        paths=path_rows(*REGIONS),
        processes=process_rows(*hosts),
        calls=_call_rows(choose, ranks),
        sizes=[
            {"path": path, "kind": "p2p", "bytes": size, "bytes_upper": size, "messages": choose(COUNT)}
            for path in range(4)
            for size in choose(st.sampled_from([(8,), (300,), (9000,), (8, 1 << 20)]))
        ],
        partners=[
            {"path": path, "rank": rank, "partner": partner, "sends": 1, "bytes_sent": choose(SIZE)}
            | {"time": choose(SHARE)}
            for path in range(4)
            for rank in range(ranks)
            for partner in range(ranks)
        ],
        collectives=[
            {"path": path, "operation": "Allreduce", "comm_size": ranks, "bytes": 4096}
            | {"calls": 2000, "time_total": ranks * RUN * choose(SHARE)}
            for path in range(4)
        ],
    )
    rows = _rank_rows(choose, ranks)
    later = ("polls", "device_copies", "device_copy_bytes", "device_copy_time", "staged_bytes")
    made.tables["ranks"] = {
        **draft(ranks=rows).tables["ranks"],
        **{name: [row.get(name, 0) for row in rows] for name in later},
    }
    cpus = [choose(st.sampled_from(["", "3", "0-1"]))] * ranks
    made.tables["processes"] = {**made.tables["processes"], "cpus": cpus}
    made.version = (1, 4)
    return made


def measured(ranks: int) -> MachineMeasurements:
    known = {"operation": ["allreduce"], "comm_size": [ranks], "bytes": [4096], "algorithm": ["ring"]}
    return MachineMeasurements(collectives=pl.DataFrame({**known, "time": [2e-3], "best_time": [1e-6]}))


def shorten(written: Draft, factor: float) -> None:
    for table, columns in written.tables.items():
        times = {name: [factor * value for value in columns[name]] for name in columns if "time" in name}
        written.tables[table] = {**columns, **times}


def require_bounds(found: list[Finding]) -> None:
    assert sum(finding.gain for finding in found) <= RUN * (1 + 1e-9)
    for finding in found:
        assert 0 <= finding.gain_low <= finding.gain <= finding.gain_high + 1e-12, finding
        assert finding.gain_high <= RUN * (1 + 1e-9), finding
        assert finding.rule in {name for rule in RULES for name in rule.names}


@pytest.mark.slow
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(written=runs())
def test_no_gain_exceeds_the_run(written: Draft, tmp_path_factory: pytest.TempPathFactory) -> None:
    path: Path = written.write(tmp_path_factory.mktemp("any") / "run.halo")
    require_bounds(haloscope.findings(path, measured(int(written.info["ranks"]))))


@pytest.mark.slow
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(written=runs())
def test_no_gain_of_a_short_run_is_below_a_detour(
    written: Draft, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shorten(written, 0.02)  # 200 ms, of which the system may take 20 ms from a rank
    path: Path = written.write(tmp_path_factory.mktemp("short") / "run.halo")
    gains = [finding.gain for finding in haloscope.findings(path, measured(int(written.info["ranks"])))]
    assert all(gain == 0 or gain >= 0.02 for gain in gains)
