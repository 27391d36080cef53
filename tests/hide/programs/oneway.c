/* Rank 0 sends N messages to rank 1, each after a barrier. Rank 1 prints the time of each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) { /* MPI_Wtime may have a different zero on each rank */
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A barrier without injected latencies; a rank that waits sleeps. */
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
