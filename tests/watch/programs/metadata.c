// Says texts of its run before, while and after MPI is there.
#include "common.h"

#include <signal.h>

int main(int argc, char **argv) {
  HALOSCOPE_METADATA("case", "wing");
  HALOSCOPE_METADATA("step", "first");
  start(&argc, &argv);
  HALOSCOPE_METADATA("step", "last");
  HALOSCOPE_METADATA("who", rank == 0 ? "first" : "other");
  HALOSCOPE_METADATA("program", "mine");
  HALOSCOPE_METADATA("token", "abc");
  HALOSCOPE_METADATA("", "nothing");
  if (rank == size - 1) HALOSCOPE_METADATA("alone", "007");
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 1 && !strcmp(argv[1], "kill")) raise(SIGKILL);
  MPI_Finalize();
  HALOSCOPE_METADATA("case", "too late");
  return 0;
}
