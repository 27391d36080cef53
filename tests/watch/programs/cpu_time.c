// Regions that sleep, compute, or are short, and how often the recorder asks for the CPU time of the thread.
#define _GNU_SOURCE
#include "common.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile long questions;

// The recorder's calls come here: the program is the first in the search for symbols.
int clock_gettime(clockid_t clock, struct timespec *time) {
  questions += clock == CLOCK_THREAD_CPUTIME_ID;
  return (int)syscall(SYS_clock_gettime, clock, time);
}

static double used(void) {
  struct timespec time;
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void compute(double seconds) {
  for (const double end = used() + seconds; used() < end;) {
  }
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  HALOSCOPE_REGION_BEGIN("all");
  for (int i = 0; i < 3; i++) {
    HALOSCOPE_REGION_BEGIN("sleep");
    usleep(50000);
    HALOSCOPE_REGION_END("sleep");
    HALOSCOPE_REGION_BEGIN("compute");
    compute(0.02);
    HALOSCOPE_REGION_END("compute");
  }
  const long before = questions;
  for (int i = 0; i < 20000; i++) {
    HALOSCOPE_REGION_BEGIN("short");
    HALOSCOPE_REGION_END("short");
  }
  const long asked = questions - before;
  HALOSCOPE_REGION_END("all");
  printf("asked %ld\n", asked);
  MPI_Finalize();
  return 0;
}
