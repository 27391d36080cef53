// `during [COMMAND]`: rank 0 runs a shell command in the middle of what the program does.
#include "common.h"

static void ring(const char *name) {
  int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  for (int i = 0; i < 10; i++) {
    REGION(name)
    MPI_Sendrecv(buffer, 3, MPI_INT, next, 0, other, 3, MPI_INT, previous, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  ring("before");
  if (rank == 0 && argc > 1) CHECK(system(argv[1]) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  ring("after");
  MPI_Finalize();
  if (rank == 0) printf("end\n");
  return 0;
}
