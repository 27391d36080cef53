/* Marked for Caliper, and killed before it comes to an end. */
#include <caliper/cali.h>
#include <mpi.h>
#include <signal.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  CALI_MARK_BEGIN("work");
  MPI_Barrier(MPI_COMM_WORLD);
  CALI_MARK_END("work");
  raise(SIGKILL);
}
