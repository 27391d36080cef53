// Threads that talk at the same time, each with its peer in the other rank and in regions of its own.
#include "common.h"

#include <pthread.h>

enum { threads = 4, rounds = 200 };
static MPI_Comm comms[threads];

static void *work(void *argument) {
  int id = *(int *)argument, peer = 1 - rank, out[64] = {0}, in[64];
  char name[32];
  MPI_Request requests[2];
  snprintf(name, sizeof name, "thread %d", id);
  for (int i = 0; i < rounds; i++) {
    REGION(name) {
      MPI_Irecv(in, 64, MPI_INT, peer, id, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(out, id + 1, MPI_INT, peer, id, MPI_COMM_WORLD, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    REGION("shared") {
      MPI_Sendrecv(out, 10, MPI_INT, peer, id, in, 64, MPI_INT, peer, id, comms[id], MPI_STATUS_IGNORE);
      if (i % 50 == 0) MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, comms[id]);
    }
  }
  return NULL;
}

// One thread starts what another completes.
static MPI_Request handed[rounds];
static void *complete(void *unused) {
  REGION("handed over") MPI_Waitall(rounds, handed, MPI_STATUSES_IGNORE);
  return unused;
}

static void hand_over(void) {
  pthread_t thread;
  for (int i = 0; i < rounds; i++)
    MPI_Irecv(&other[i], 1, MPI_INT, 1 - rank, 1000 + i, MPI_COMM_WORLD, &handed[i]);
  pthread_create(&thread, NULL, complete, NULL);
  for (int i = 0; i < rounds; i++) MPI_Send(&buffer[i], 1, MPI_INT, 1 - rank, 1000 + i, MPI_COMM_WORLD);
  pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
  pthread_t ids[threads];
  int numbers[threads], provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < threads; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < threads; i++) {
    numbers[i] = i;
    pthread_create(&ids[i], NULL, work, &numbers[i]);
  }
  for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
  hand_over();
  MPI_Finalize();
  return 0;
}
