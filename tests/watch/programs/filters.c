// Messages inside and outside of regions, some of which are nested: `filters [times]`, where `times` is
// for some that come at different times.
#include "common.h"

#include <unistd.h>

static void ring(int times) {
  int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  for (int i = 0; i < times; i++)
    MPI_Sendrecv(buffer, 3, MPI_INT, next, 0, other, 3, MPI_INT, previous, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void nested(void) {
  MPI_Request request;
  ring(100);
  REGION("a") {
    ring(30);
    REGION("b") ring(5);
    ring(1);
  }
  REGION("c") {
    ring(1000);
    REGION("b") {
      ring(2);
      REGION("d") MPI_Allreduce(buffer, other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      // What is begun here is completed elsewhere.
      MPI_Isend(buffer, 7, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD, &request);
    }
    MPI_Recv(other, 7, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void at(double begin, double seconds, const char *name) {
  double left = begin + seconds - MPI_Wtime();
  if (left > 0) usleep((useconds_t)(1e6 * left));
  for (int i = 0; i < 10; i++) REGION(name) ring(1);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  double begin = MPI_Wtime();
  if (argc == 1) {
    nested();
  } else {
    REGION("all") {
      at(begin, 0, "first");
      at(begin, 1, "middle");
      at(begin, 2, "last");
    }
    printf("%g\n", MPI_Wtime() - begin);
  }
  MPI_Finalize();
  return 0;
}
