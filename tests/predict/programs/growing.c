/* Regions that grow with the number of ranks by laws that are known: ranks sleep for simulated time. */
#include <haloscope/region.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

#define PASSES 4
#define BYTES 1000000

static void sleep_us(double microseconds) { usleep((useconds_t)(microseconds + 0.5)); }

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int before = rank > 0 ? rank - 1 : MPI_PROC_NULL, next = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  char *out = calloc(BYTES, 1), *in = calloc(BYTES, 1);
  for (int pass = 0; pass < PASSES; pass++) {
    HALOSCOPE_REGION_BEGIN("work");
    sleep_us(1000 + 200 * log2(size));
    HALOSCOPE_REGION_END("work");
    HALOSCOPE_COMM_REGION_BEGIN("exchange");
    MPI_Request requests[4];
    MPI_Irecv(in, BYTES / 2, MPI_CHAR, before, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in + BYTES / 2, BYTES / 2, MPI_CHAR, next, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, BYTES / 2, MPI_CHAR, next, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out + BYTES / 2, BYTES / 2, MPI_CHAR, before, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    HALOSCOPE_COMM_REGION_END("exchange");
    /* One rank after the other: the pattern has no such order, so it is waiting. */
    HALOSCOPE_COMM_REGION_BEGIN("wave");
    MPI_Recv(in, 1, MPI_CHAR, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sleep_us(50);
    MPI_Send(out, 1, MPI_CHAR, next, 1, MPI_COMM_WORLD);
    HALOSCOPE_COMM_REGION_END("wave");
    HALOSCOPE_COMM_REGION_BEGIN("sum");
    double own = rank, sum;
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    HALOSCOPE_COMM_REGION_END("sum");
  }
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
