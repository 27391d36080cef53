// A ring of ranks, of which the last computes longest, with markers around each step.
#include <haloscope/region.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 20, SIZE = 5000 };

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  const struct timespec work = {0, 300000 + 400000 * rank};
  char *const sent = calloc(SIZE, 1), *const got = calloc(SIZE, 1);
  for (int step = 0; step < STEPS; step++) {
    HALOSCOPE_REGION_BEGIN("step");
    nanosleep(&work, NULL);
    HALOSCOPE_COMM_REGION_BEGIN("halo");
    MPI_Request requests[2];
    MPI_Irecv(got, SIZE, MPI_CHAR, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(sent, SIZE, MPI_CHAR, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    HALOSCOPE_COMM_REGION_END("halo");
    double mine = got[0], sum;
    if (step % 3 == 0) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    HALOSCOPE_REGION_END("step");
  }
  free(sent);
  free(got);
  MPI_Finalize();
  return 0;
}
