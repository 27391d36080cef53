// More instances than memory has room for: `many_instances COUNT`; prints by how many KiB MPI_Finalize
// made the largest rank larger than it was.
#include "common.h"

#include <sys/resource.h>

int main(int argc, char **argv) {
  struct rusage before, after;
  start(&argc, &argv);
  int count = argc > 1 ? atoi(argv[1]) : 10000;
  for (int i = 0; i < count; i++) REGION("instant") {
    }
  MPI_Barrier(MPI_COMM_WORLD);
  getrusage(RUSAGE_SELF, &before);
  MPI_Finalize();
  getrusage(RUSAGE_SELF, &after);
  printf("%ld\n", after.ru_maxrss - before.ru_maxrss);
  return 0;
}
