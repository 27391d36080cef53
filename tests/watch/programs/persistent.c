// Persistent requests: sends count when started, receives when complete.
#include "common.h"

typedef int (*Init)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void exchange(const char *name, Init init, int ready) {
  MPI_Request requests[2];
  HALOSCOPE_REGION_BEGIN(name);
  MPI_Recv_init(other, 100, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
  init(buffer, 10 + rank, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 3; i++) {
    MPI_Start(&requests[0]);
    if (ready) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[0]), MPI_Request_free(&requests[1]);
  HALOSCOPE_REGION_END(name);
}

static void startall(void) {
  MPI_Request requests[4];
  REGION("made") {
    MPI_Recv_init(other, 10, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(other + 10, 10, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Send_init(buffer, 10, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Send_init(buffer, 5, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, &requests[3]);
  }
  for (int i = 0; i < 4; i++) {
    REGION("started") MPI_Startall(4, requests);
    REGION("completed") MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    REGION("inactive") MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < 4; i++) MPI_Request_free(&requests[i]);
}

static void nobody(void) {
  MPI_Request requests[2];
  REGION("nobody") {
    MPI_Recv_init(other, 10, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(buffer, 10, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]), MPI_Request_free(&requests[1]);
  }
}

static void cancelled(void) {
  MPI_Request request;
  REGION("cancelled") {
    MPI_Recv_init(other, 10, MPI_INT, 1 - rank, 99, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
}

// Freed while it is active: the message goes out all the same.
static void freed(void) {
  MPI_Request request;
  REGION("freed") {
    if (rank == 0) {
      MPI_Isend(buffer, 7, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
      MPI_Request_free(&request);
    } else {
      MPI_Recv(buffer, 7, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}

int main(int argc, char **argv) {
  static char attached[1 << 16];
  void *detached;
  int length;
  start(&argc, &argv);
  MPI_Buffer_attach(attached, sizeof attached);
  exchange("Send_init", MPI_Send_init, 0);
  exchange("Bsend_init", MPI_Bsend_init, 0);
  exchange("Ssend_init", MPI_Ssend_init, 0);
  exchange("Rsend_init", MPI_Rsend_init, 1);
  startall();
  nobody();
  cancelled();
  freed();
  MPI_Buffer_detach(&detached, &length);
  MPI_Finalize();
  return 0;
}
