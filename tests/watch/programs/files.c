// `files before N`: starts MPI with at most N open files. `files after`: opens all it may after MPI_Init.
#include "common.h"

#include <fcntl.h>
#include <sys/resource.h>

int main(int argc, char **argv) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = argc > 2 ? atoi(argv[2]) : 256;
  setrlimit(RLIMIT_NOFILE, &limit);
  start(&argc, &argv);
  if (!strcmp(argv[1], "after"))
    while (open("/dev/null", O_RDONLY) >= 0) {
    }
  REGION("work") MPI_Allreduce(buffer, other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0) puts("end");
  return 0;
}
