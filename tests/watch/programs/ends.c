// Each rank does the same work; then rank 1, or the only one, ends as the first argument says, and the
// others do what the second says: `wait` for it, or `leave` by MPI_Finalize. With `late`, rank 1 ends as the
// last one, with a status of its own: launchers kill the other ranks when a rank ends so.
#include "common.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
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

static void wait_for_the_ends_of(const int *processes) {
  for (int i = 0; i < size; i++) {
    struct pollfd ended = {(int)syscall(SYS_pidfd_open, processes[i], 0), POLLIN, 0};
    if (i != rank && ended.fd >= 0) poll(&ended, 1, -1);
    close(ended.fd);
  }
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
  PMPI_Barrier(MPI_COMM_WORLD); // it is written before one ends; the recorder does not see that
  int own = getpid(), *processes = calloc(size, sizeof *processes);
  PMPI_Allgather(&own, 1, MPI_INT, processes, 1, MPI_INT, MPI_COMM_WORLD);
  if (rank == (size > 1) && !late) end(how);
  if (argc == 3 && !strcmp(others, "wait"))
    MPI_Recv(buffer, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  HALOSCOPE_REGION_END("last");
  MPI_Finalize();
  if (late && rank == 1) wait_for_the_ends_of(processes);
  return rank == 1 ? 8 : 0;
}
