/* A program whose last rank ends as HOW specifies: survive HOW STEPS MICROSECONDS.
 *
 * kill, term and abort are signals after a number of microseconds from the start. They arrive in MPI_Init,
 * during messages, or in MPI_Finalize (after STEPS steps; 0: never). MPI_Abort, exit, _exit and return are
 * called after STEPS steps. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int killer = 0;
static long microseconds = 0;

static void *wait_and_kill(void *nothing) {
  struct timespec delay = {microseconds / 1000000, microseconds % 1000000 * 1000};
  while (nanosleep(&delay, &delay)) {
  }
  kill(getpid(), killer);
  return nothing;
}

/* One step: a message in a ring, and a sum. */
static long step(int rank, int size, long number) {
  long in = 0, sum = 0, out = number + rank;
  MPI_Sendrecv(&out, 1, MPI_LONG, (rank + 1) % size, 0, &in, 1, MPI_LONG, (rank + size - 1) % size, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Allreduce(&in, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

int main(int argc, char **argv) {
  const char *how = argc > 3 ? argv[1] : "return";
  const long steps = argc > 3 ? atol(argv[2]) : 10;
  int rank = 0, size = 1, i;
  long sum = 0, number;
  pthread_t thread;
  const struct {
    const char *how;
    int signal;
  } signals[] = {{"kill", SIGKILL}, {"term", SIGTERM}, {"abort", SIGABRT}};
  microseconds = argc > 3 ? atol(argv[3]) : 0;
  for (i = 0; i < 3; i++)
    if (!strcmp(how, signals[i].how)) killer = signals[i].signal;
  printf("begin\n");
  fflush(stdout);
  /* With several ranks, the last one is unknown before MPI_Init. Then the time counts from the end of
   * MPI_Init. */
  if (killer && getenv("SURVIVE_ALONE")) pthread_create(&thread, NULL, wait_and_kill, NULL);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (killer && !getenv("SURVIVE_ALONE") && rank == size - 1)
    pthread_create(&thread, NULL, wait_and_kill, NULL);
  for (number = 0; (killer && !steps) || number < steps; number++) sum += step(rank, size, number);
  if (!killer) printf("sum %ld\n", sum);
  fflush(stdout);
  if (rank == size - 1) {
    if (!strcmp(how, "MPI_Abort")) MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(how, "exit")) exit(5);
    if (!strcmp(how, "_exit")) _exit(6);
  } else if (strcmp(how, "return") && !killer) {
    for (;;) step(rank, size, 0); /* waits for a rank that has ended */
  }
  MPI_Finalize();
  while (killer) pause();
  return 3;
}
