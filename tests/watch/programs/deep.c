// `deep N`: a function that calls itself N times, in a region of its own each time, with a message to
// itself in each.
#include "common.h"

static void talk(void) {
  MPI_Sendrecv(buffer, 1, MPI_INT, rank, 0, other, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void descend(int levels) {
  REGION("level") {
    talk();
    if (levels > 1) descend(levels - 1);
  }
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  descend(atoi(argv[1]));
  REGION("after") talk();
  MPI_Finalize();
  puts("end");
  return 0;
}
