// Regions with misleading names: the program, a path, an escape; and a very long one.
#include "common.h"

static void send(int count) {
  MPI_Sendrecv(buffer, count, MPI_INT, rank, 0, other, count, MPI_INT, rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  char *name = malloc((1 << 20) + 1);
  start(&argc, &argv);
  memset(name, 'x', 1 << 20);
  name[1 << 20] = 0;
  REGION("<program>") send(1);
  REGION("a") {
    REGION("b") send(2);
    REGION("<program>") send(3);
  }
  REGION("a/b") send(4);
  REGION("a\\/b") send(5);
  REGION("a\\") REGION("b") send(6);
  REGION("") send(7);
  REGION(name) send(8);
  MPI_Finalize();
  free(name);
  return 0;
}
