/* Sequential messages, received by every function of MPI. Rank 1 prints the time from send to receive for
 * each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int rank;
static MPI_Comm comm;
static double payload[2];
enum { tag = 7 };

/* MPI_Wtime may have a different zero on each rank. */
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void expect(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_Request posted(void) {
  MPI_Request request;
  MPI_Irecv(payload, 2, MPI_DOUBLE, 0, tag, comm, &request);
  return request;
}

static void by_recv(void) { MPI_Recv(payload, 2, MPI_DOUBLE, 0, tag, comm, MPI_STATUS_IGNORE); }
static void by_any(void) {
  MPI_Status status;
  MPI_Recv(payload, 2, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
  expect(status.MPI_SOURCE == 0 && status.MPI_TAG == tag, "status of a wildcard");
}
static void by_wait(void) {
  MPI_Request request = posted();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(request == MPI_REQUEST_NULL, "request after MPI_Wait");
}
static void by_test(void) {
  MPI_Request request = posted();
  for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  expect(request == MPI_REQUEST_NULL, "request after MPI_Test");
}
static void by_get_status(void) {
  MPI_Request request = posted();
  for (int done = 0; !done;) MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void by_waitall(void) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, posted()};
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
static void by_testall(void) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, posted()};
  for (int done = 0; !done;) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
}
static void by_waitany(void) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, posted()};
  int index = 0;
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  expect(index == 1, "index of MPI_Waitany");
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  expect(index == MPI_UNDEFINED, "MPI_Waitany of nothing");
}
static void by_testany(void) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, posted()};
  int index = 0;
  for (int done = 0; !done;) MPI_Testany(2, requests, &index, &done, MPI_STATUS_IGNORE);
  expect(index == 1, "index of MPI_Testany");
}
static void by_waitsome(void) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, posted()};
  int count = 0, indices[2];
  MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
  expect(count == 1 && indices[0] == 1, "indices of MPI_Waitsome");
}
static void by_testsome(void) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, posted()};
  int count = 0, indices[2];
  while (count == 0) MPI_Testsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
  expect(count == 1 && indices[0] == 1, "indices of MPI_Testsome");
}
static void by_probe(void) {
  MPI_Status status;
  MPI_Probe(0, MPI_ANY_TAG, comm, &status);
  const double arrived = now();
  MPI_Recv(payload, 2, MPI_DOUBLE, 0, status.MPI_TAG, comm, MPI_STATUS_IGNORE);
  expect(arrived - payload[0] > 0.0199, "MPI_Probe knows a message that is under way");
}
static void by_iprobe(void) {
  for (int done = 0; !done;) MPI_Iprobe(0, tag, comm, &done, MPI_STATUS_IGNORE);
  by_recv();
}
static void by_mprobe(void) {
  MPI_Message message;
  MPI_Mprobe(0, tag, comm, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(payload, 2, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
}
static void by_improbe(void) {
  MPI_Message message;
  for (int done = 0; !done;) MPI_Improbe(0, tag, comm, &done, &message, MPI_STATUS_IGNORE);
  MPI_Request request;
  MPI_Imrecv(payload, 2, MPI_DOUBLE, &message, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void by_sendrecv(void) {
  double own[2] = {0, 0};
  MPI_Sendrecv(own, 2, MPI_DOUBLE, MPI_PROC_NULL, tag, payload, 2, MPI_DOUBLE, 0, tag, comm,
               MPI_STATUS_IGNORE);
}
static void by_persistent(void) {
  static MPI_Request request;
  static int passes = 0;
  if (passes == 0) MPI_Recv_init(payload, 2, MPI_DOUBLE, 0, tag, comm, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(request != MPI_REQUEST_NULL, "a persistent request");
  if (++passes == 2) MPI_Request_free(&request);
}

static const struct {
  const char *name;
  void (*receive)(void);
} forms[] = {{"Recv", by_recv},         {"wildcard", by_any},         {"Wait", by_wait},
             {"Test", by_test},         {"Waitall", by_waitall},      {"Testall", by_testall},
             {"Waitany", by_waitany},   {"Testany", by_testany},      {"Waitsome", by_waitsome},
             {"Testsome", by_testsome}, {"Probe", by_probe},          {"Iprobe", by_iprobe},
             {"Mprobe", by_mprobe},     {"Improbe", by_improbe},      {"Sendrecv", by_sendrecv},
             {"status", by_get_status}, {"persistent", by_persistent}};

int main(int argc, char **argv) {
  const struct timespec pause = {0, 3000000};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Request start;
  double sent[2];
  MPI_Send_init(sent, 2, MPI_DOUBLE, 1, tag, comm, &start);
  for (int form = 0; form < (int)(sizeof forms / sizeof *forms); form++)
    for (int pass = 0; pass < 2; pass++) {
      /* The receiver starts first. The messages that synchronise both ranks have no injected latency. */
      if (rank == 0) {
        PMPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sent[0] = now();
        sent[1] = 1000.0 * form + pass;
        if ((form + pass) % 3 == 0) {
          MPI_Send(sent, 2, MPI_DOUBLE, 1, tag, comm);
        } else if ((form + pass) % 3 == 1) {
          MPI_Request request;
          MPI_Isend(sent, 2, MPI_DOUBLE, 1, tag, comm, &request);
          MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
          MPI_Start(&start);
          MPI_Wait(&start, MPI_STATUS_IGNORE);
        }
        PMPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        PMPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        nanosleep(&pause, NULL); /* until the message has mostly been sent */
        forms[form].receive();
        const double arrived = now();
        expect(payload[1] == 1000.0 * form + pass, "what was received");
        printf("%s %.6f\n", forms[form].name, arrived - payload[0]);
        PMPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
      }
    }
  MPI_Request_free(&start);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
