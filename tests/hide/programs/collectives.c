/* Collectives, blocking and not, in several communicators: their times per rank, and their results. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks;

static void expect(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double begin(void) {
  PMPI_Barrier(MPI_COMM_WORLD); /* without injected latencies */
  return MPI_Wtime();
}
static void end(const char *name, double since, int polls) {
  const double own = MPI_Wtime() - since;
  double *all = malloc((size_t)ranks * sizeof *all);
  PMPI_Gather(&own, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks; i++) printf("%s %d %.6f %d\n", name, i, all[i], polls);
  free(all);
}

static void in(MPI_Comm comm, const char *name) {
  int size, sum, one = 1, got = rank;
  double since;
  char full[64];
  MPI_Comm_size(comm, &size);

  since = begin();
  MPI_Barrier(comm);
  snprintf(full, sizeof full, "%s/Barrier", name);
  end(full, since, 0);

  since = begin();
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  snprintf(full, sizeof full, "%s/Allreduce", name);
  end(full, since, 0);
  expect(sum == size, "MPI_Allreduce");

  since = begin();
  MPI_Bcast(&got, 1, MPI_INT, 0, comm);
  snprintf(full, sizeof full, "%s/Bcast", name);
  end(full, since, 0);

  since = begin();
  MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, comm);
  snprintf(full, sizeof full, "%s/Reduce", name);
  end(full, since, 0);
}

int main(int argc, char **argv) {
  int own = 0, others = 0, polls = 0;
  MPI_Request request;
  MPI_Comm half, copy;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  in(MPI_COMM_WORLD, "world");
  in(MPI_COMM_SELF, "self");
  for (int i = 0; i < 50; i++) { /* data of a communicator are freed with it */
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_free(&copy);
  }
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  in(half, "half");
  MPI_Comm_free(&half);

  double since = begin();
  MPI_Iallreduce(&rank, &own, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  for (int done = 0; !done; polls += !done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  end("Iallreduce", since, polls);
  expect(own == ranks * (ranks - 1) / 2, "MPI_Iallreduce");

  since = begin();
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  end("Ibarrier", since, 0);

  /* Large messages need the receiver's help; results are as without the injector. */
  const int count = 300000, next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  int *large = malloc(2 * (size_t)count * sizeof *large);
  for (int i = 0; i < count; i++) large[i] = rank + i;
  since = begin();
  MPI_Sendrecv(large, count, MPI_INT, next, 3, large + count, count, MPI_INT, previous, 3, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  end("large", since, 0);
  for (int i = 0; i < count; i++) others += large[count + i] != previous + i;
  expect(others == 0, "a large message");
  free(large);
  MPI_Finalize();
  return 0;
}
