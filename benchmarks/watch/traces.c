/* A chain of ranks that exchange halos and reduce, for a number of rounds. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  static double out[128], in[2][128];
  double sum = 0, own = 1;
  int rank, size, i, side;
  const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (i = 0; i < rounds; i++) {
    MPI_Request requests[4];
    int count = 0;
    for (side = 0; side < 2; side++) {
      const int other = side == 0 ? rank - 1 : rank + 1;
      if (other < 0 || other >= size) continue;
      MPI_Irecv(in[side], 128, MPI_DOUBLE, other, side, MPI_COMM_WORLD, &requests[count++]);
      MPI_Isend(out, 128, MPI_DOUBLE, other, 1 - side, MPI_COMM_WORLD, &requests[count++]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return sum == size || rounds == 0 ? 0 : 1;
}
