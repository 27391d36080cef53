// Ranks r and r + half of all exchange large messages, neighbours small ones. Prints each rank, its node, and
// the bytes that it sent to other nodes.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TIMES = 10, MUCH = 65536, LITTLE = 100, MOST = 64 };
static char out[MUCH], in[MUCH], nodes[MOST][256];
static int rank, size;
static long away;

static void swap(int bytes, int to, int from) {
  MPI_Sendrecv(out, bytes, MPI_CHAR, to, 0, in, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(nodes[rank], nodes[to]) != 0) away += bytes;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > MOST) MPI_Abort(MPI_COMM_WORLD, 2);
  gethostname(nodes[rank], sizeof nodes[rank]);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, nodes, sizeof nodes[0], MPI_CHAR, MPI_COMM_WORLD);
  for (int i = 0; i < TIMES; i++) {
    swap(MUCH, (rank + size / 2) % size, (rank + size / 2) % size);
    swap(LITTLE, (rank + 1) % size, (rank + size - 1) % size);
  }
  printf("%d %s %ld\n", rank, nodes[rank], away);
  MPI_Finalize();
  return 0;
}
