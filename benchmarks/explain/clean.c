/* Small programs without performance problems: clean PROGRAM off [ITERATIONS]. They compute, without
 * sleeping. */
#include "planted.h"

static void ring(void) {
  loops(200);
  shift(8192);
}

static void halo(void) {
  loops(1000);
  HALOSCOPE_COMM_REGION_BEGIN("halo");
  exchange(30000, 0);
  HALOSCOPE_COMM_REGION_END("halo");
}

static void allreduce(void) {
  loops(150);
  sum();
}

static void gather(void) {
  loops(300);
  MPI_Gather(out, 2000, MPI_CHAR, in, 2000, MPI_CHAR, 0, world);
  MPI_Bcast(out, 2000, MPI_CHAR, 0, world);
}

static void pipeline(void) { /* each rank works on the result of the preceding rank's last iteration */
  loops(300);
  if (rank < ranks - 1) MPI_Send(out, 1000, MPI_CHAR, rank + 1, 0, world);
  if (rank) MPI_Recv(in, 1000, MPI_CHAR, rank - 1, 0, world, MPI_STATUS_IGNORE);
}

static const struct program programs[] = {
    {"ring", ring}, {"halo", halo}, {"allreduce", allreduce}, {"gather", gather}, {"pipeline", pipeline},
};

int main(int argc, char **argv) { return run(argc, argv, programs, sizeof programs / sizeof *programs); }
