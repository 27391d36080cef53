// once BYTES NAME… calls each named collective once. Open MPI's monitoring counts its messages.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int ranks, size;
static char *from, *to;
static int *counts;

static void call(const char *name) {
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Datatype kind = MPI_SIGNED_CHAR;
  if (strcmp(name, "bcast") == 0) MPI_Bcast(from, size, kind, 0, world);
  if (strcmp(name, "reduce") == 0) MPI_Reduce(from, to, size, kind, MPI_SUM, 0, world);
  if (strcmp(name, "allreduce") == 0) MPI_Allreduce(from, to, size, kind, MPI_SUM, world);
  if (strcmp(name, "allgather") == 0) MPI_Allgather(from, size, kind, to, size, kind, world);
  if (strcmp(name, "alltoall") == 0) MPI_Alltoall(from, size, kind, to, size, kind, world);
  if (strcmp(name, "barrier") == 0) MPI_Barrier(world);
  if (strcmp(name, "gather") == 0) MPI_Gather(from, size, kind, to, size, kind, 0, world);
  if (strcmp(name, "scatter") == 0) MPI_Scatter(from, size, kind, to, size, kind, 0, world);
  if (strcmp(name, "reduce_scatter") == 0) MPI_Reduce_scatter(from, to, counts, kind, MPI_SUM, world);
  if (strcmp(name, "reduce_scatter_block") == 0)
    MPI_Reduce_scatter_block(from, to, size / ranks, kind, MPI_SUM, world);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  size = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
  from = calloc((size_t)size + 1, (size_t)ranks);
  to = calloc((size_t)size + 1, (size_t)ranks);
  counts = malloc((size_t)ranks * sizeof *counts);
  for (int i = 0; i < ranks; i++) counts[i] = size / ranks + (i < size % ranks);
  for (int i = 2; i < argc; i++) call(argv[i]);
  free(from);
  free(to);
  free(counts);
  MPI_Finalize();
  return 0;
}
