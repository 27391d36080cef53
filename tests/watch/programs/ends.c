// Each rank does the same work; then rank 1, or the only one, ends as the first argument says, and the
// others do what the second says: `wait` for it, or `leave` by MPI_Finalize.
#include "common.h"

#include <signal.h>
#include <unistd.h>

static void end(const char *how) {
  if (!strcmp(how, "kill")) raise(SIGKILL);
  if (!strcmp(how, "segfault")) *(volatile int *)8 = 1;
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "exit")) exit(5);
  if (!strcmp(how, "exit0")) exit(0);
  if (!strcmp(how, "_exit")) _exit(6);
  if (!strcmp(how, "MPI_Abort")) MPI_Abort(MPI_COMM_WORLD, 7);
  for (;;) pause(); // "hang"; MPICH may return from MPI_Abort, too
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  const char *how = argv[1], *others = argv[2];
  int next = (rank + 1) % size, previous = (rank + size - 1) % size, late = !strcmp(how, "late");
  for (int i = 0; i < 10; i++) {
    REGION("ring")
    MPI_Sendrecv(buffer, 3, MPI_INT, next, 0, other, 3, MPI_INT, previous, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  HALOSCOPE_REGION_BEGIN("last");
  MPI_Barrier(MPI_COMM_WORLD); // all are in the region before one ends
  if (rank == 0) printf("working\n");
  fflush(stdout);
  if (rank == (size > 1) && !late) end(how);
  if (argc == 3 && !strcmp(others, "wait"))
    MPI_Recv(buffer, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  HALOSCOPE_REGION_END("last");
  MPI_Finalize();
  return rank == 1 ? 8 : 0;
}
