// Instances of a region, with values.
#include "common.h"

#include <unistd.h>

int main(int argc, char **argv) {
  start(&argc, &argv);
  for (int step = 0; step < 600; step++) {
    REGION("time/step") {
      HALOSCOPE_VALUE("square", (double)step * step);
      if (step % 2) HALOSCOPE_VALUE("odd \"é\"", rank + 0.5);
      REGION("inner") MPI_Allreduce(buffer, other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (step == 0) REGION("not asked for") HALOSCOPE_VALUE("square", 1.0);
  }
  MPI_Finalize();
  return 0;
}
