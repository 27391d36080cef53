/* The simplest loops of osu_latency and osu_bw, with the clock read between tenths.
   pingpong latency|bw BYTES ITERATIONS WARMUPS prints nanoseconds per message: the median of the tenths. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WINDOW = 64, PARTS = 10 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Binds the rank to one of the processors that the launcher allows. */
static void bind(int rank) {
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && seen++ == rank) {
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      sched_setaffinity(0, sizeof one, &one);
      return;
    }
}

static void there_and_back(int rank, char *buffer, char *other, int size) {
  if (rank == 0) MPI_Send(buffer, size, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  MPI_Recv(other, size, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(buffer, size, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
}

static void window(int rank, char *buffer, int size) {
  MPI_Request requests[WINDOW];
  for (int i = 0; i < WINDOW; ++i) {
    if (rank == 0) MPI_Isend(buffer, size, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[i]);
    if (rank == 1) MPI_Irecv(buffer, size, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) MPI_Recv(NULL, 0, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(NULL, 0, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
  const int latency = strcmp(argv[1], "latency") == 0;
  const int size = atoi(argv[2]), iterations = atoi(argv[3]), warmups = atoi(argv[4]);
  bind(rank);
  const size_t room = ((size_t)size + 4095) / 4096 * 4096;
  char *buffer = aligned_alloc(4096, room), *other = aligned_alloc(4096, room);
  memset(buffer, 1, room);
  memset(other, 2, room);
  double start = 0, parts[PARTS];
  const int part = iterations / PARTS;
  for (int i = -warmups; i <= PARTS * part; ++i) {
    if (i >= 0 && i % part == 0) {
      const double time = now();
      if (i > 0) parts[i / part - 1] = (time - start) / part / (latency ? 2 : WINDOW);
      start = time;
    }
    if (latency)
      there_and_back(rank, buffer, other, size);
    else
      window(rank, buffer, size);
  }
  qsort(parts, PARTS, sizeof *parts, by_size);
  if (rank == 0) printf("%.3f\n", (parts[PARTS / 2 - 1] + parts[PARTS / 2]) / 2);
  free(buffer);
  free(other);
  MPI_Finalize();
  return 0;
}
