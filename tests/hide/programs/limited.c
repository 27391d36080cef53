// Sends argv[1] messages while no file of this process may grow beyond argv[2] bytes.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, out = 1, in;
  struct rlimit limit;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = argc > 2 ? (rlim_t)atol(argv[2]) : 0;
  setrlimit(RLIMIT_FSIZE, &limit);
  for (int i = 0; argc > 1 && i < atoi(argv[1]); i++)
    MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 0, &in, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  MPI_Finalize();
  limit.rlim_cur = before;
  setrlimit(RLIMIT_FSIZE, &limit);
  if (rank == 0) puts("end");
  return 0;
}
