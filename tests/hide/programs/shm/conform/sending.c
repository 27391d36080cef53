/* Every form of sending, reuse of buffers, and dependencies between ranks. */
#include "conform.h"
#include <stdlib.h>

static const int sizes[] = {large, 67, least, 12, larger, 0, 139, huge};
enum { many = sizeof sizes / sizeof *sizes };

typedef int (*Send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*Isend)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* Receives are posted before the sends, as ready mode requires. */
static void in_mode(Send send, Isend isend) {
  Pending in[2 * many];
  for (int i = 0; i < 2 * many && rank == 1; ++i) in[i] = taking(huge, 0, 1, comm);
  MPI_Barrier(comm);
  for (int i = 0; i < many && rank == 0; ++i) {
    void *data = message((size_t)sizes[i]);
    send(data, sizes[i], MPI_BYTE, 1, 1, comm);
    fill(data, (size_t)sizes[i], 0);
    release(data);
    MPI_Request request;
    data = message((size_t)sizes[i]);
    isend(data, sizes[i], MPI_BYTE, 1, 1, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    fill(data, (size_t)sizes[i], 0);
    release(data);
  }
  for (int i = 0; i < 2 * many && rank == 1; ++i) finish(&in[i]);
}
static void standard(void) { in_mode(MPI_Send, MPI_Isend); }
static void synchronous(void) { in_mode(MPI_Ssend, MPI_Issend); }
static void ready(void) { in_mode(MPI_Rsend, MPI_Irsend); }
static void buffered(void) {
  const int room = 1 << 23;
  void *buffer = malloc((size_t)room);
  int bytes;
  MPI_Buffer_attach(buffer, room);
  in_mode(MPI_Bsend, MPI_Ibsend);
  /* Complete before a rank receives. */
  for (int i = 0; i < many && rank == 0; ++i) {
    void *data = message((size_t)sizes[i]);
    MPI_Bsend(data, sizes[i], MPI_BYTE, 1, 2, comm);
    fill(data, (size_t)sizes[i], 0);
  }
  MPI_Barrier(comm);
  for (int i = 0; i < many && rank == 1; ++i) take(huge, 0, 2, comm);
  MPI_Buffer_detach(&buffer, &bytes);
  note(" %d", bytes);
  free(buffer);
}

static void together(void) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Status status;
  for (int i = 0; i < many; ++i) {
    const int back = sizes[(i + 1) % many]; /* odd and even ranks differ */
    void *out = message(huge), *in = obtain(huge);
    MPI_Sendrecv(out, rank % 2 ? back : sizes[i], MPI_BYTE, next, 1, in, huge, MPI_BYTE,
                 i % 2 ? last : MPI_ANY_SOURCE, i % 3 ? 1 : MPI_ANY_TAG, comm, &status);
    told(&status, in);
    release(in);
    release(out);
    in = message((size_t)sizes[i]);
    MPI_Sendrecv_replace(in, sizes[i], MPI_BYTE, next, 2, last, 2, comm, &status);
    told(&status, in);
    release(in);
  }
}

