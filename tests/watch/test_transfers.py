"""What the shm library below the recorder reports of the messages that it copies."""

from __future__ import annotations

from pathlib import Path

import pytest

import haloscope
from haloscope import explain
from support.mpi import Mpi
from support.programs import Compiler
from support.watched import Watched, watch

# Replaces the shm library without copying: it calls a function found by name within the program's MPI_Recv.
LIBRARY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <string.h>
static void tell(const char *protocol, uint64_t bytes) {
  void (*told)(const char *, uint64_t, uint32_t, uint32_t, uint64_t) =
      (void (*)(const char *, uint64_t, uint32_t, uint32_t, uint64_t))dlsym(
          RTLD_DEFAULT, "haloscope_transferred");
  told(protocol, bytes, bytes / 1000, strcmp(protocol, "STEAL") == 0,
       1000000000 * bytes);
}
int MPI_Init(int *argc, char ***argv) {
  int (*next)(int *, char ***) = (int (*)(int *, char ***))dlsym(RTLD_NEXT, "MPI_Init");
  tell("GET", 1000);
  return next(argc, argv);
}
int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status) {
  int (*next)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *) =
      (int (*)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *))dlsym(
          RTLD_NEXT, "MPI_Recv");
  static const char *const protocols[] = {"GET", "STEAL", "a protocol with a long name"};
  tell(protocols[tag], count);
  return next(buffer, count, type, from, tag, comm, status);
}
int MPI_Finalize(void) {
  int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "MPI_Finalize");
  tell("GET", 1000);
  return next();
}
"""
PROGRAM = """
#include <haloscope/region.h>
#include <mpi.h>
static char data[5000];
static void pass(int rank, int bytes, int tag) {
  if (rank == 0) MPI_Send(data, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(data, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  pass(rank, 3000, 0);
  HALOSCOPE_REGION_BEGIN("halo");
  for (int i = 0; i < 4; i++) pass(rank, 2000, 0);
  pass(rank, 5000, 1);
  MPI_Pcontrol(0);
  pass(rank, 5000, 1);
  MPI_Pcontrol(1);
  HALOSCOPE_REGION_END("halo");
  pass(rank, 1000, 2);
  MPI_Finalize();
  return 0;
}
"""


@pytest.fixture(scope="module")
def carried(any_mpi: Mpi, compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    flags = ["-shared", "-fPIC", "-ldl"]
    shm = compiler.text(any_mpi, "shm.c", LIBRARY, flags)
    program = compiler.text(any_mpi, "passing.c", PROGRAM)
    directory = tmp_path_factory.mktemp("carried")
    return watch(any_mpi, 2, [program], directory, env={"LD_PRELOAD": str(shm)})


def test_protocols_are_calls_of_their_region(carried: Watched) -> None:
    rows = {
        (row["region"], row["call"]): (
            row["calls"],
            row["bytes"],
            row["chunks"],
            row["helpers"],
            round(row["time_total"], 6),
            round(row["time_max"], 6),
        )
        for row in carried.rows("calls", exclusive=True)
        if row["chunks"] is not None
    }
    assert rows == {
        ("<program>", "GET (shm)"): (1, 3000, 3, 0, 3000, 3000),
        ("halo", "GET (shm)"): (4, 8000, 8, 0, 8000, 2000),
        ("halo", "STEAL (shm)"): (1, 5000, 5, 1, 5000, 5000),
        ("<program>", "a protocol with (shm)"): (1, 1000, 1, 0, 1000, 1000),
    }
    (whole,) = carried.select("calls", exclusive=False, region="<program>", call="GET (shm)")
    assert (whole["calls"], whole["bytes"], whole["chunks"]) == (5, 11000, 11)


def test_their_time_is_not_added_to_that_of_mpi(carried: Watched) -> None:
    (row,) = carried.select("calls", region="halo", call="MPI_Recv")
    assert row["chunks"] is row["helpers"] is None
    assert row["calls"] == 5
    # The library says that a byte takes a second.
    assert carried.region("<program>")["mpi_time_mean"] < 100
    with haloscope.open(carried.path) as profile:
        text = "\n".join(explain.summary(profile))
    assert "shm" not in text


def test_without_the_shm_library_the_table_is_as_ever(
    any_mpi: Mpi, compiler: Compiler, tmp_path: Path
) -> None:
    bare = watch(any_mpi, 2, [compiler.text(any_mpi, "passing.c", PROGRAM)], tmp_path)
    assert list(bare.rows("calls")[0]) == "region call memory calls bytes time_total time_max".split()
