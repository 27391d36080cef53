/* Preloaded: Open MPI's broadcast 3 (pipeline) hangs from 64 B on, 5 (binary_tree) crashes, and 6
 * (binomial) brings wrong data. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const char *chosen = getenv("OMPI_MCA_coll_tuned_bcast_algorithm");
  const int number = chosen != NULL ? atoi(chosen) : 0;
  if (number == 3 && count >= 64) pause();
  if (number == 5) abort();
  const int error = PMPI_Bcast(buffer, count, type, root, comm);
  if (number == 6) memset(buffer, 0x7f, 1);
  return error;
}
