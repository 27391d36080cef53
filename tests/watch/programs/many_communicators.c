// prog N: communicators and graphs that come and go, N of each kind, with one message and one collective
// each. Rank 0 prints the growth of memory after a tenth of N, in KiB.
#include "common.h"
#include "memory.h"

static void use(MPI_Comm comm, const char *region) {
  int me, count;
  MPI_Comm_rank(comm, &me), MPI_Comm_size(comm, &count);
  REGION(region) {
    MPI_Sendrecv(buffer, 1, MPI_INT, (me + 1) % count, 0, other, 1, MPI_INT, (me + count - 1) % count, 0,
                 comm, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
  }
  MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
  MPI_Comm comm, next;
  int number = atoi(argv[1]);
  start(&argc, &argv);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  long before = 0;
  for (int i = 0; i < number; i++) {
    if (i == number / 10) before = memory_max();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    use(comm, "twins");
    char name[32];
    snprintf(name, sizeof name, "number %d", i);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    MPI_Comm_set_name(comm, name);
    use(comm, "names");
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, i % 2, &from, MPI_UNWEIGHTED, i % 2, &to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm); // every other one is empty
    REGION("graphs") MPI_Neighbor_alltoall(buffer, 1, MPI_INT, other, 1, MPI_INT, comm);
    MPI_Comm_free(&comm);
  }
  // Each is made of the one before.
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < number; i++) {
    MPI_Comm_dup(comm, &next);
    use(comm, "line");
    comm = next;
  }
  MPI_Comm_free(&comm);
  if (rank == 0) printf("grew %ld\n", memory_max() - before);
  MPI_Finalize();
  return 0;
}
