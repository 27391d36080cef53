/* MPI_Waitsome as a wait for the first request of the list, so that a program receives messages in a fixed
 * order. */
#include <mpi.h>

int MPI_Waitsome(int count, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses) {
  for (int i = 0; i < count; i++) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    *done = 1;
    indices[0] = i;
    return MPI_Wait(&requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses);
  }
  *done = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
