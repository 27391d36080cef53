/* A chain of ranks that exchange with their neighbours at every step. Prints when each rank ended each step,
 * in seconds since rank 0 began step EVENT: wave STEPS EVENT. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) { /* MPI_Wtime may have a different zero on each rank */
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv) {
  const struct timespec work = {0, 2000000};
  MPI_Init(&argc, &argv);
  int rank, ranks;
  const int steps = argc > 1 ? atoi(argv[1]) : 10, event = argc > 2 ? atoi(argv[2]) : 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double *ends = malloc((size_t)steps * sizeof *ends), *all = NULL, begin = 0;
  if (rank == 0) all = malloc((size_t)steps * (size_t)ranks * sizeof *all);
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  PMPI_Barrier(MPI_COMM_WORLD);
  for (int step = 0; step < steps; step++) {
    if (step == event) begin = now();
    MPI_Request requests[4];
    double in[2], out = step;
    nanosleep(&work, NULL);
    MPI_Irecv(&in[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&out, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&out, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    ends[step] = now();
  }
  PMPI_Gather(ends, steps, MPI_DOUBLE, all, steps, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks * steps; i++)
    printf("%.6f%c", all[i] - begin, i % steps == steps - 1 ? '\n' : ' ');
  free(ends);
  free(all);
  MPI_Finalize();
  return 0;
}
