// Preloaded before the recorder. It replaces the PMPI functions that the reduction uses, and prints the
// number of messages that each rank sent and received in the reduction.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int messages;

int PMPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request *request) {
  int (*next)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
  *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Isend");
  messages++;
  return next(buffer, count, type, to, tag, comm, request);
}

int PMPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
               MPI_Request *request) {
  int (*next)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
  *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Irecv");
  messages++;
  return next(buffer, count, type, from, tag, comm, request);
}

__attribute__((destructor)) static void print_count(void) {
  char line[32];
  snprintf(line, sizeof line, "messages %d\n", messages);
  if (messages > 0 && write(STDOUT_FILENO, line, strlen(line)) < 0) perror("steps");
}
