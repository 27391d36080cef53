/* Preloaded behind the shm library: sends of so many bytes to so many, SLOW_FROM to SLOW_TO, take SLOW_US
 * longer. Tokens are short, and what MPI carries is long. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static void delay(int count, MPI_Datatype type) {
  int size;
  PMPI_Type_size(type, &size);
  const long bytes = (long)size * count;
  const long slow = atol(getenv("SLOW_US"));
  if (bytes < atol(getenv("SLOW_FROM")) || bytes > atol(getenv("SLOW_TO"))) return;
  const struct timespec time = {0, slow * 1000};
  nanosleep(&time, NULL);
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  delay(count, type);
  return PMPI_Send(data, count, type, to, tag, comm);
}
int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
  delay(count, type);
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
