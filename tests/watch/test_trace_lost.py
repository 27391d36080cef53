"""A trace that loses events in between: requests behind that are still matched with what began them."""

from __future__ import annotations

from pathlib import Path

import haloscope
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import PROGRAMS, watch

# Sends to itself, by requests that last. Meanwhile no file may grow: events are lost. Then it may again.
PROGRAM = f"""
#include <mpi.h>
#include <sys/resource.h>
#include "{PROGRAMS}/spooled.h"
static void send_and_receive(int times) {{
  int out = 1, in = 0;
  for (int i = 0; i < times; i++) {{
    MPI_Request requests[2];
    MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]);
    MPI_Issend(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }}
}}
int main(int argc, char **argv) {{
  struct rlimit limit;
  MPI_Init(&argc, &argv);
  send_and_receive(20000);
  wait_for_more();
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlim_t most = limit.rlim_cur;
  limit.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &limit);
  send_and_receive(40000);
  limit.rlim_cur = most;
  setrlimit(RLIMIT_FSIZE, &limit);
  send_and_receive(20000);
  wait_for_more();
  send_and_receive(1000);
  MPI_Finalize();
  return 0;
}}
"""


def test_requests_after_lost_events_are_those_of_their_step(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    command = [compiler.text(any_mpi, "lost.c", PROGRAM)]
    (tmp_path / "spool").mkdir()
    more = {"HALOSCOPE_TRACE_MEMORY": "1", "HALOSCOPE_TRACE_SPOOL": str(tmp_path / "spool")}
    watched = watch(any_mpi, 1, command, tmp_path, options=["--trace"], env=more)
    with haloscope.open(watched.path) as profile:
        trace = profile.trace()
    assert trace.dropped["events"].sum() > 0
    for messages, between in ((trace.sends, 1), (trace.receives, 2)):
        known = messages.filter(messages["completed"] >= 0)
        assert not known.is_empty()
        assert set(known["completed"] - known["started"]) == {between}
