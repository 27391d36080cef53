"""Profiles small enough to add up by hand, and one of a program that has run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from haloscope import explain
from haloscope.explain import Profile
from support.command import Command, capture_command
from support.mpi import Mpi
from support.profiles import Draft, draft, path_rows, process_rows
from support.programs import Compiler
from support.watched import watch


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Command:
    """`command("show", "run.halo")` runs the command in this process."""
    return partial(capture_command, capfd)


@pytest.fixture
def read(tmp_path: Path) -> Callable[[Draft], Profile]:
    """`read(draft)` writes a profile and opens it."""

    def write_and_open(written: Draft) -> Profile:
        return explain.open(written.write(tmp_path / "run.halo"))

    return write_and_open


@pytest.fixture
def nested() -> Draft:
    """Two ranks on two hosts: `<program>` > solve > halo on both, `<program>` > halo on rank 1."""
    return draft(
        paths=path_rows("solve", "solve/halo", "halo"),
        processes=process_rows("alpha", "beta"),
        ranks=[
            {"path": 0, "rank": 0, "instances": 1, "time": 10.0, "dest_ranks": 2, "src_ranks": 1},
            {"path": 0, "rank": 1, "instances": 1, "time": 12.0, "dest_ranks": 1, "src_ranks": 1},
            {
                "path": 1,
                "rank": 0,
                "instances": 2,
                "time": 8.0,
                "sends": 1,
                "bytes_sent": 100,
                "largest_message": 100,
                "p2p_time": 0.5,
                "other_time": 0.25,
                "colls": 3,
                "coll_time": 1.0,
                "dest_ranks": 2,
                "dest_ranks_exclusive": 1,
                "skew_time": 0.125,
                "sends_instance_min": 2,
                "sends_instance_max": 3,
                "sends_instance_min_exclusive": 0,
                "sends_instance_max_exclusive": 1,
            },
            {"path": 1, "rank": 1, "instances": 0, "time": 6.0},
            {
                "path": 2,
                "rank": 0,
                "instances": 4,
                "time": 3.0,
                "sends": 4,
                "bytes_sent": 4000,
                "largest_message": 1500,
                "p2p_time": 2.0,
                "wait_time": 1.5,
                "dest_ranks": 1,
                "dest_ranks_exclusive": 1,
                "sends_instance_min": 1,
                "sends_instance_max": 1,
            },
            {
                "path": 2,
                "rank": 1,
                "instances": 4,
                "time": 2.0,
                "recvs": 4,
                "bytes_recv": 4000,
                "p2p_time": 1.0,
                "src_ranks": 1,
                "src_ranks_exclusive": 1,
            },
            {
                "path": 3,
                "rank": 1,
                "instances": 1,
                "time": 1.0,
                "sends": 1,
                "bytes_sent": 7,
                "largest_message": 7,
                "dest_ranks": 1,
                "dest_ranks_exclusive": 1,
                "rma_ops": 2,
                "rma_bytes": 16,
                "rma_time": 0.5,
            },
        ],
        partners=[
            {"path": 1, "rank": 0, "partner": 0, "sends": 1, "bytes_sent": 100, "time": 0.5},
            {"path": 2, "rank": 0, "partner": 1, "sends": 4, "bytes_sent": 4000, "time": 2.0},
            {"path": 2, "rank": 1, "partner": 0, "recvs": 4, "bytes_recv": 4000, "time": 1.0},
            {"path": 3, "rank": 1, "partner": -1, "sends": 1, "bytes_sent": 7},
        ],
        calls=[
            {"path": 1, "call": "MPI_Send", "calls": 1, "bytes": 100, "time_total": 0.5, "time_max": 0.5},
            {"path": 2, "call": "MPI_Send", "calls": 4, "bytes": 4000, "time_total": 2.0, "time_max": 0.75},
            {"path": 2, "call": "MPI_Recv", "calls": 4, "bytes": 4000, "time_total": 3.0, "time_max": 1.0},
        ],
        sizes=[
            {"path": 1, "kind": "p2p", "bytes": 100, "bytes_upper": 100, "messages": 1},
            {"path": 2, "kind": "p2p", "bytes": 100, "bytes_upper": 100, "messages": 1, "time_total": 1.0},
            {"path": 2, "kind": "p2p", "bytes": 1500, "bytes_upper": 1500, "messages": 3},
        ],
        collectives=[
            {
                "path": 1,
                "operation": "Allreduce",
                "comm_size": 2,
                "bytes": 8,
                "calls": 3,
                "time_total": 1.0,
                "time_max": 0.5,
            }
        ],
        communicators=[
            {"name": "MPI_COMM_SELF", "size": 1, "ranks": 1, "calls": 1, "bytes": 0},
            {"name": "MPI_COMM_WORLD", "size": 2, "ranks": 2, "calls": 12, "bytes": 4107},
        ],
    )


@pytest.fixture(scope="session")
def late_ring(any_mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profile, with a trace, of a ring of three ranks of which the last computes longest."""
    program = compiler(any_mpi, Path(__file__).parent / "programs" / "late_ring.c")
    return watch(any_mpi, 3, [program], tmp_path_factory.mktemp("ring"), options=["--trace"]).path
