/* Persistent requests, with partners that use other functions. */
#include "conform.h"

static const int sizes[] = {large, 75, larger};
enum { many = sizeof sizes / sizeof *sizes, several = 10 };

typedef int (*Init)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void rounds_of(Init send_init, int rounds) {
  MPI_Request requests[many];
  void *data[many];
  for (int i = 0; i < many && rank < 2; ++i) {
    data[i] = obtain((size_t)sizes[i]);
    if (rank == 0) send_init(data[i], sizes[i], MPI_BYTE, 1, 1, comm, &requests[i]);
    if (rank == 1)
      MPI_Recv_init(data[i], sizes[i], MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : 0, 1, comm, &requests[i]);
  }
  for (int k = 0; k < rounds; ++k) {
    if (rank == 1) MPI_Startall(many, requests);
    MPI_Barrier(comm);
    for (int i = 0; i < many && rank == 0; ++i) {
      fill(data[i], (size_t)sizes[i], (unsigned)(k * many + i));
      if (k % 2) MPI_Start(&requests[i]);
    }
    if (rank == 0 && k % 2 == 0) MPI_Startall(many, requests);
    MPI_Status statuses[many];
    if (rank < 2) MPI_Waitall(many, requests, statuses);
    for (int i = 0; i < many && rank == 1; ++i) told(&statuses[i], data[i]);
  }
  for (int i = 0; i < many && rank < 2; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) note(" FREED");
    MPI_Request_free(&requests[i]);
    release(data[i]);
  }
}
static void started_standard(void) { rounds_of(MPI_Send_init, several); }
static void started_synchronous(void) { rounds_of(MPI_Ssend_init, several); }
static void started_ready(void) { rounds_of(MPI_Rsend_init, several); }
/* Open MPI 4 sends wrong data when a large one is started again. */
static void started_buffered(void) {
  static char buffer[1 << 20];
  void *detached;
  int bytes;
  MPI_Buffer_attach(buffer, sizeof buffer);
  rounds_of(MPI_Bsend_init, 1);
  MPI_Buffer_detach(&detached, &bytes);
}

/* Halo exchange in a ring: each way, one MPI_Startall for all four. */
static void started_ring(void) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Request requests[4];
  MPI_Status statuses[4];
  void *in[2] = {obtain(large), obtain(large)}, *out[2] = {obtain(large), obtain(large)};
  MPI_Recv_init(in[0], large, MPI_BYTE, last, 1, comm, &requests[0]);
  MPI_Recv_init(in[1], large, MPI_BYTE, next, 2, comm, &requests[1]);
  MPI_Send_init(out[0], large, MPI_BYTE, next, 1, comm, &requests[2]);
  MPI_Send_init(out[1], large, MPI_BYTE, last, 2, comm, &requests[3]);
  for (int k = 0; k < several; ++k) {
    fill(out[0], large, (unsigned)(k * 16 + rank));
    fill(out[1], large, (unsigned)(k * 16 + rank + 8));
    MPI_Startall(4, requests);
    if (k % 3 == 0) MPI_Waitall(4, requests, statuses);
    for (int flag = k % 3 == 0; !flag && k % 3 == 1;) MPI_Testall(4, requests, &flag, statuses);
    for (int i = 4; k % 3 == 2 && i--;) MPI_Wait(&requests[i], &statuses[i]);
    told(&statuses[0], in[0]);
    told(&statuses[1], in[1]);
  }
  for (int i = 0; i < 4; ++i) MPI_Request_free(&requests[i]);
}

/* Each end is persistent or plain, in one order of messages. */
static void with_plain(void) {
  MPI_Request request;
  MPI_Status status;
  void *data = obtain(huge);
  for (int i = 0; i < many; ++i) {
    if (rank == 0) MPI_Send_init(data, sizes[i], MPI_BYTE, 1, 1, comm, &request);
    if (rank == 1) MPI_Recv_init(data, huge, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
    for (int k = 0; k < 4; ++k) {
      if (rank == 0) {
        fill(data, (size_t)sizes[i], (unsigned)k);
        MPI_Start(&request);
        give(sizes[(i + 1) % many], 1, 1, comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      } else if (rank == 1) {
        take(huge, 0, 1, comm);
        MPI_Start(&request);
        MPI_Wait(&request, &status);
        told(&status, data);
      }
    }
    if (rank < 2) MPI_Request_free(&request);
  }
}

static void inactive(void) {
  MPI_Request requests[3], null = MPI_REQUEST_NULL;
  MPI_Status status, statuses[3];
  int flag = -1, index = -7, count = -1, indices[3];
  void *data = obtain(large);
  MPI_Recv_init(data, large, MPI_BYTE, 0, 1, comm, &requests[0]);
  MPI_Send_init(data, large, MPI_BYTE, 0, 1, comm, &requests[1]);
  requests[2] = MPI_REQUEST_NULL;
  MPI_Wait(&requests[0], &status);
  note(" %d %d", status.MPI_SOURCE == MPI_ANY_SOURCE, status.MPI_TAG == MPI_ANY_TAG);
  MPI_Test(&requests[1], &flag, &status);
  MPI_Get_count(&status, MPI_BYTE, &count);
  note(" %d %d", flag, count);
  MPI_Waitany(3, requests, &index, &status);
  note(" %d", index == MPI_UNDEFINED);
  MPI_Testany(3, requests, &index, &flag, &status);
  note(" %d %d", index == MPI_UNDEFINED, flag);
  MPI_Waitsome(3, requests, &count, indices, statuses);
  note(" %d", count == MPI_UNDEFINED);
  MPI_Testsome(3, requests, &count, indices, statuses);
  note(" %d", count == MPI_UNDEFINED);
  MPI_Testall(3, requests, &flag, statuses);
  note(" %d %d", flag, statuses[0].MPI_SOURCE == MPI_ANY_SOURCE);
  MPI_Waitall(3, requests, statuses);
  MPI_Request_get_status(requests[0], &flag, &status);
  note(" %d", flag);
  MPI_Request_get_status(null, &flag, &status);
  note(" %d", flag);
  MPI_Test(&null, &flag, &status);
  MPI_Wait(&null, &status);
  MPI_Get_count(&status, MPI_BYTE, &count);
  note(" %d %d", flag, count);
  note(" %d", requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  note(" %d", requests[0] == MPI_REQUEST_NULL);
  MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
}

/* More than one request for the same buffer and partner, made and freed many times. */
static void made_and_freed(void) {
  void *data = message(large);
  for (int k = 0; k < 100; ++k) {
    MPI_Request request;
    if (rank == 0) MPI_Send_init(data, large, MPI_BYTE, 1, 1, comm, &request);
    if (rank == 1) MPI_Recv_init(data, large, MPI_BYTE, 0, 1, comm, &request);
    if (rank > 1) break;
    if (k % 10 == 0) {
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
  }
  if (rank == 1) note(" %08x", checksum(data, large));
}

const Case persistent[] = {{"started_standard", started_standard},
                           {"started_synchronous", started_synchronous},
                           {"started_ready", started_ready},
                           {"started_buffered", started_buffered},
                           {"started_ring", started_ring},
                           {"with_plain", with_plain},
                           {"inactive", inactive},
                           {"made_and_freed", made_and_freed},
                           {0}};
