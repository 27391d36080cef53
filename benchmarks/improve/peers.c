// Programs that a bad setting makes slow: peers WHAT TIMES
//     compute     each rank computes, then a barrier
//     broadcast   1 MiB to all
//     messages    4 KiB between neighbours, in both directions
//     short       512 B between neighbours, which every library sends eagerly
//     ring        4 KiB to the next rank, then a barrier: the time depends on how ranks share cores
//     apart       256 KiB between ranks whose numbers differ by half of all
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static double compute(int steps) {
  volatile double sum = 0;
  for (int i = 1; i < steps; i++) sum += 1.0 / i;
  return sum;
}

int main(int argc, char **argv) {
  static char out[1 << 20], in[1 << 20];
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const char *what = argv[1];
  const int neighbour = rank ^ 1, partner = (rank + size / 2) % size;
  for (int time = 0; time < atoi(argv[2]); time++) {
    if (strcmp(what, "compute") == 0) {
      compute(10000000);
      MPI_Barrier(MPI_COMM_WORLD);
    } else if (strcmp(what, "broadcast") == 0) {
      MPI_Bcast(out, sizeof out, MPI_CHAR, time % size, MPI_COMM_WORLD);
    } else if (strcmp(what, "ring") == 0) {
      MPI_Sendrecv(out, 4096, MPI_CHAR, (rank + 1) % size, 0, in, 4096, MPI_CHAR, (rank + size - 1) % size, 0,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Barrier(MPI_COMM_WORLD);
    } else {
      const int apart = strcmp(what, "apart") == 0, bytes = apart                   ? 262144
                                                            : strcmp(what, "short") ? 4096
                                                                                    : 512;
      MPI_Sendrecv(out, bytes, MPI_CHAR, apart ? partner : neighbour, 0, in, sizeof in, MPI_CHAR,
                   apart ? partner : neighbour, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  MPI_Finalize();
  return 0;
}
