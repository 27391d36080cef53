"""The file of a truncated trace: events before the cut are there, and nothing is invented."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import haloscope
from support.limits import HANG
from support.mpi import Mpi
from support.programs import Compiler
from support.recorder import join, library
from support.watched import PROGRAMS

# Kills itself, with some of its trace in the file and the rest in memory. No event is lost. The memory has 16
# blocks of about 1000 messages, of which 8 are written at once: it waits for that before they are full.
KILLED = f"""
#include <mpi.h>
#include <signal.h>
#include "{PROGRAMS}/spooled.h"
int main(int argc, char **argv) {{
  int out = 1, in = 0;
  MPI_Init(&argc, &argv);
  for (int i = 1; i <= 30000; i++) {{
    MPI_Sendrecv(&out, 1, MPI_INT, 0, i % 3, &in, 1, MPI_INT, 0, i % 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    if (i % 10000 == 0) wait_for_more();
  }}
  kill(getpid(), SIGKILL);
}}
"""


@pytest.fixture(scope="module")
def killed(
    any_mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, Path]:
    """The recorder, and the directories of the record and of the trace of a process that was killed."""
    program = compiler.text(any_mpi, "killed_alone.c", KILLED)
    recorder = library(any_mpi)
    live, spool = (tmp_path_factory.mktemp(name) for name in ("live", "spool"))
    settings = {"LIVE": live, "RUN": "run", "TRACE": "1", "TRACE_SPOOL": spool, "TRACE_MEMORY": 1}
    words = [f"LD_PRELOAD={recorder}", *(f"HALOSCOPE_{name}={value}" for name, value in settings.items())]
    command: list[str | Path] = ["env", *any_mpi.launch(1), "env", *words, program]
    subprocess.run(command, env=any_mpi.environment(), capture_output=True, timeout=HANG, check=False)
    return recorder, live / "haloscope-run", spool


def traced(recorder: Path, live: Path, directory: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Calls and receives of the trace that are still complete; missing events are counted as lost."""
    path = directory / "joined.halo"
    join(recorder, live, path)
    with haloscope.open(path) as profile:
        assert profile.frame("ranks")["sends"].sum() == 30_000  # of which the trace is no part
        trace = profile.trace()
        assert profile.info["trace_lost"] == trace.dropped["events"].sum()
    assert len(trace.calls) + len(trace.receives) + trace.dropped["events"].sum() == 60_000
    return trace.calls.drop("is_exact"), trace.receives


def test_what_is_before_the_cut_is_there(
    killed: tuple[Path, Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    recorder, live, spool = killed
    directory = tmp_path_factory.mktemp("joined")
    (file,) = spool.iterdir()
    whole = file.read_bytes()
    calls, receives = traced(recorder, live, directory)
    assert len(receives) == 30_000
    found: dict[int, int] = {}

    @given(size=st.integers(0, len(whole) - 1), flipped=st.booleans())
    @example(size=0, flipped=False)
    @example(size=1, flipped=False)
    @example(size=len(whole) - 1, flipped=False)
    @settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
    def cut(size: int, flipped: bool) -> None:
        """Cut there, or one bit wrong there."""
        file.write_bytes(whole[:size] + (bytes([whole[size] ^ 4]) + whole[size + 1 :] if flipped else b""))
        fewer, received = traced(recorder, live, directory)
        same = calls.head(len(fewer))
        assert fewer.drop("begin", "end").equals(same.drop("begin", "end"))
        # How long a tick is, each joining finds out itself, as the process did not come to its end.
        for time in ("begin", "end"):
            assert fewer[time].to_list() == pytest.approx(same[time].to_list(), rel=1e-3)
        assert received.equals(receives.head(len(received)))
        # The last piece of the file may still be in memory too, where joining finds it.
        assert size > len(whole) / 3 or len(fewer) < len(calls)
        found[size] = len(fewer)

    cut()
    sizes = sorted(found)
    assert [found[size] for size in sizes] == sorted(found.values())
    assert found[sizes[-1]] > found[0] == 0
    file.write_bytes(whole)
    again, _ = traced(recorder, live, directory)
    assert len(again) == len(calls)


def checksum_of(content: bytes) -> int:
    """As in src/watch/trace/spool.cpp."""
    total, whole = 0x9E37_79B9_7F4A_7C15, len(content) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", content[:whole]):
        total = (total ^ word) * 0xC2B2_AE3D_27D4_EB4F % 2**64
        total ^= total >> 29
    for byte in content[whole:]:
        total = (total ^ byte) * 0x0000_0100_0000_01B3 % 2**64
    return (total ^ total >> 32) % 2**32


def test_a_file_that_no_recorder_wrote_does_no_harm(killed: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """Its checksum is right, but it has symbols that it does not define, or events without an end."""
    recorder, live, spool = killed
    (file,) = spool.iterdir()
    whole = file.read_bytes()
    end = whole.find(whole[:4], 4) % (len(whole) + 1)
    sequence = end - sum(struct.unpack_from("<2I", whole, 16))  # behind the symbols
    for place, values in ((sequence, b"\xff" * 40 + b"\x01"), (32, b"\xff" * 8)):
        piece = bytearray(whole[:end])
        piece[place : place + len(values)] = values
        struct.pack_into("<I", piece, 4, checksum_of(bytes(piece[8:])))
        file.write_bytes(piece)
        join(recorder, live, tmp_path / "joined.halo")
        with haloscope.open(tmp_path / "joined.halo") as profile:
            profile.verify()
            assert profile.frame("ranks")["sends"].sum() == 30_000
    file.write_bytes(whole)
