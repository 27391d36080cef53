/* Two threads per rank. Each thread has its own line of the rank's notes. */
#include "conform.h"
#include <pthread.h>

enum { rounds = 12 };

typedef struct {
  MPI_Comm comm;
  int number, base;
  unsigned digest;
  pthread_t thread;
} Worker;

static const int sizes[] = {large, 75, larger, 300, least, 0};

static void add(Worker *w, const void *data, const MPI_Status *status) {
  int bytes;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  w->digest = w->digest * 31 + checksum(data, (size_t)bytes) + (unsigned)(status->MPI_TAG - w->base);
}

static void *exchange(void *argument) {
  Worker *w = argument;
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (int k = 0; k < rounds; ++k) {
    const int bytes = sizes[(k + w->number) % 6], tag = w->base + k % 2;
    void *out = obtain((size_t)bytes), *in = obtain((size_t)bytes);
    fill(out, (size_t)bytes, (unsigned)(rank * 1000 + w->number * 100 + k));
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(in, bytes, MPI_BYTE, k % 3 ? last : MPI_ANY_SOURCE, tag, w->comm, &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, next, tag, w->comm, &requests[1]);
    if (k % 4 == 0) MPI_Waitall(2, requests, statuses);
    if (k % 4 == 1) MPI_Wait(&requests[1], &statuses[1]), MPI_Wait(&requests[0], &statuses[0]);
    for (int flag = 0; k % 4 == 2 && !flag;) MPI_Testall(2, requests, &flag, statuses);
    if (k % 4 == 3) MPI_Wait(&requests[0], &statuses[0]), MPI_Wait(&requests[1], &statuses[1]);
    add(w, in, &statuses[0]);
    release(in);
    release(out);
  }
  return NULL;
}

/* One thread blocks in a receive while the other receives large messages. */
static void *blocked(void *argument) {
  Worker *w = argument;
  const int other = rank ^ 1;
  if (other >= size) return NULL;
  for (int k = 0; k < rounds; ++k) {
    void *data = obtain(larger);
    MPI_Status status;
    fill(data, larger, (unsigned)(rank * 1000 + w->number * 100 + k));
    if ((rank + k) % 2)
      MPI_Send(data, larger, MPI_BYTE, other, w->base, w->comm);
    else
      MPI_Recv(data, larger, MPI_BYTE, other, w->base, w->comm, &status), add(w, data, &status);
    release(data);
  }
  return NULL;
}

/* One thread blocks in an empty receive without a buffer, until the other has exchanged messages and sends
 * it. */
static void *nothing(void *argument) {
  Worker *w = argument;
  const int next = (rank + 1) % size, last = (rank + size - 1) % size, behind = 99;
  if (w->number == 0) {
    for (int k = 0; k < rounds; ++k) {
      MPI_Status status;
      MPI_Recv(NULL, 0, MPI_BYTE, last, behind, w->comm, &status);
      w->digest = w->digest * 31 + (unsigned)status.MPI_TAG;
    }
    return NULL;
  }
  void *out = obtain(large), *in = obtain(large);
  for (int k = 0; k < rounds; ++k) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    fill(out, large, (unsigned)(rank * 1000 + k));
    MPI_Irecv(in, large, MPI_BYTE, last, w->base, w->comm, &requests[0]);
    MPI_Isend(out, large, MPI_BYTE, next, w->base, w->comm, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    add(w, in, &statuses[0]);
    MPI_Send(NULL, 0, MPI_BYTE, next, behind, w->comm);
  }
  release(in);
  release(out);
  return NULL;
}

static void *probing_matched(void *argument) {
  Worker *w = argument;
  for (int k = 0; k < rounds; ++k) {
    const int bytes = sizes[k % 6];
    void *out = obtain((size_t)bytes);
    fill(out, (size_t)bytes, (unsigned)(rank * 1000 + w->number * 100 + k));
    MPI_Request request;
    MPI_Isend(out, bytes, MPI_BYTE, (rank + 1) % size, w->base, w->comm, &request);
    MPI_Message found;
    MPI_Status status;
    int count;
    MPI_Mprobe(MPI_ANY_SOURCE, w->base, w->comm, &found, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    void *in = obtain((size_t)count);
    MPI_Mrecv(in, count, MPI_BYTE, &found, &status);
    add(w, in, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    release(in);
    release(out);
  }
  return NULL;
}

/* MPI may reuse the handle of a request that one thread has completed for the other thread at once. */
static void *reusing(void *argument) {
  Worker *w = argument;
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  const int bytes = w->number ? 16 : large, many = w->number ? 40 * rounds : 5 * rounds;
  void *out = obtain((size_t)bytes), *in = obtain((size_t)bytes);
  for (int k = 0; k < many; ++k) {
    fill(out, (size_t)bytes, (unsigned)(rank * 1000 + w->number * 100 + k));
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Irecv(in, bytes, MPI_BYTE, last, w->base, w->comm, &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, next, w->base, w->comm, &requests[1]);
    MPI_Wait(&requests[0], &status);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    add(w, in, &status);
  }
  release(in);
  release(out);
  return NULL;
}

static void both(void *(*work)(void *), int apart) {
  Worker workers[2];
  for (int i = 0; i < 2; ++i) {
    workers[i] = (Worker){.comm = comm, .number = i, .base = apart ? 5 : 5 + 10 * i};
    if (apart) MPI_Comm_dup(comm, &workers[i].comm);
  }
  for (int i = 0; i < 2; ++i) pthread_create(&workers[i].thread, NULL, work, &workers[i]);
  for (int i = 0; i < 2; ++i) {
    pthread_join(workers[i].thread, NULL);
    note(" %08x", workers[i].digest);
    if (apart) MPI_Comm_free(&workers[i].comm);
  }
}

static void tags(void) { both(exchange, 0); }
static void apart(void) { both(exchange, 1); }
static void blocked_tags(void) { both(blocked, 0); }
static void blocked_apart(void) { both(blocked, 1); }
static void matched_tags(void) { both(probing_matched, 0); }
static void nothing_at_all(void) { both(nothing, 0); }
static void reused_handles(void) { both(reusing, 0); }

const Case threads[] = {{"tags", tags},
                        {"apart", apart},
                        {"blocked_tags", blocked_tags},
                        {"blocked_apart", blocked_apart},
                        {"matched_tags", matched_tags},
                        {"nothing_at_all", nothing_at_all},
                        {"reused_handles", reused_handles},
                        {0}};
