// Threads of rank 0 send to threads of rank 1, all by one tag. Prints the shortest time under way, in
// seconds, of messages that were received by MPI_Irecv and MPI_Wait, MPI_Irecv and MPI_Test, and MPI_Recv.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { threads = 4, messages = 24, ways = 3 };
static int rank;
static double shortest[threads][ways];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *work(void *argument) {
  double *least = argument;
  for (int way = 0; way < ways; way++) {
    least[way] = 1e9;
    for (int i = 0; i < messages; i++) {
      MPI_Request request;
      double sent = now();
      int done = 0;
      if (rank == 0) {
        MPI_Isend(&sent, 1, MPI_DOUBLE, 1, way, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        continue;
      }
      if (way == 2)
        MPI_Recv(&sent, 1, MPI_DOUBLE, 0, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      else
        MPI_Irecv(&sent, 1, MPI_DOUBLE, way ? MPI_ANY_SOURCE : 0, way, MPI_COMM_WORLD, &request);
      if (way == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
      while (way == 1 && !done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (now() - sent < least[way]) least[way] = now() - sent;
    }
  }
  return NULL;
}

int main(int argc, char **argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  pthread_t made[threads];
  for (int i = 0; i < threads; i++) pthread_create(made + i, NULL, work, shortest[i]);
  for (int i = 0; i < threads; i++) pthread_join(made[i], NULL);
  for (int way = 0; rank == 1 && way < ways; way++) {
    double least = 1e9;
    for (int i = 0; i < threads; i++)
      if (shortest[i][way] < least) least = shortest[i][way];
    printf("way %d %.4f\n", way, least);
  }
  MPI_Finalize();
  return 0;
}
