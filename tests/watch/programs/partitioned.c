// Partitioned communication (MPI 4) on two ranks.
#include "common.h"

static void partitioned(void) {
  MPI_Request request;
  int arrived = 0;
  REGION("partitioned") {
    if (rank == 0)
      MPI_Psend_init(buffer, 4, 25, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
      MPI_Precv_init(other, 2, 50, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int i = 0; i < 3; i++) {
      int list[1] = {3};
      MPI_Start(&request);
      if (rank == 0) {
        MPI_Pready(0, request);
        MPI_Pready_range(1, 2, request);
        MPI_Pready_list(1, list, request);
      } else {
        do MPI_Parrived(request, 1, &arrived);
        while (!arrived);
      }
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
  }
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  partitioned();
  MPI_Finalize();
  return 0;
}
