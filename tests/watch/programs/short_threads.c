// N threads, which record in a region each: one after the other, or, with a second argument, all at once.
// Meanwhile, the first thread switches recording off and on. Prints the growth of memory after a tenth of N,
// in KiB.
#include "common.h"
#include "memory.h"

#include <pthread.h>

enum { sends = 10 };
static pthread_barrier_t all;
static int together;

static void talk(void) {
  int out = 1, in;
  for (int i = 0; i < sends; i++)
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void *work(void *unused) {
  if (!together) {
    REGION("task") talk();
    return unused;
  }
  talk();
  pthread_barrier_wait(&all); // nobody has ended before
  MPI_Pcontrol(0);
  pthread_barrier_wait(&all);
  talk();
  pthread_barrier_wait(&all);
  return unused;
}

int main(int argc, char **argv) {
  int provided, count = atoi(argv[1]);
  together = argc > 2;
  pthread_t *ids = calloc(count, sizeof *ids);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  pthread_barrier_init(&all, NULL, count);
  long before = 0;
  for (int i = 0; i < count; i++) {
    if (i == count / 10) before = memory_max();
    CHECK(pthread_create(&ids[i], NULL, work, NULL) == 0);
    if (!together) pthread_join(ids[i], NULL);
  }
  for (int i = 0; together && i < count; i++) pthread_join(ids[i], NULL);
  printf("grew %ld\n", memory_max() - before);
  MPI_Finalize();
  return 0;
}
