// Messages around a ring and from the first rank to all, and collectives of all and of halves.
#include <mpi.h>
#include <stdlib.h>

enum { STEPS = 20 };

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  double *out = calloc(100 * STEPS, sizeof(double)), *in = calloc(100 * STEPS, sizeof(double)), sum = 1;
  for (int step = 1; step <= STEPS; ++step) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(in, 100 * step, MPI_DOUBLE, (rank + size - 1) % size, step, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 100 * step, MPI_DOUBLE, (rank + 1) % size, step, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(out, 10, MPI_DOUBLE, 0, half);
  }
  MPI_Status status;
  if (rank == 0)
    for (int other = 1; other < size; ++other) MPI_Send(out, other, MPI_INT, other, 3, MPI_COMM_WORLD);
  else
    MPI_Recv(in, size, MPI_INT, 0, 3, MPI_COMM_WORLD, &status);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  free(out);
  free(in);
}
