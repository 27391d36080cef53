/* Each form of sending, from each rank to the other: the receiver prints the time from the send to the
 * arrival. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { tag = 7 };
static MPI_Request request;
static double sent, received;
static char empty;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#define TO &sent, 1, MPI_DOUBLE, to, tag
#define SENT TO, MPI_COMM_WORLD
#define FORM(name, call)                                                                                     \
  static void by_##name(int to) { call; }
#define STARTED(name) FORM(name, MPI_##name(SENT, &request); MPI_Wait(&request, MPI_STATUS_IGNORE))
#define PERSISTENT(name)                                                                                     \
  FORM(name, MPI_##name(SENT, &request); sent = now(); MPI_Start(&request);                                  \
       MPI_Wait(&request, MPI_STATUS_IGNORE); MPI_Request_free(&request))
FORM(Send, MPI_Send(SENT))
FORM(Bsend, MPI_Bsend(SENT))
FORM(Ssend, MPI_Ssend(SENT))
FORM(Rsend, MPI_Rsend(SENT))
STARTED(Isend)
STARTED(Ibsend)
STARTED(Issend)
STARTED(Irsend)
PERSISTENT(Send_init)
PERSISTENT(Bsend_init)
PERSISTENT(Ssend_init)
PERSISTENT(Rsend_init)
FORM(Sendrecv,
     MPI_Sendrecv(TO, &received, 1, MPI_DOUBLE, MPI_PROC_NULL, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE))
FORM(Startall, MPI_Send_init(SENT, &request); sent = now(); MPI_Startall(1, &request);
     MPI_Waitall(1, &request, MPI_STATUSES_IGNORE); MPI_Request_free(&request))

#define ROW(name) {#name, by_##name}
static const struct {
  const char *name;
  void (*send)(int to);
} forms[] = {ROW(Send),       ROW(Bsend),      ROW(Ssend),    ROW(Rsend),     ROW(Isend),
             ROW(Ibsend),     ROW(Issend),     ROW(Irsend),   ROW(Send_init), ROW(Bsend_init),
             ROW(Ssend_init), ROW(Rsend_init), ROW(Sendrecv), ROW(Startall)};

int main(int argc, char **argv) {
  static char buffer[4096];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Buffer_attach(buffer, sizeof buffer);
  for (int form = 0; form < (int)(sizeof forms / sizeof *forms); form++)
    for (int to = 0; to < 2; to++)
      if (rank == to) {
        MPI_Request posted;
        double stamp = 0;
        MPI_Irecv(&stamp, 1, MPI_DOUBLE, 1 - to, tag, MPI_COMM_WORLD, &posted);
        PMPI_Send(&empty, 0, MPI_BYTE, 1 - to, 1,
                  MPI_COMM_WORLD); /* a ready send may begin; without latency */
        MPI_Wait(&posted, MPI_STATUS_IGNORE);
        printf("%s %d %.6f\n", forms[form].name, to, now() - stamp);
      } else {
        PMPI_Recv(&empty, 0, MPI_BYTE, to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sent = now();
        forms[form].send(to);
      }
  int size;
  void *attached;
  MPI_Buffer_detach(&attached, &size);
  MPI_Finalize();
  return 0;
}
