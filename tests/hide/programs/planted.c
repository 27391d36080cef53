// With the setting `coll_planted_delay` it sleeps for 0.3 s longer. Without `pml_planted_need` it fails at
// once. Two ranks or more.
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (getenv("OMPI_MCA_pml_planted_need") == NULL) return 3;
  for (int i = 0; i < 5; i++) {
    usleep(getenv("OMPI_MCA_coll_planted_delay") != NULL ? 60000 : 1000);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