/* MPI 4 has nonblocking functions. The same messages are sent without them. */
static void together_nonblocking(void) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (int i = 0; i < many; ++i) {
    void *out = message((size_t)sizes[i]), *in = obtain(huge), *replaced = message((size_t)sizes[i]);
#if MPI_VERSION >= 4
    MPI_Request requests[2];
    MPI_Isendrecv(out, sizes[i], MPI_BYTE, next, 1, in, huge, MPI_BYTE, last, MPI_ANY_TAG, comm,
                  &requests[0]);
    MPI_Isendrecv_replace(replaced, sizes[i], MPI_BYTE, next, 2, last, 2, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
#else
    MPI_Sendrecv(out, sizes[i], MPI_BYTE, next, 1, in, huge, MPI_BYTE, last, MPI_ANY_TAG, comm,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(replaced, sizes[i], MPI_BYTE, next, 2, last, 2, comm, MPI_STATUS_IGNORE);
#endif
    note(" %08x %08x", checksum(in, (size_t)sizes[i]), checksum(replaced, (size_t)sizes[i]));
    release(in);
    release(out);
    release(replaced);
  }
}

static void large_counts(void) {
  for (int i = 0; i < many; ++i) {
    void *out = message((size_t)sizes[i]), *in = obtain(huge);
    MPI_Status status;
#if MPI_VERSION >= 4
    MPI_Request request;
    MPI_Count count = -1;
    MPI_Isend_c(out, sizes[i], MPI_BYTE, (rank + 1) % size, 1, comm, &request);
    MPI_Recv_c(in, huge, MPI_BYTE, MPI_ANY_SOURCE, 1, comm, &status);
    MPI_Get_count_c(&status, MPI_BYTE, &count);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (count != sizes[i]) note(" COUNT");
#else
    MPI_Sendrecv(out, sizes[i], MPI_BYTE, (rank + 1) % size, 1, in, huge, MPI_BYTE, MPI_ANY_SOURCE, 1, comm,
                 &status);
#endif
    told(&status, in);
    release(in);
    release(out);
  }
}

/* B enters the barrier before it waits for A's message, and A sends before the barrier. The receive is
 * posted, so A's send must complete. */
static void wait_before_barrier(void) {
  for (int i = 0; i < 4; ++i) {
    if (rank == 0) {
      Pending out = giving(large << i, 1, 1, comm);
      done(&out);
    }
    Pending in;
    if (rank == 1) in = taking(large << i, i % 2 ? MPI_ANY_SOURCE : 0, 1, comm);
    MPI_Barrier(comm);
    if (rank == 1) finish(&in);
  }
}

/* The same both ways, with a blocking send and with another message instead of the barrier. */
static void wait_before_message(void) {
  const int other = rank ^ 1;
  if (other >= size) return;
  for (int i = 0; i < 4; ++i) {
    Pending in = taking(larger, other, 1, comm);
    MPI_Sendrecv(NULL, 0, MPI_BYTE, other, 2, NULL, 0, MPI_BYTE, other, 2, comm, MPI_STATUS_IGNORE);
    give(larger - i, other, 1, comm); /* both receives are posted */
    give(larger - i, MPI_PROC_NULL, 1, comm);
    MPI_Sendrecv(NULL, 0, MPI_BYTE, other, 2, NULL, 0, MPI_BYTE, other, 2, comm, MPI_STATUS_IGNORE);
    finish(&in);
  }
}

/* A rank waits for a send to its left while its right neighbour waits for it: a chain without a cycle. */
static void chain(void) {
  for (int i = 0; i < 3; ++i) {
    if (rank) take(huge, rank - 1, 1, comm);
    if (rank + 1 < size) give(large << i, rank + 1, 1, comm);
    if (rank + 1 < size) take(huge, rank + 1, 1, comm);
    if (rank) give(larger, rank - 1, 1, comm);
  }
}

/* A synchronous send completes only when its receive has begun, however long that takes. */
static void synchronous_waits(void) {
  for (int i = 0; i < 3; ++i) {
    const int bytes = i ? large * i : small;
    if (rank == 0) {
      void *data = message((size_t)bytes);
      MPI_Request request;
      int flag = 0, early = 0;
      MPI_Issend(data, bytes, MPI_BYTE, 1, 1, comm, &request);
      for (int k = 0; k < 8; ++k) {
        idle(1e-3);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        early |= flag;
      }
      MPI_Send(NULL, 0, MPI_BYTE, 1, 2, comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      note(" %s", early ? "EARLY" : "not early");
    } else if (rank == 1) {
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, comm, MPI_STATUS_IGNORE);
      take(huge, 0, 1, comm);
    }
  }
}

/* Buffers inside and at the end of an allocation, on the stack, and unaligned. */
static void places(void) {
  unsigned char stack[large], *data = message(larger), *in = obtain(larger);
  fill(stack, large, 5);
  const int offsets[] = {0, 1, 63, 4095, 4097, larger - large};
  for (int i = 0; i < 6; ++i) {
    MPI_Request request;
    MPI_Status status;
    MPI_Isend(data + offsets[i], large - i, MPI_BYTE, (rank + 1) % size, 1, comm, &request);
    MPI_Recv(in + offsets[5 - i], large, MPI_BYTE, MPI_ANY_SOURCE, 1, comm, &status);
    told(&status, in + offsets[5 - i]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(stack + i, large - i, MPI_BYTE, (rank + 1) % size, 1, comm, &request);
    MPI_Recv(in + offsets[i], large, MPI_BYTE, MPI_ANY_SOURCE, 1, comm, &status);
    told(&status, in + offsets[i]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  /* Concurrent sends may read the same buffer. */
  MPI_Request requests[8];
  for (int r = 0; r < size && size <= 8; ++r) MPI_Isend(data, larger, MPI_BYTE, r, 2, comm, &requests[r]);
  for (int r = 0; r < size; ++r) take(larger, r, 2, comm);
  MPI_Waitall(size, requests, MPI_STATUSES_IGNORE);
}

const Case sending[] = {{"standard", standard},
                        {"synchronous", synchronous},
                        {"ready", ready},
                        {"buffered", buffered},
                        {"together", together},
                        {"together_nonblocking", together_nonblocking},
                        {"large_counts", large_counts},
                        {"wait_before_barrier", wait_before_barrier},
                        {"wait_before_message", wait_before_message},
                        {"chain", chain},
                        {"synchronous_waits", synchronous_waits},
                        {"places", places},
                        {0}};
