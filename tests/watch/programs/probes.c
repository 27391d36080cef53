// Probes: a message counts only when it is received.
#include "common.h"

static void send(int count) {
  if (rank == 0) MPI_Send(buffer, count, MPI_INT, 1, 0, MPI_COMM_WORLD);
}

static void received(const MPI_Status *status, int count) {
  int got;
  MPI_Get_count(status, MPI_INT, &got);
  CHECK(status->MPI_SOURCE == 0 && got == count);
}

static void plain(void) {
  MPI_Status status;
  int flag = 0;
  REGION("Probe") {
    send(10);
    if (rank == 1) {
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      received(&status, 10);
      MPI_Recv(buffer, 10, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
    }
  }
  REGION("Iprobe") {
    send(20);
    if (rank == 1) {
      while (!flag) MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      MPI_Recv(buffer, 20, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  REGION("nothing there") {
    for (int i = 0; i < 50; i++) MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, &status);
    CHECK(!flag);
  }
}

#if !defined(SIMULATED)
static void matched(MPI_Comm comm) {
  MPI_Status status;
  MPI_Message message;
  MPI_Request request;
  int flag = 0;
  REGION("Mprobe") {
    if (rank == 0) MPI_Send(buffer, 30, MPI_INT, 0, 0, comm);
    if (rank == 1) {
      MPI_Mprobe(MPI_ANY_SOURCE, 0, comm, &message, &status);
      received(&status, 30);
      MPI_Mrecv(buffer, 100, MPI_INT, &message, MPI_STATUS_IGNORE);
      CHECK(message == MPI_MESSAGE_NULL);
    }
  }
  REGION("Improbe") {
    if (rank == 0) MPI_Send(buffer, 40, MPI_INT, 0, 0, comm);
    if (rank == 1) {
      while (!flag) MPI_Improbe(0, 0, comm, &flag, &message, MPI_STATUS_IGNORE);
      MPI_Imrecv(buffer, 100, MPI_INT, &message, &request);
      MPI_Wait(&request, &status);
      received(&status, 40);
    }
  }
  REGION("no process") {
    MPI_Mprobe(MPI_PROC_NULL, 0, comm, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(buffer, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Probe(MPI_PROC_NULL, 0, comm, &status);
  }
}

// Several messages are matched before the first one is received.
static void held(void) {
  MPI_Message messages[3];
  REGION("held") {
    for (int i = 1; i <= 3; i++) send(i);
    if (rank == 1) {
      for (int i = 0; i < 3; i++) MPI_Mprobe(0, 0, MPI_COMM_WORLD, &messages[i], MPI_STATUS_IGNORE);
      for (int i = 2; i >= 0; i--) MPI_Mrecv(buffer, i + 1, MPI_INT, &messages[i], MPI_STATUS_IGNORE);
    }
  }
}

#endif

int main(int argc, char **argv) {
  start(&argc, &argv);
  plain();
#if !defined(SIMULATED)
  MPI_Comm pair;
  // Each rank's remote group is the other one alone: partners have rank 0 there.
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 0, &pair);
  matched(pair);
  held();
  MPI_Comm_free(&pair);
#endif
  MPI_Finalize();
  return 0;
}
