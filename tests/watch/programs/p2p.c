// Blocking and non-blocking sends in every mode, from rank 0 to rank 1 unless said otherwise.
#include "common.h"

static void receive(int count) {
  MPI_Status status;
  int got;
  MPI_Recv(buffer, 1000, MPI_INT, 0, 0, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &got);
  CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 0 && got == count);
}

// The receive is posted before anything is sent, as a ready send needs it.
static void receive_after_posting(int count) {
  MPI_Request request;
  MPI_Irecv(buffer, count, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

#define BLOCKING(name, count)                                                                                \
  REGION(#name) {                                                                                            \
    if (rank == 0) MPI_##name(buffer, count, MPI_INT, 1, 0, MPI_COMM_WORLD);                                 \
    if (rank == 1) receive(count);                                                                           \
  }

#define PENDING(name, count)                                                                                 \
  REGION(#name) {                                                                                            \
    MPI_Request request;                                                                                     \
    if (rank == 0) MPI_##name(buffer, count, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);                       \
    if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);                                                    \
    if (rank == 1) receive(count);                                                                           \
  }

static void modes(void) {
  BLOCKING(Send, 10)
  BLOCKING(Bsend, 20)
  BLOCKING(Ssend, 30)
  REGION("Rsend") {
    if (rank == 1) receive_after_posting(40);
    if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Rsend(buffer, 40, MPI_INT, 1, 0, MPI_COMM_WORLD);
  }
  PENDING(Isend, 11)
  PENDING(Ibsend, 21)
  PENDING(Issend, 31)
  REGION("Irsend") {
    MPI_Request request;
    if (rank == 1) receive_after_posting(41);
    if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Irsend(buffer, 41, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void exchanges(int peer) {
  MPI_Status status;
  int got;
  REGION("Sendrecv") {
    MPI_Sendrecv(buffer, 5 + rank, MPI_INT, peer, 1, other, 100, MPI_INT, peer, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK(got == 5 + peer && status.MPI_SOURCE == peer);
  }
  REGION("Sendrecv_replace") {
    MPI_Sendrecv_replace(buffer, 8, MPI_INT, peer, 1, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  // A shift with ends: rank 0 only sends, rank 1 only receives.
  REGION("shift") {
    int up = rank == 0 ? 1 : MPI_PROC_NULL, down = rank == 1 ? 0 : MPI_PROC_NULL;
    MPI_Sendrecv(buffer, 3, MPI_INT, up, 1, other, 3, MPI_INT, down, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

// Started in one region, completed in another.
static void split(void) {
  MPI_Request request;
  REGION("started") {
    if (rank == 1) MPI_Irecv(buffer, 100, MPI_INT, 0, 2, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Isend(buffer, 100, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
  }
  REGION("completed") { MPI_Wait(&request, MPI_STATUS_IGNORE); }
}

static void wildcards(void) {
  MPI_Status status;
  MPI_Request request;
  REGION("wildcards") {
    if (rank == 0)
      for (int tag = 7; tag < 9; tag++) MPI_Send(buffer, tag, MPI_INT, 1, tag, MPI_COMM_WORLD);
    if (rank == 1) {
      MPI_Recv(buffer, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 7);
      MPI_Irecv(buffer, 100, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, &status);
      CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 8);
    }
  }
}

static void nobody(void) {
  MPI_Request requests[2];
  MPI_Status status;
  REGION("nobody") {
    MPI_Send(buffer, 9, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer, 9, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Isend(buffer, 9, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(buffer, 9, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(buffer, 9, MPI_INT, MPI_PROC_NULL, 0, other, 9, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
}

static void cancelled(void) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int flag;
  REGION("cancelled") {
    for (int i = 0; i < 2; i++) {
      MPI_Irecv(buffer, 9, MPI_INT, 0, 99, MPI_COMM_WORLD, &requests[i]);
      MPI_Cancel(&requests[i]);
    }
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, statuses);
    MPI_Test_cancelled(&statuses[1], &flag);
    CHECK(flag);
  }
}

static void special(void) {
  MPI_Request request;
  REGION("empty") {
    if (rank == 0) MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) receive(0);
  }
  REGION("self") {
    MPI_Isend(buffer, 6, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    MPI_Recv(other, 6, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  // 200 000 B: by rendezvous, not eagerly.
  REGION("large") {
    if (rank == 0) MPI_Send(buffer, 50000, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(buffer, 50000, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char **argv) {
  static char attached[1 << 16];
  void *detached;
  int length;
  start(&argc, &argv);
  MPI_Buffer_attach(attached, sizeof attached);
  modes();
  exchanges(1 - rank);
  split();
  wildcards();
  nobody();
  cancelled();
  special();
  MPI_Buffer_detach(&detached, &length);
  MPI_Finalize();
  return 0;
}
