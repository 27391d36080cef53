// A send without a receive that is cancelled where the library can; prints whether it was.
#include "common.h"

int main(int argc, char **argv) {
  static int large[1 << 20];
  MPI_Request request;
  MPI_Status status;
  int cancelled = 0;
  start(&argc, &argv);
  HALOSCOPE_REGION_BEGIN("sends");
  if (rank == 0) {
    MPI_Send(buffer, 3, MPI_INT, 1, 1, MPI_COMM_WORLD);
    MPI_Issend(large, 1 << 20, MPI_INT, 1, 99, MPI_COMM_WORLD, &request);
  }
  HALOSCOPE_REGION_END("sends");
  if (rank == 0) {
    MPI_Cancel(&request);
    MPI_Barrier(MPI_COMM_WORLD); // the other rank receives what could not be cancelled
    MPI_Send(&cancelled, 0, MPI_INT, 1, 2, MPI_COMM_WORLD);
    REGION("ends") MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    printf("cancelled %d\n", cancelled);
  } else {
    MPI_Recv(other, 3, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(&cancelled, 0, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int there = 0;
    for (int i = 0; i < 1000 && !there; i++) MPI_Iprobe(0, 99, MPI_COMM_WORLD, &there, &status);
    if (there) MPI_Recv(large, 1 << 20, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
