"""Traces of killed programs, and traces without enough memory: the recorded events are right."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import haloscope
from haloscope.explain import Profile
from haloscope.profile.trace import Trace
from support.mounting import Mount
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import PROGRAMS, Watched, watch

# Rank 1 ends after a number of messages around a ring, by a signal that cannot be caught. The others have
# sent theirs: launchers kill them, too. Ten at a time: ranks that outnumber the processors wait less often.
KILLED = """
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { AT_ONCE = 10 };

int main(int argc, char **argv) {
  int rank, size, out = 1, in[AT_ONCE], messages = atoi(argv[1]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < messages; i += AT_ONCE) {
    MPI_Request requests[2 * AT_ONCE];
    for (int k = 0; k < AT_ONCE; k++) {
      MPI_Irecv(&in[k], 1, MPI_INT, (rank + size - 1) % size, k % 5, MPI_COMM_WORLD, &requests[2 * k]);
      MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, k % 5, MPI_COMM_WORLD, &requests[2 * k + 1]);
    }
    MPI_Waitall(2 * AT_ONCE, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) kill(getpid(), SIGKILL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""
# No file may grow while it sends to itself, but at the end it may again. Before, some of the trace is
# written. With an argument it waits for the thread that writes, so that no event is lost.
FULL = f"""
#include <mpi.h>
#include <sys/resource.h>
#include "{PROGRAMS}/spooled.h"
static int waits;
static void send_and_receive(int times) {{
  int out = 1, in = 0;
  for (int i = 1; i <= times; i++) {{
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    if (waits && i % 50000 == 0) wait_for_more();
  }}
}}
int main(int argc, char **argv) {{
  struct rlimit limit;
  MPI_Init(&argc, &argv);
  waits = argc > 1;
  send_and_receive(20000);
  wait_for_more();
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlim_t most = limit.rlim_cur;
  limit.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &limit);
  send_and_receive(60000);
  usleep(100000);
  limit.rlim_cur = most;
  setrlimit(RLIMIT_FSIZE, &limit);
  send_and_receive(1000);
  MPI_Finalize();
  return 0;
}}
"""


def counts(frame: pl.DataFrame) -> dict[int, int]:
    return dict(frame.group_by("rank").len().sort("rank").iter_rows())


def missing_calls(profile: Profile, trace: Trace) -> int:
    """How many calls the tables know of and the trace does not; none the other way round."""
    stored = dict(profile.frame("calls").group_by("call").agg(pl.col("calls").sum()).iter_rows())
    traced = dict(trace.calls.group_by(pl.col("call").cast(pl.String)).len().iter_rows())
    differences = {call: stored[call] - traced.get(call, 0) for call in stored}
    assert min(differences.values()) >= 0
    return sum(differences.values())


@pytest.mark.parametrize("messages", [50, 20_000])
def test_what_a_killed_rank_did_is_there(mpi: Mpi, compiler: Compiler, tmp_path: Path, messages: int) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    command: list[str | Path] = [compiler.text(mpi, "killed_in_ring.c", KILLED), str(messages)]
    variables = {"HALOSCOPE_TRACE_SPOOL": str(spool)}
    watched = watch(mpi, 3, command, tmp_path, options=["--trace"], env=variables, status=None)
    with haloscope.open(watched.path) as profile:
        assert profile.info["partial"]
        trace = profile.trace()
        open_calls = profile.frame("processes", ["open_calls"])["open_calls"].sum()
        assert missing_calls(profile, trace) == open_calls
    assert trace.dropped.is_empty()
    assert counts(trace.sends) == counts(trace.receives) == dict.fromkeys(range(3), messages)
    assert (trace.receives["completed"] >= 0).all()
    assert not list(spool.iterdir())


def test_a_disk_that_is_full_loses_events_and_counts_them(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    command = [compiler.text(any_mpi, "full.c", FULL)]
    (tmp_path / "spool").mkdir()
    # All that is not written at once is in the way of what comes.
    more = {"HALOSCOPE_TRACE_MEMORY": "1", "HALOSCOPE_TRACE_SPOOL": str(tmp_path / "spool")}
    watched = watch(any_mpi, 1, command, tmp_path, options=["--trace"], env=more)
    assert_some_are_lost(watched, 81_000)
    assert "events of the trace are lost, because there was no space" in watched.done.stderr


def test_a_file_system_that_is_full_loses_events_and_counts_them(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path, mount: Mount
) -> None:
    command = [compiler.text(any_mpi, "full.c", FULL.replace("60000", "1000000"))]
    small = {"HALOSCOPE_TRACE_SPOOL": str(mount("spool", "size=256k")), "HALOSCOPE_TRACE_MEMORY": "1"}
    watched = watch(any_mpi, 1, command, tmp_path, options=["--trace"], env=small)
    assert_some_are_lost(watched, 1_021_000)
    assert "events of the trace are lost, because there was no space" in watched.done.stderr


def test_a_limit_of_memory_leaves_less_to_the_trace(any_mpi: Mpi, compiler: Compiler, tmp_path: Path) -> None:
    """Its memory would be 8 GiB of 4."""
    program = compiler.text(any_mpi, "full.c", FULL.replace("60000", "1").replace("= 4096", "= most"))
    command = ["bash", "-c", f"ulimit -v 4000000; exec {program}"]
    (tmp_path / "spool").mkdir()
    more = {"HALOSCOPE_TRACE_MEMORY": "1024", "HALOSCOPE_TRACE_SPOOL": str(tmp_path / "spool")}
    watched = watch(any_mpi, 1, command, tmp_path, options=["--trace"], env=more)
    with haloscope.open(watched.path) as profile:
        assert len(profile.trace().calls) > 0
        assert profile.frame("ranks")["sends"].sum() == 21_001


def test_a_spool_that_cannot_be_made_loses_the_trace_alone(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    command = [compiler.text(any_mpi, "full.c", FULL)]
    nowhere = {"HALOSCOPE_TRACE_SPOOL": str(tmp_path / "nowhere")}
    watched = watch(any_mpi, 1, command, tmp_path, options=["--trace"], env=nowhere)
    with haloscope.open(watched.path) as profile:
        trace = profile.trace()
        assert trace.calls.is_empty()
        assert trace.sends.is_empty()
        assert trace.dropped["events"].sum() == 2 * 81_000  # each call, and the message that it received
        assert profile.frame("ranks")["sends"].sum() == 81_000


def test_a_trace_that_is_too_large_is_left_out_as_a_whole(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    # A clock of coarse ticks leaves half a byte per call.
    text = FULL.replace("60000", "5000000").replace("limit.rlim_cur = 4096", "(void)most")
    command: list[str | Path] = [compiler.text(any_mpi, "large.c", text), "waits"]
    (tmp_path / "spool").mkdir()
    limit = {"HALOSCOPE_SIZE_LIMIT": "1", "HALOSCOPE_TRACE_SPOOL": str(tmp_path / "spool")}
    watched = watch(any_mpi, 1, command, tmp_path, options=["--trace"], env=limit)
    assert watched.path.stat().st_size < 2 << 20
    with haloscope.open(watched.path) as profile:
        assert profile.info["rows_left_out"] > 0
        assert not profile.has_trace
        assert profile.frame("ranks")["sends"].sum() == 5_021_000


def assert_some_are_lost(watched: Watched, calls: int) -> None:
    """Some events are missing, as reported, and all others are complete."""
    with haloscope.open(watched.path) as profile:
        trace = profile.trace()
        lost = trace.dropped["events"].sum()
        assert profile.info["trace_lost"] == lost > 0
        assert profile.frame("ranks")["sends"].sum() == calls
        missing = missing_calls(profile, trace)
    assert 8_000 <= len(trace.calls) < calls  # what is written at once
    received = calls - len(trace.receives)
    assert missing + received == lost
    assert (trace.calls["end"] >= trace.calls["begin"]).all()
