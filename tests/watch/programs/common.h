// What the small programs share. Each region of a program is one case of a test.
#pragma once

// SIMULATED leaves out what SimGrid's MPI has not: groups that talk to each other, neighbourhoods, matched
// probes, windows that are shared.
#include <haloscope/region.h>
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGION(name)                                                                                         \
  for (int once_ = (HALOSCOPE_REGION_BEGIN(name), 1); once_; once_ = (HALOSCOPE_REGION_END(name), 0))

// A program also checks the results of MPI: profiling must not change them.
#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                          \
      MPI_Abort(MPI_COMM_WORLD, 3);                                                                          \
    }                                                                                                        \
  } while (0)

__attribute__((unused)) static int rank, size;
__attribute__((unused)) static int buffer[1 << 16], other[1 << 16];

__attribute__((unused)) static void start(int *argc, char ***argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
}
