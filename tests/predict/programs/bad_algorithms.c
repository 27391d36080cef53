/* Preloaded: Open MPI's broadcast 3 (pipeline) hangs from 64 B on, 5 (binary_tree) crashes, and 6
 * (binomial) brings wrong data. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The environment says which it is, or whoever wrote the control variable since. */
static int chosen(void) {
  int threads, index, count, number = 0;
  MPI_T_cvar_handle handle;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &threads) != MPI_SUCCESS) abort();
  if (MPI_T_cvar_get_index("coll_tuned_bcast_algorithm", &index) != MPI_SUCCESS) abort();
  if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS) abort();
  MPI_T_cvar_read(handle, &number);
  MPI_T_cvar_handle_free(&handle);
  MPI_T_finalize();
  return number;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const int number = chosen();
  if (number == 3 && count >= 64) pause();
  if (number == 5) abort();
  const int error = PMPI_Bcast(buffer, count, type, root, comm);
  if (number == 6) memset(buffer, 0x7f, 1);
  return error;
}
