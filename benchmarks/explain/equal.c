// equal WORK [STEPS]: each rank does the same work in each step (WORK million additions), and then all meet.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const long work = (long)(1e6 * atof(argv[1]));
  const int steps = argc > 2 ? atoi(argv[2]) : 15;
  volatile double sum = 0;
  for (int step = 0; step < steps; step++) {
    for (long i = 0; i < work; i++) sum += 1e-9 * (double)i;
    double mine = sum, all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
