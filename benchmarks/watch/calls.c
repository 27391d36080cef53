/* Cost of MPI calls in nanoseconds. One rank sends to itself, so that only the library and the recorder are
 * measured. Prints one line per case: name, median over rounds. */
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

/* Each case has a batch of messages to the rank itself; only one kind of call in it is timed. */
static MPI_Request requests[2 * halo];
static double timed;

static void irecv_all(int bytes) {
  int i;
  for (i = 0; i < halo; i++) MPI_Irecv(in[i], bytes, MPI_BYTE, 0, i, MPI_COMM_SELF, &requests[i]);
}
static void isend_all(int bytes) {
  int i;
  for (i = 0; i < halo; i++) MPI_Isend(out[i], bytes, MPI_BYTE, 0, i, MPI_COMM_SELF, &requests[halo + i]);
}

static void posts(int bytes) {
  const double begin = now();
  irecv_all(bytes);
  isend_all(bytes);
  timed += now() - begin;
  MPI_Waitall(2 * halo, requests, MPI_STATUSES_IGNORE);
}
static void posts_8(void) { posts(8); }
static void posts_8192(void) { posts(8192); }

static void waits(void) {
  double begin;
  int i;
  irecv_all(8);
  isend_all(8);
  begin = now();
  for (i = 0; i < 2 * halo; i++) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  timed += now() - begin;
}
static void blocking_sends(void) {
  double begin;
  int i;
  irecv_all(8);
  begin = now();
  for (i = 0; i < halo; i++) MPI_Send(out[i], 8, MPI_BYTE, 0, i, MPI_COMM_SELF);
  timed += now() - begin;
  MPI_Waitall(halo, requests, MPI_STATUSES_IGNORE);
}
static void blocking_receives(void) {
  double begin;
  int i;
  isend_all(8);
  begin = now();
  for (i = 0; i < halo; i++) MPI_Recv(in[i], 8, MPI_BYTE, 0, i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  timed += now() - begin;
  MPI_Waitall(halo, requests + halo, MPI_STATUSES_IGNORE);
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
  HALOSCOPE_COMM_REGION_BEGIN("halo");
  irecv_all(8);
  isend_all(8);
  MPI_Waitall(2 * halo, requests, MPI_STATUSES_IGNORE);
  HALOSCOPE_COMM_REGION_END("halo");
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median is over rounds; the value of a round is the mean over its calls. `batch`: number of calls that
 * the work times itself; 0: the whole work is one call. */
static void measure(const char *name, void (*work)(void), int batch) {
  double times[rounds];
  const int works = batch ? calls / batch : calls;
  int round, i;
  for (i = 0; i < calls; i++) work();
  for (round = 0; round < rounds; round++) {
    const double begin = now();
    timed = 0;
    for (i = 0; i < works; i++) work();
    times[round] = batch ? timed / works / batch : (now() - begin) / works;
  }
  qsort(times, rounds, sizeof times[0], ascending);
  printf("%s %.3f\n", name, times[rounds / 2]);
}

static void measure_all(void);
/* Adds stack frames between main and the calls. */
static __attribute__((noinline)) void measure_below(int frames) {
  if (frames > 0)
    measure_below(frames - 1);
  else
    measure_all();
  __asm__ volatile(""); /* prevents a tail call */
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1) calls = atoi(argv[1]);
  measure_below(10);
  MPI_Finalize();
  return 0;
}

static void measure_all(void) {
  MPI_Irecv(in[1], 8, MPI_BYTE, 0, 99, MPI_COMM_SELF, &never);
  measure("clock_gettime", clock_read, 0);
  measure("Isend or Irecv of 8 B", posts_8, 2 * halo);
  measure("Isend or Irecv of 8 KiB", posts_8192, 2 * halo);
  measure("Wait", waits, 2 * halo);
  measure("Send", blocking_sends, halo);
  measure("Recv", blocking_receives, halo);
  measure("Test that finds nothing", failed_test, 0);
  measure("Testall that finds nothing", failed_testall, 0);
  measure("Iprobe that finds nothing", nothing_there, 0);
  measure("Allreduce", allreduce, 0);
  measure("empty region", empty_region, 0);
  measure("region of 12 Irecv, 12 Isend, Waitall", exchange, 0);
  MPI_Cancel(&never);
  MPI_Wait(&never, MPI_STATUS_IGNORE);
}
