// What the injector leaves behind: a receive that is freed before its message comes, and is never asked for;
// and communicators, of which MPI may have too few. Some are used, and all are freed at the end.
// prog N [blocking]: N communicators at most.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const int most = atoi(argv[1]);
  MPI_Comm *made = malloc(most * sizeof *made);
  int rank, count = 0, in = 0;
  MPI_Request request;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 1) MPI_Irecv(&in, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
  if (rank == 1) MPI_Request_free(&request);
  for (int failed = 0; !failed && count < most; count += !failed) {
    MPI_Comm *one = made + count;
    if (argc == 2) {
      failed = MPI_Comm_idup(MPI_COMM_WORLD, one, &request) || MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      failed = count % 2 ? MPI_Comm_dup(MPI_COMM_WORLD, one) : MPI_Comm_split(MPI_COMM_WORLD, 0, rank, one);
    }
  }
  for (int i = 0; i < count; i++) {
    if (i % 97 == 0 || i == count - 1)
      MPI_Sendrecv(&i, 1, MPI_INT, 1 - rank, 1, &in, 1, MPI_INT, 1 - rank, 1, made[i], MPI_STATUS_IGNORE);
    MPI_Comm_free(made + i);
  }
  if (rank == 0) puts(count > 0 ? "made" : "none");
  if (rank == 0) fprintf(stderr, "%d communicators\n", count);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  free(made);
  return 0;
}
