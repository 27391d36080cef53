// More instances than memory has room for: `many_instances COUNT [irregular]`; prints by how many KiB
// MPI_Finalize made the largest rank larger than it was.
#include "common.h"

#include <sys/resource.h>

int main(int argc, char **argv) {
  struct rusage before, after;
  start(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD); // the one at the end needs no memory then
  int count = argc > 1 ? atoi(argv[1]) : 10000;
  for (int i = 0; i < count; i++) REGION("instant") {
      volatile int work = argc > 2 ? rand() % 4000 : 0;
      while (work > 0) work = work - 1;
    }
  MPI_Barrier(MPI_COMM_WORLD);
  getrusage(RUSAGE_SELF, &before);
  MPI_Finalize();
  getrusage(RUSAGE_SELF, &after);
  printf("%ld\n", after.ru_maxrss - before.ru_maxrss);
  return 0;
}
