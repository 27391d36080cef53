/* Probes: sizes and tags must be those of the program's own messages. */
#include "conform.h"

static const int sizes[] = {large, 67, least, 0, larger, 571, small, 139, huge};
enum { many = sizeof sizes / sizeof *sizes };

static int counted(const MPI_Status *status) {
  int count;
  MPI_Get_count(status, MPI_BYTE, &count);
  note(" %d,%d,%d", status->MPI_SOURCE, status->MPI_TAG, count);
  return count;
}

static void send_all(int to) {
  for (int i = 0; i < many; ++i) give(sizes[i], to, i, comm);
}

static void probed(void) {
  if (rank == 0) send_all(1);
  for (int i = 0; i < many && rank == 1; ++i) {
    MPI_Status status;
    MPI_Probe(i % 2 ? 0 : MPI_ANY_SOURCE, i % 3 ? MPI_ANY_TAG : i, comm, &status);
    MPI_Probe(0, i, comm, &status); /* a probe does not remove the message */
    take(counted(&status), status.MPI_SOURCE, status.MPI_TAG, comm);
  }
}

static void probed_immediately(void) {
  if (rank == 0) send_all(1);
  for (int i = 0; i < many && rank == 1; ++i) {
    MPI_Status status;
    for (int flag = 0; !flag;)
      MPI_Iprobe(i % 2 ? 0 : MPI_ANY_SOURCE, i % 3 ? MPI_ANY_TAG : i, comm, &flag, &status);
    take(counted(&status), status.MPI_SOURCE, status.MPI_TAG, comm);
  }
}

static void probed_without_status(void) {
  int flag;
  if (rank == 0) give(large, 1, 1, comm), give(67, 1, 1, comm);
  if (rank == 1) {
    MPI_Probe(0, 1, comm, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;) MPI_Iprobe(0, 1, comm, &flag, MPI_STATUS_IGNORE);
    take(large, 0, 1, comm);
    MPI_Probe(0, 1, comm, MPI_STATUS_IGNORE);
    take(67, 0, 1, comm);
  }
}

static void matched(void) {
  if (rank == 0) send_all(1);
  for (int i = 0; i < many && rank == 1; ++i) {
    MPI_Status status;
    MPI_Message found = MPI_MESSAGE_NULL;
    if (i % 2)
      MPI_Mprobe(MPI_ANY_SOURCE, i, comm, &found, &status);
    else
      for (int flag = 0; !flag;) MPI_Improbe(0, MPI_ANY_TAG, comm, &flag, &found, &status);
    const int count = counted(&status), room = count + i % 2 * 100;
    void *data = obtain((size_t)room);
    if (i % 4 < 2)
      MPI_Mrecv(data, room, MPI_BYTE, &found, &status);
    else {
      MPI_Request request;
      MPI_Imrecv(data, room, MPI_BYTE, &found, &request);
      MPI_Wait(&request, &status);
    }
    note(" %d", found == MPI_MESSAGE_NULL);
    told(&status, data);
  }
}

/* Probed in order, received in reverse order, with later messages received in between. */
static void matched_backwards(void) {
  Pending out[2 * many];
  for (int i = 0; i < 2 * many && rank == 0; ++i) out[i] = giving(sizes[i % many], 1, i % many, comm);
  for (int i = 0; i < 2 * many && rank == 0; ++i) done(&out[i]);
  if (rank != 1) return;
  MPI_Message found[many];
  MPI_Status status;
  for (int i = 0; i < many; ++i) MPI_Mprobe(0, i, comm, &found[i], &status), counted(&status);
  for (int i = many; i--;) {
    void *data = obtain((size_t)sizes[i]);
    if (i % 2) take(sizes[i], 0, i, comm); /* the second of this tag */
    MPI_Mrecv(data, sizes[i], MPI_BYTE, &found[i], &status);
    told(&status, data);
    if (i % 2 == 0) take(sizes[i], 0, i, comm);
  }
}

