"""NCCL's profiler plugin: events are replayed by a program that opens it as NCCL does. No NCCL runs here."""

from __future__ import annotations

from pathlib import Path

from support.mpi import Mpi
from support.programs import Compiler
from support.watched import PROGRAMS, STRICT, program, watch

FLAGS = ("-ldl", "-lpthread", "-Wno-pedantic")
RANKS = 2


def test_collectives_of_nccl_stand_beside_those_of_mpi(mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    run = watch(mpi, RANKS, [program(compiler, mpi, "told_nccl.c", FLAGS)], tmp_path)
    rows = run.select("collectives", region="training")
    names = ("operation", "algorithm", "protocol", "channels", "comm_size", "bytes", "calls")
    assert sorted(tuple(row[name] for name in names) for row in rows) == [
        ("Allreduce", None, None, None, RANKS, 12, RANKS),
        ("ncclAllReduce", "RING", "SIMPLE", 4, RANKS, 4000, 5 * RANKS),
        ("ncclAllReduce", "TREE", "LL", 4, RANKS, 40, 2 * RANKS),
        ("ncclReduceScatter", "NVLS", "SIMPLE", 4, RANKS, 400 * RANKS, RANKS),
        ("ncclSend", None, None, 1, RANKS, 77, RANKS),
    ]
    assert all(0 < row["time_max"] <= row["time_total"] for row in rows)
    (many,) = run.select("collectives", region="<program>", operation="ncclBroadcast")
    assert many["calls"] == 5000 * RANKS
    # They are none of MPI's.
    assert run.region("training")["colls_total"] == RANKS
    assert "nccl" in run.info["annotations"]


def test_nccl_is_left_to_another_plugin(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    command = [program(compiler, any_mpi, "told_nccl.c", FLAGS)]
    run = watch(any_mpi, 1, command, tmp_path, env={"NCCL_PROFILER_PLUGIN": "other"}, status=None)
    assert run.done.returncode == 1


def test_a_process_without_mpi_is_not_recorded(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    flags = [*STRICT, "-DWITHOUT_MPI", *FLAGS]
    run = watch(any_mpi, 1, [compiler(any_mpi, PROGRAMS / "told_nccl.c", flags)], tmp_path, status=None)
    assert not run.path.exists()
