/* Rank 0 sends so many messages to rank 1, each when both are there; rank 1 prints how long each took. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) { /* MPI_Wtime may count from each rank's own beginning */
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Nothing is injected there, and who waits sleeps. */
static void meet(void) {
  const struct timespec pause = {0, 100000};
  MPI_Request request;
  int done = 0;
  PMPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (PMPI_Test(&request, &done, MPI_STATUS_IGNORE); !done; PMPI_Test(&request, &done, MPI_STATUS_IGNORE))
    nanosleep(&pause, NULL);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, messages = argc > 1 ? atoi(argv[1]) : 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < messages; i++) {
    double sent = 0;
    meet();
    if (rank == 0) {
      sent = now();
      MPI_Send(&sent, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
      MPI_Recv(&sent, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      printf("%.9f\n", now() - sent);
    }
  }
  MPI_Finalize();
  return 0;
}
