// Rank 1 is killed in the middle of its work; the others wait for it. A command is carried out before.
#include "common.h"

#include <signal.h>

int main(int argc, char **argv) {
  start(&argc, &argv);
  int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  for (int i = 0; i < 20; i++) REGION("step") {
      REGION("ring")
      MPI_Sendrecv(buffer, i, MPI_INT, next, 0, other, i, MPI_INT, previous, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      MPI_Allreduce(buffer, other, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
  HALOSCOPE_REGION_BEGIN("open");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1 && argc > 1) CHECK(system(argv[1]) == 0);
  if (rank == 1) raise(SIGKILL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
