// OpenMP's parallel regions, each case in a region of ours. Threads work for a time that their number says,
// or not at all.
#include "common.h"

#include <omp.h>
#include <time.h>

enum { THREADS = 3, ROUNDS = 20 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
static void work(double milliseconds) {
  const double end = now() + 1e-3 * milliseconds;
  while (now() < end) {
  }
}

static void nested(void) {
#pragma omp parallel num_threads(2)
  {
#pragma omp parallel num_threads(2)
    work(0.1);
  }
}

static void tasks(void) {
#pragma omp parallel num_threads(THREADS)
#pragma omp single
  for (int i = 0; i < 8; i++) {
#pragma omp task
    work(0.5);
  }
}

static void communicate(int level) {
#pragma omp parallel num_threads(THREADS)
  {
#pragma omp master
    REGION("inside") MPI_Allreduce(MPI_IN_PLACE, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (level == MPI_THREAD_MULTIPLE) {
      int mine = omp_get_thread_num(), got = -1;
      MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, mine, &got, 1, MPI_INT, (rank + size - 1) % size,
                   mine, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (got != mine) abort();
    }
  }
}

int main(int argc, char **argv) {
  int level = 0, sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum) // before MPI_Init: it is not recorded
  sum++;
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(sum == 2);
  omp_set_max_active_levels(2);
  REGION("balanced")
  for (int i = 0; i < ROUNDS; i++) {
#pragma omp parallel num_threads(THREADS)
    work(0.2);
  }
  REGION("uneven")
  for (int i = 0; i < ROUNDS; i++) {
#pragma omp parallel num_threads(THREADS)
    work(omp_get_thread_num() == 1 ? 2 : 0);
  }
  REGION("barriers") {
#pragma omp parallel num_threads(THREADS)
    for (int i = 0; i < ROUNDS; i++) {
      work(omp_get_thread_num() == i % THREADS ? 1 : 0);
#pragma omp barrier
    }
  }
  REGION("nested")
  for (int i = 0; i < ROUNDS; i++) nested();
  REGION("tasks")
  for (int i = 0; i < ROUNDS; i++) tasks();
  REGION("single thread")
  for (int i = 0; i < ROUNDS; i++) {
#pragma omp parallel num_threads(1)
    work(0.1);
  }
  REGION("communication")
  for (int i = 0; i < ROUNDS; i++) communicate(level);
  REGION("serial") work(5);
  MPI_Finalize();
  return 0;
}
