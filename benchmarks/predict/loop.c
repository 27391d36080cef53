/* The simple loop of the OSU benchmarks, without anything else.
 * `loop COLLECTIVE BYTES ITERATIONS WARMUP` prints microseconds: the mean over ranks of the mean time of a
 * call, and of the median. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *one, const void *other) {
  const double difference = *(const double *)one - *(const double *)other;
  return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv) {
  int ranks;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char *what = argv[1];
  const int bytes = atoi(argv[2]);
  const int iterations = atoi(argv[3]);
  const int warmup = atoi(argv[4]);
  const size_t page = 4096;
  const size_t room = ((size_t)bytes * (size_t)ranks / page + 1) * page;
  char *send = aligned_alloc(page, room);
  char *receive = aligned_alloc(page, room);
  memset(send, 1, room);
  memset(receive, 1, room);
  double *times = calloc((size_t)iterations + 1, sizeof(double));
  double spent = 0;
  for (int i = 0; i < iterations + warmup; i++) {
    const double begin = MPI_Wtime();
    if (strcmp(what, "bcast") == 0)
      MPI_Bcast(send, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    else if (strcmp(what, "allreduce") == 0)
      MPI_Allreduce(send, receive, bytes, MPI_SIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(what, "alltoall") == 0)
      MPI_Alltoall(send, bytes, MPI_CHAR, receive, bytes, MPI_CHAR, MPI_COMM_WORLD);
    else
      MPI_Barrier(MPI_COMM_WORLD);
    const double end = MPI_Wtime();
    if (i >= warmup) {
      times[i - warmup] = end - begin;
      spent += end - begin;
    }
    if (strcmp(what, "barrier") != 0) MPI_Barrier(MPI_COMM_WORLD);
  }
  qsort(times, (size_t)iterations, sizeof(double), ascending);
  const double mine[2] = {spent / iterations * 1e6 / ranks, times[iterations / 2] * 1e6 / ranks};
  double all[2] = {0, 0};
  MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.6f %.6f\n", all[0], all[1]);
  free(times);
  free(send);
  free(receive);
  MPI_Finalize();
  return 0;
}
