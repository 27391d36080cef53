/* What one MPI call costs, in nanoseconds: one rank with itself, so that nothing but the library and
 * whoever watches it is measured. Prints one line a case: name, median over rounds. */
#include <haloscope/region.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { rounds = 41, halo = 12 };

static char out[halo][8192], in[halo][8192];
static int calls = 2000;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void self_message(int bytes) {
  MPI_Request requests[2];
  MPI_Irecv(in[0], bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, &requests[0]);
  MPI_Isend(out[0], bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, &requests[1]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}

static void message_8(void) { self_message(8); }
static void message_8192(void) { self_message(8192); }

static void blocking(void) {
  MPI_Request request;
  MPI_Irecv(in[0], 8, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request);
  MPI_Send(out[0], 8, MPI_BYTE, 0, 0, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void receive(void) {
  MPI_Request request;
  MPI_Isend(out[0], 8, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request);
  MPI_Recv(in[0], 8, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static MPI_Request never;
static void failed_test(void) {
  int flag;
  MPI_Test(&never, &flag, MPI_STATUS_IGNORE);
}
static void failed_testall(void) {
  int flag;
  MPI_Testall(1, &never, &flag, MPI_STATUSES_IGNORE);
}
static void nothing_there(void) {
  int flag;
  MPI_Iprobe(0, 9, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}
static void allreduce(void) {
  double value = 1, sum;
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}
static void empty_region(void) {
  HALOSCOPE_REGION_BEGIN("empty");
  HALOSCOPE_REGION_END("empty");
}
static void clock_read(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
}
static void exchange(void) {
  MPI_Request requests[2 * halo];
  int i;
  HALOSCOPE_COMM_REGION_BEGIN("halo");
  for (i = 0; i < halo; i++) MPI_Irecv(in[i], 8, MPI_BYTE, 0, i, MPI_COMM_SELF, &requests[i]);
  for (i = 0; i < halo; i++) MPI_Isend(out[i], 8, MPI_BYTE, 0, i, MPI_COMM_SELF, &requests[halo + i]);
  MPI_Waitall(2 * halo, requests, MPI_STATUSES_IGNORE);
  HALOSCOPE_COMM_REGION_END("halo");
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median is that of the rounds; a round is the mean over its calls. */
static void measure(const char *name, void (*work)(void), int calls_each) {
  double times[rounds];
  int round, i;
  for (i = 0; i < calls; i++) work();
  for (round = 0; round < rounds; round++) {
    const double begin = now();
    for (i = 0; i < calls; i++) work();
    times[round] = (now() - begin) / calls / calls_each;
  }
  qsort(times, rounds, sizeof times[0], ascending);
  printf("%s %.3f\n", name, times[rounds / 2]);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1) calls = atoi(argv[1]);
  MPI_Irecv(in[1], 8, MPI_BYTE, 0, 99, MPI_COMM_SELF, &never);
  measure("clock_gettime", clock_read, 1);
  measure("message of 8 B (Irecv, Isend, 2 Wait)", message_8, 4);
  measure("message of 8 KiB (Irecv, Isend, 2 Wait)", message_8192, 4);
  measure("blocking send (Irecv, Send, Wait)", blocking, 3);
  measure("blocking receive (Isend, Recv, Wait)", receive, 3);
  measure("Test that finds nothing", failed_test, 1);
  measure("Testall that finds nothing", failed_testall, 1);
  measure("Iprobe that finds nothing", nothing_there, 1);
  measure("Allreduce", allreduce, 1);
  measure("empty region", empty_region, 1);
  measure("region of 12 Irecv, 12 Isend, Waitall", exchange, 1);
  MPI_Cancel(&never);
  MPI_Wait(&never, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
