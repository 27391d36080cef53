// Messages inside and outside of regions, some of which are nested: `filters [times|off]`. `times`: some that
// come at different times. `off`: some while recording is switched off, after 0.15 s.
#include "common.h"

#include <time.h>
#include <unistd.h>

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

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
      // Requests that begin here complete elsewhere.
      MPI_Isend(buffer, 7, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD, &request);
    }
    MPI_Recv(other, 7, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

// Messages to itself, for 0.3 s and 100 of them at least; prints when each was sent: seconds before and after
// it, counted from before and from after MPI_Init.
static void over_time(double before, double after) {
  int count = 0;
  for (double left = 0; left < 0.3 || count < 100; count++) {
    const double begin = seconds();
    REGION("all")
    REGION("message")
    MPI_Sendrecv(buffer, 1, MPI_INT, rank, 0, other, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double end = seconds();
    if (rank == 0) printf("%.9f %.9f\n", begin - after, end - before);
    left = end - before;
    usleep(2000);
  }
}

static void while_off(double after) {
  MPI_Pcontrol(0);
  while (seconds() - after < 0.15) usleep(2000);
  REGION("off") ring(10);
  MPI_Pcontrol(1);
  REGION("on") ring(5);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  const double after = seconds();
  if (argc == 1)
    nested();
  else if (strcmp(argv[1], "off") == 0)
    while_off(after);
  else
    over_time(atof(getenv("INITIALIZED")), after);
  MPI_Finalize();
  return 0;
}
