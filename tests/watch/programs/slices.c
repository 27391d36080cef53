// `slices LENGTH COUNT [threads|put|kill]`: the ranks talk until rank 0 has done so in COUNT different
// stretches of LENGTH seconds. That holds however often the machine stops it.
#include "common.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static double begin, length;
static long wanted, seen, latest = -1;

static int is_over(void) {
  const long stretch = (long)((MPI_Wtime() - begin) / length);
  if (stretch != latest) {
    latest = stretch;
    seen++;
  }
  return seen > wanted;
}

// Rank 0's clock decides for all.
static int goes_on(MPI_Comm comm) {
  int going = !is_over();
  MPI_Bcast(&going, 1, MPI_INT, 0, comm);
  return going;
}

static void talk(MPI_Comm comm) {
  MPI_Request requests[8];
  int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  REGION("ring")
  MPI_Sendrecv(buffer, 3, MPI_INT, next, 0, other, 3, MPI_INT, previous, 0, comm, MPI_STATUS_IGNORE);
  for (int i = 0; i < 4; i++) {
    MPI_Irecv(other + i, 1, MPI_INT, previous, 1, comm, &requests[i]);
    MPI_Isend(buffer + i, 1, MPI_INT, next, 1, comm, &requests[4 + i]);
  }
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
  REGION("sum") MPI_Allreduce(buffer, other, 2, MPI_INT, MPI_SUM, comm);
}

// A thread that comes late and leaves early.
static void *work(void *comm) {
  usleep(20000);
  for (int i = 0; i < 20; i++) REGION("thread") {
      talk(*(MPI_Comm *)comm);
      usleep(1000);
    }
  return NULL;
}

static void with_a_thread(void) {
  pthread_t thread;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  pthread_create(&thread, NULL, work, &comm);
  while (goes_on(MPI_COMM_WORLD)) talk(MPI_COMM_WORLD);
  pthread_join(thread, NULL);
}

// Nothing but one-sided operations.
static void put(void) {
  MPI_Win window;
  MPI_Win_create(buffer, sizeof buffer, sizeof *buffer, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  while (!is_over()) {
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    MPI_Put(other, 2, MPI_INT, rank, 0, 2, MPI_INT, window);
    MPI_Win_unlock(rank, window);
    usleep(1000);
  }
  MPI_Win_free(&window);
}

int main(int argc, char **argv) {
  const char *mode = argc > 3 ? argv[3] : "";
  int provided;
  MPI_Init_thread(&argc, &argv, strcmp(mode, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  begin = MPI_Wtime();
  length = atof(argv[1]);
  wanted = atol(argv[2]);
  if (!strcmp(mode, "threads")) {
    with_a_thread();
  } else if (!strcmp(mode, "put")) {
    put();
  } else {
    while (goes_on(MPI_COMM_WORLD)) talk(MPI_COMM_WORLD);
    if (!strcmp(mode, "kill") && rank == 1) raise(SIGKILL);
  }
  MPI_Finalize();
  return 0;
}
