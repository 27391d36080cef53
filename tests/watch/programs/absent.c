// `absent [sleep|share]`: rank 1 sleeps for 0.3 s, or both compute for 0.3 s of CPU time on one core.
#define _GNU_SOURCE
#include "common.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

static double used(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void share_a_core(void) {
  cpu_set_t mine, one;
  sched_getaffinity(0, sizeof mine, &mine);
  int core = 0;
  while (!CPU_ISSET(core, &mine)) core++;
  MPI_Bcast(&core, 1, MPI_INT, 0, MPI_COMM_WORLD);
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
  MPI_Barrier(MPI_COMM_WORLD);
  for (const double end = used() + 0.3; used() < end;) {
  }
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  if (argc > 1 && !strcmp(argv[1], "share"))
    share_a_core();
  else if (rank == 1)
    usleep(300000);
  char *volatile memory = malloc(64 << 20);
  memset(memory, rank + 1, 64 << 20);
  CHECK(((volatile char *)memory)[1 << 20] == rank + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
