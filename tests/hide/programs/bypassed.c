// A message that bypasses the injector is received there, and the next one past it. Then answers to rank 1,
// and how long each takes.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, in = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    PMPI_Send(&rank, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    usleep(300000);
    MPI_Send(&rank, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&in, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // has the stamp of the next one
    PMPI_Recv(&in, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 5; i++)
    if (rank == 0) {
      PMPI_Recv(&in, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&rank, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
    } else {
      const double start = MPI_Wtime();
      PMPI_Send(&rank, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
      MPI_Recv(&in, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      printf("%.9f\n", MPI_Wtime() - start);
    }
  MPI_Finalize();
  return 0;
}
