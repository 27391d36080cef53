// Duplicates a communicator until MPI has none left, and frees what was made.
#include <mpi.h>
#include <stdio.h>

enum { most = 80000 };

int main(int argc, char **argv) {
  static MPI_Comm made[most];
  MPI_Request request;
  int count = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  while (count < most && MPI_Comm_idup(MPI_COMM_WORLD, made + count, &request) == MPI_SUCCESS &&
         MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS)
    count++;
  for (int i = 0; i < count; i++) MPI_Comm_free(made + i);
  fprintf(stderr, "%d communicators\n", count);
  MPI_Finalize();
  puts("end");
  return 0;
}