static void matched_nobody(void) {
  MPI_Message found;
  MPI_Status status;
  int flag;
  MPI_Mprobe(MPI_PROC_NULL, 1, comm, &found, &status);
  note(" %d", found == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(NULL, 0, MPI_BYTE, &found, &status);
  note(" %d %d", found == MPI_MESSAGE_NULL, status.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Improbe(MPI_PROC_NULL, 1, comm, &flag, &found, &status);
  note(" %d %d", flag, found == MPI_MESSAGE_NO_PROC);
  MPI_Request request;
  MPI_Imrecv(NULL, 0, MPI_BYTE, &found, &request);
  MPI_Wait(&request, &status);
  note(" %d", status.MPI_SOURCE == MPI_PROC_NULL);
  /* There is no such message. */
  MPI_Iprobe(MPI_ANY_SOURCE, 77, comm, &flag, &status);
  note(" %d", flag);
  MPI_Improbe(0, 77, comm, &flag, &found, &status);
  note(" %d", flag);
}

/* A posted receive matches the message; a probe finds only the next one. */
static void probed_behind_receive(void) {
  Pending in;
  if (rank == 1) in = taking(huge, MPI_ANY_SOURCE, 1, comm), give(0, 0, 2, comm);
  if (rank == 0) take(0, 1, 2, comm), give(larger, 1, 1, comm), give(large, 1, 1, comm);
  if (rank == 1) {
    MPI_Status status;
    MPI_Probe(0, 1, comm, &status);
    take(counted(&status), 0, 1, comm);
    finish(&in);
  }
}

/* All ranks send to rank 0, which receives each probed message. */
static void probed_sources(void) {
  unsigned digest[64] = {0};
  if (rank) send_all(0);
  for (int i = 0; rank == 0 && i < many * (size - 1); ++i) {
    MPI_Status status, seen;
    MPI_Message found;
    int bytes;
    if (i % 2)
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &seen);
    else
      MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, &seen);
    MPI_Get_count(&seen, MPI_BYTE, &bytes);
    void *data = obtain((size_t)bytes);
    if (i % 2)
      MPI_Recv(data, bytes, MPI_BYTE, seen.MPI_SOURCE, seen.MPI_TAG, comm, &status);
    else
      MPI_Mrecv(data, bytes, MPI_BYTE, &found, &status);
    if (status.MPI_SOURCE != seen.MPI_SOURCE || status.MPI_TAG != seen.MPI_TAG) note(" ANOTHER");
    unsigned *d = &digest[status.MPI_SOURCE];
    *d = *d * 31 + checksum(data, (size_t)bytes);
    release(data);
  }
  for (int i = 1; rank == 0 && i < size; ++i) note(" %08x", digest[i]);
}

/* Counts in other types than the bytes that were sent. */
static void counts(void) {
  const int bytes[] = {larger, 300000, 12, 40001, 0};
  MPI_Datatype mixed;
  const int lengths[] = {1, 2};
  const MPI_Aint places[] = {0, 8};
  const MPI_Datatype parts[] = {MPI_CHAR, MPI_DOUBLE};
  MPI_Type_create_struct(2, lengths, places, parts, &mixed);
  MPI_Type_commit(&mixed);
  for (int i = 0; i < 5; ++i) {
    if (rank == 0) give(bytes[i], 1, 1, comm);
    if (rank != 1) continue;
    MPI_Status status;
    int count, elements;
    MPI_Count elements_x;
    for (int k = 0; k < 2; ++k) {
      if (k == 0) MPI_Probe(0, 1, comm, &status);
      if (k == 1) MPI_Recv(obtain(larger), larger, MPI_BYTE, 0, 1, comm, &status);
      MPI_Get_count(&status, MPI_DOUBLE, &count);
      MPI_Get_elements_x(&status, MPI_BYTE, &elements_x);
      MPI_Get_elements(&status, MPI_BYTE, &elements);
      note(" %d,%d,%d", count == MPI_UNDEFINED ? -1 : count, elements, (int)elements_x);
      MPI_Get_count(&status, mixed, &count);
      note(",%d", count == MPI_UNDEFINED ? -1 : count);
      MPI_Test_cancelled(&status, &count);
      note(",%d", count);
    }
  }
  MPI_Type_free(&mixed);
}

const Case probing[] = {{"probed", probed},
                        {"probed_immediately", probed_immediately},
                        {"probed_without_status", probed_without_status},
                        {"matched", matched},
                        {"matched_backwards", matched_backwards},
                        {"matched_nobody", matched_nobody},
                        {"probed_behind_receive", probed_behind_receive},
                        {"probed_sources", probed_sources},
                        {"counts", counts},
                        {0}};
