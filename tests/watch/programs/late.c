// Rank 1 comes late to each receive, so that rank 0 waits in whatever sends. A region a way to send.
#include "common.h"

#include <time.h>

enum { messages = 3, bytes = 1 << 20 };
static char out[bytes], in[bytes];

static void sleep_ms(long ms) {
  const struct timespec length = {0, ms * 1000000};
  nanosleep(&length, NULL);
}

// What rank 0 does for each message; rank 1 sleeps, and receives it.
static void late(const char *name, void (*sending)(void), int buffered) {
  MPI_Barrier(MPI_COMM_WORLD);
  HALOSCOPE_REGION_BEGIN(name);
  for (int i = 0; i < messages; i++) {
    if (rank == 0) {
      sending();
    } else if (rank == 1) {
      sleep_ms(5);
      MPI_Recv(in, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  HALOSCOPE_REGION_END(name);
  if (buffered) {
    void *space;
    int size;
    REGION("detached") if (rank == 0) MPI_Buffer_detach(&space, &size);
  }
}

static void by_send(void) { MPI_Send(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD); }
static void by_ssend(void) { MPI_Ssend(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD); }
static void by_bsend(void) { MPI_Bsend(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD); }
static void by_sendrecv(void) {
  MPI_Sendrecv(out, bytes, MPI_BYTE, 1, 0, in, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}
static void by_isend(void) {
  MPI_Request request;
  MPI_Isend(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void by_issend(void) {
  MPI_Request request;
  MPI_Issend(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
  MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
}
static void by_start(void) {
  MPI_Request request;
  MPI_Send_init(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

int main(int argc, char **argv) {
  const int space = messages * (bytes + MPI_BSEND_OVERHEAD);
  start(&argc, &argv);
  MPI_Buffer_attach(malloc(space), space);
  late("Send", by_send, 0);
  late("Ssend", by_ssend, 0);
  late("Sendrecv", by_sendrecv, 0);
  late("Isend", by_isend, 0);
  late("Issend", by_issend, 0);
  late("Start", by_start, 0);
  late("Bsend", by_bsend, 1);
  MPI_Finalize();
  return 0;
}
