/* Common code of planted.c and clean.c: computing, exchanges in a ring, and the main program. */
#ifndef PLANTED_H
#define PLANTED_H
#define _GNU_SOURCE
#include <haloscope/region.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { SMALL = 200, LARGE = 1 << 20 };
static int rank, ranks, on, times = 60;
static double scale = 1; /* factor of all computing */
static char out[4 * LARGE], in[4 * LARGE];
#define world MPI_COMM_WORLD

static void compute(double milliseconds) {
  milliseconds *= scale;
  struct timespec wanted = {(time_t)(milliseconds / 1e3), (long)(1e6 * milliseconds) % 1000000000L};
  nanosleep(&wanted, NULL);
}

static volatile double sink = 2.0; /* volatile: the compiler cannot evaluate the loop */

static void loops(double thousands) {
  double value = sink;
  for (long i = 0; i < (long)(1000 * scale * thousands); i++) value = value * 0.999 + 1e-3;
  sink = value;
}

static void sum(void) {
  double mine = rank, all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, world);
}

static int left(void) { return (rank + ranks - 1) % ranks; }
static int right(void) { return (rank + 1) % ranks; }

/* Sends to the right and receives from the left. */
static void shift(int bytes) {
  MPI_Sendrecv(out, bytes, MPI_CHAR, right(), 0, in, bytes, MPI_CHAR, left(), 0, world, MPI_STATUS_IGNORE);
}

/* Exchanges with both neighbours of the ring, and computes before the wait. */
static void exchange(int bytes, double milliseconds) {
  MPI_Request requests[4];
  MPI_Irecv(in, bytes, MPI_CHAR, left(), 0, world, &requests[0]);
  MPI_Irecv(in + LARGE, bytes, MPI_CHAR, right(), 1, world, &requests[1]);
  MPI_Isend(out, bytes, MPI_CHAR, right(), 0, world, &requests[2]);
  MPI_Isend(out + LARGE, bytes, MPI_CHAR, left(), 1, world, &requests[3]);
  if (milliseconds > 0) compute(milliseconds);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

struct program {
  const char *name;
  void (*iteration)(void);
};

/* Runs the program argv[1]. The switch, the number of iterations, and the factor of computing follow. */
static int run(int argc, char **argv, const struct program *programs, int count) {
  if (argc < 3) return 2;
  on = !strcmp(argv[2], "on");
  if (argc > 3) times = atoi(argv[3]);
  if (argc > 4) scale = atof(argv[4]);
  prctl(PR_SET_TIMERSLACK, 1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  int known = 0;
  for (int i = 0; i < count; i++) {
    if (strcmp(programs[i].name, argv[1])) continue;
    known = 1;
    for (int time = 0; time < times; time++) programs[i].iteration();
  }
  if (!known && !rank) fprintf(stderr, "no program is called %s\n", argv[1]);
  MPI_Finalize();
  return !known;
}

#endif
