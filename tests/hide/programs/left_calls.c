// Calls that are left by longjmp, from an error handler or from a signal that arrives in it. After each of
// them rank 0 sends 10 messages to rank 1, both with a tag for the call that was left. Arguments: the bytes
// of a message, and "threads" for MPI_THREAD_MULTIPLE. Each rank prints its number in MPI_COMM_WORLD, and its
// node.
#define _GNU_SOURCE
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { times = 3, messages = 10, none = 77 };
static sigjmp_buf back;
static volatile int by_signal;
static char *buffer;

static void on_error(MPI_Comm *comm, int *code, ...) {
  (void)comm, (void)code;
  if (by_signal) raise(SIGUSR1);
  siglongjmp(back, 1);
}
static void on_signal(int number) {
  (void)number;
  siglongjmp(back, 1);
}

static void leave(int which) {
  MPI_Request request;
  if (sigsetjmp(back, 1) != 0) return;
  if (which == 0) MPI_Send(buffer, 1, MPI_INT, none, 0, MPI_COMM_WORLD);
  if (which == 1) MPI_Isend(buffer, 1, MPI_INT, none, 0, MPI_COMM_WORLD, &request);
  if (which == 2) MPI_Irecv(buffer, 1, MPI_INT, none, 0, MPI_COMM_WORLD, &request);
  if (which == 3) MPI_Bcast(buffer, -1, MPI_INT, 0, MPI_COMM_WORLD);
  if (which == 4) MPI_Recv(buffer, 1, MPI_INT, none, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  puts("wrong: nothing was left");
}

int main(int argc, char **argv) {
  int rank, level, bytes = atoi(argv[1]);
  const int wanted = argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  MPI_Errhandler handler;
  MPI_Init_thread(&argc, &argv, wanted, &level);
  if (level < wanted) puts("wrong: the level of threads");
  signal(SIGUSR1, on_signal);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Alloc_mem(bytes, MPI_INFO_NULL, &buffer);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  for (volatile int i = 0; i < times; i++) {
    for (volatile int which = 0; which < 5; which++) {
      by_signal = i % 2;
      leave(which);
      for (int k = 0; k < messages; k++) {
        if (rank == 0) MPI_Send(buffer, bytes, MPI_CHAR, 1, which, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(buffer, bytes, MPI_CHAR, 0, which, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
  }
  char host[64];
  gethostname(host, sizeof host);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("%d %s\n", rank, host);
  MPI_Free_mem(buffer);
  MPI_Finalize();
  return 0;
}
