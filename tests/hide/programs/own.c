/* Attributes and callbacks of a program's communicators, and the latency of each message after others were
 * freed, truncated, refused, or exchanged. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, copies, deletes, errors;
static int sent[4] = {1, 2, 3, 4}, got[4];
static double begin;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
  (void)comm, (void)key, (void)extra;
  copies++;
  *(void **)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}
static int forget(MPI_Comm comm, int key, void *value, void *extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  deletes++;
  return MPI_SUCCESS;
}
static void failed(MPI_Comm *comm, int *code, ...) {
  (void)comm, (void)code;
  errors++;
}

/* Rank 1's time begins before rank 0 continues. This synchronisation has no injected latency. */
static void meet(void) {
  PMPI_Barrier(MPI_COMM_WORLD);
  begin = MPI_Wtime();
  if (rank == 1) PMPI_Send(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD);
  if (rank == 0) PMPI_Recv(NULL, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void say(const char *name) {
  if (rank == 1) printf("%s %.6f\n", name, MPI_Wtime() - begin), fflush(stdout);
}

static void message(MPI_Comm comm, int to, int from, const char *name) {
  meet();
  if (rank == 0) MPI_Send(sent, 1, MPI_INT, to, 4, comm);
  if (rank == 1) MPI_Recv(got, 1, MPI_INT, from, 4, comm, MPI_STATUS_IGNORE);
  say(name);
}

/* An attribute is copied once per MPI_Comm_dup, and deleted once per communicator. Errors go to the program.
 */
static void attributes(void) {
  MPI_Comm comm, again, half, across;
  MPI_Errhandler handler;
  int key;
  MPI_Comm_create_keyval(copy, forget, &key, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_attr(comm, key, &key);
  MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)failed, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Comm_dup(comm, &again);
  message(again, 1, 0, "dup");
  MPI_Send(sent, 1, MPI_INT, 7, 4, again); /* no such rank: one error */
  MPI_Comm_split(comm, rank, 0, &half);
  MPI_Intercomm_create(half, 0, comm, 1 - rank, 5, &across);
  MPI_Comm_set_attr(across, key, &key);
  MPI_Comm_free(&again);
  MPI_Comm_dup(across, &again);
  message(again, 0, 0, "across");
  MPI_Comm_free(&again);
  MPI_Comm_free(&across), MPI_Comm_free(&half), MPI_Comm_free(&comm);
  MPI_Errhandler_free(&handler), MPI_Comm_free_keyval(&key);
  printf("callbacks %d %d %d %d\n", rank, copies, deletes, errors);
}

/* The receive of rank 0's message 2 is freed, those of messages 4 and 6 have a too small buffer, and MPI
 * refuses two that come before message 8. Messages 3, 5, 7 and 9 are late. */
static void left_behind(void) {
  MPI_Request request;
  if (rank == 1) {
    MPI_Irecv(got, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    if (request != MPI_REQUEST_NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank == 0) MPI_Send(sent, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
  message(MPI_COMM_WORLD, 1, 0, "freed");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 0) MPI_Send(sent, 4, MPI_INT, 1, 4, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(got, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  message(MPI_COMM_WORLD, 1, 0, "truncated");
  if (rank == 0) MPI_Send(sent, 4, MPI_INT, 1, 4, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Irecv(got, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
    for (int done = 0, result = MPI_SUCCESS; !done && result == MPI_SUCCESS;)
      result = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
  message(MPI_COMM_WORLD, 1, 0, "tested");
  if (rank == 0) {
    MPI_Send(sent, -1, MPI_INT, 1, 4, MPI_COMM_WORLD);
    MPI_Isend(sent, -1, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
    MPI_Send(sent, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
  }
  if (rank == 1) MPI_Recv(got, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  message(MPI_COMM_WORLD, 1, 0, "refused");
}

#if MPI_VERSION >= 4
static void exchanges(void) {
  for (int i = 0; i < 8; i++) {
    const int from = i & 1 ? MPI_ANY_SOURCE : 1 - rank, tag = i & 2 ? MPI_ANY_TAG : 4;
    MPI_Request request;
    meet();
    if (i & 4)
      got[0] = rank, MPI_Isendrecv_replace(got, 1, MPI_INT, 1 - rank, 4, from, tag, MPI_COMM_WORLD, &request);
    else
      MPI_Isendrecv(&rank, 1, MPI_INT, 1 - rank, 4, got, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &request);
    if (i % 3)
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    else
      for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    say("exchange");
    if (got[0] != 1 - rank) MPI_Abort(MPI_COMM_WORLD, 1);
  }
}
#endif

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 2) {
    for (int i = 0; i < 600; i++)
      MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 0, got, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    PMPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && !strcmp(argv[1], "abort")) MPI_Abort(MPI_COMM_WORLD, 3);
    if (rank == 1) raise(SIGKILL);
    MPI_Recv(got, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  attributes();
  left_behind();
#if MPI_VERSION >= 4
  exchanges();
#endif
  MPI_Finalize();
  return 0;
}
