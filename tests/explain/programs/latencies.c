/* Ranks on a ring that compute while messages are under way, and reduce now and then. Computing is sleeping,
 * so that a busy machine does not matter much. Arguments: iterations, microseconds of computing in each.
 */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static void compute(long microseconds) {
  const struct timespec span = {microseconds / 1000000, microseconds % 1000000 * 1000};
  nanosleep(&span, NULL);
}

int main(int argc, char **argv) {
  const int iterations = argc > 1 ? atoi(argv[1]) : 20;
  const long length = argc > 2 ? atol(argv[2]) : 10000;
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  double in[2], out[2] = {1, 2}, sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < iterations; i++) {
    MPI_Request requests[4];
    MPI_Irecv(&in[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&out[0], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&out[1], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[3]);
    /* Each rank is the slowest now and then. */
    compute((i + rank) % ranks == 0 ? length : length / 2);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    compute(length / 4);
    if (i % 5 == 4) MPI_Allreduce(in, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
