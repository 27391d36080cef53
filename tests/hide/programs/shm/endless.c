/* Large messages around a ring of ranks, each checked, until it is killed. Prints a line after the start. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { bytes = 1 << 20 };

int main(int argc, char **argv) {
  int rank, size;
  unsigned char *in, *out;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Alloc_mem(bytes, MPI_INFO_NULL, &in);
  MPI_Alloc_mem(bytes, MPI_INFO_NULL, &out);
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (int i = 0;; ++i) {
    MPI_Request requests[2];
    memset(out, (i + rank) % 256, bytes);
    MPI_Irecv(in, bytes, MPI_BYTE, last, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD, &requests[1]);
    if (MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) != MPI_SUCCESS) break;
    for (int k = 0; k < bytes; k += 64)
      if (in[k] != (i + last) % 256)
        printf("wrong byte %d\n", k), fflush(stdout), MPI_Abort(MPI_COMM_WORLD, 9);
    if (i == 50 && rank == 0) puts("under way"), fflush(stdout);
  }
  return 5;
}
