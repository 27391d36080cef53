// Measures itself what a series records: `clocked COUNT FILE` writes, for each instance, nanoseconds
// just before and just after each of its ends, and around the receive in it, to FILE.RANK.
#include "common.h"

#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { numbers = 6 };

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int meets(int instance) { return instance % 5000 == 17; }

// Rank 1 sets out when rank 0 is about to wait. After a barrier it would not be so: on a busy machine rank 0
// may be the last to leave it.
static void meet(void) {
  if (rank == 0) MPI_Send(buffer, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(other, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Mostly nothing; sometimes rank 0 waits for a rank that comes late.
static void work(int instance, int64_t *times) {
  int to = rank;
  if (meets(instance)) {
    to = 1 - rank;
    if (rank == 1) usleep(2000);
  } else if (instance % 50) {
    return;
  }
  MPI_Request request;
  MPI_Isend(buffer, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &request);
  times[4] = now();
  MPI_Recv(other, 1, MPI_INT, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  times[5] = now();
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  CHECK(argc == 3 && size == 2);
  int count = atoi(argv[1]);
  int64_t (*times)[numbers] = calloc(count, sizeof *times);
  for (int i = 0; i < count; i++) {
    if (meets(i)) meet();
    times[i][0] = now();
    REGION("timed") {
      times[i][1] = now();
      work(i, times[i]);
      times[i][2] = now();
    }
    times[i][3] = now();
    if (i % 20000 == 3) usleep(3000);
  }
  char name[4096];
  snprintf(name, sizeof name, "%s.%d", argv[2], rank);
  FILE *file = fopen(name, "wb");
  CHECK(file && fwrite(times, sizeof *times, count, file) == (size_t)count && fclose(file) == 0);
  MPI_Finalize();
  return 0;
}
