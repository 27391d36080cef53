/* Partitioned messages between two ranks, started repeatedly. Prints how often MPI_Test or
 * MPI_Request_get_status reported a send complete before its parts were ready, and how often data were
 * missing after a wait. */
#include <mpi.h>
#include <stdio.h>

enum { times = 20, count = 1000 };

int main(int argc, char **argv) {
  int rank, early = 0, wrong = 0, all[2] = {0, 0};
  double data[count];
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    MPI_Psend_init(data, 1, count, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  else
    MPI_Precv_init(data, 1, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int i = 0; i < times; i++) {
    MPI_Start(&request);
    if (rank == 0) {
      int over = 0;
      MPI_Request_get_status(request, &over, MPI_STATUS_IGNORE);
      early += over != 0;
      for (int k = 0; k < count; k++) data[k] = i + k;
      MPI_Pready(0, request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int k = 0; rank == 1 && k < count; k++)
      if (data[k] != i + k) {
        wrong++;
        break;
      }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Request_free(&request);
  const int mine[2] = {early, wrong};
  MPI_Reduce(mine, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d %d\n", all[0], all[1]);
  MPI_Finalize();
  return 0;
}
