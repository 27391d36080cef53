// Another name at each pass: `many_names COUNT`.
#include "common.h"

#include <sys/resource.h>

int main(int argc, char **argv) {
  struct rusage before, after;
  char name[64];
  start(&argc, &argv);
  int count = argc > 1 ? atoi(argv[1]) : 10000;
  getrusage(RUSAGE_SELF, &before);
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "pass number %d", i);
    REGION(name)
    MPI_Sendrecv(buffer, 1, MPI_INT, rank, 0, other, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  getrusage(RUSAGE_SELF, &after);
  REGION("last")
  MPI_Sendrecv(buffer, 2, MPI_INT, rank, 0, other, 2, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) printf("%ld\n", after.ru_maxrss - before.ru_maxrss); // KiB
  MPI_Finalize();
  return 0;
}
