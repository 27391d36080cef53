/* alone COUNT BYTES FREE: rank 0 sends COUNT messages of BYTES to rank 1, which waits for each in MPI_Recv.
 * Meanwhile all other ranks make no call of MPI, until rank 1 has created the file FREE. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wait_for(const char *file) {
  while (access(file, F_OK) != 0) usleep(1000);
}

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int count = atoi(argv[1]), bytes = atoi(argv[2]);
  char *data[16];
  MPI_Request requests[16];
  for (int i = 0; i < count; i++) {
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &data[i]);
    memset(data[i], rank == 0 ? i + 1 : 0, bytes);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    for (int i = 0; i < count; i++) {
      MPI_Recv(data[i], bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int at = 0; at < bytes; at++)
        if (data[i][at] != i + 1) MPI_Abort(MPI_COMM_WORLD, 3);
    }
    close(open(argv[3], O_CREAT | O_WRONLY, 0600));
  } else {
    for (int i = 0; rank == 0 && i < count; i++) {
      usleep(20000); /* in which rank 1 begins to wait; the result does not depend on it */
      MPI_Isend(data[i], bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
    }
    wait_for(argv[3]);
    if (rank == 0) MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < count; i++) MPI_Free_mem(data[i]);
  MPI_Finalize();
  return 0;
}
