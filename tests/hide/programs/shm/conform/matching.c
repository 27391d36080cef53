/* Matching of messages and receives: order, tags, wildcards, sizes, and MPI_PROC_NULL. */
#include "conform.h"
#include <stdlib.h>

static const int sizes[] = {large, 8, least, 0, least - 1, larger, 67, 1000, huge, 40000, 571, least + 1};
enum { many = sizeof sizes / sizeof *sizes };

static void in_order(MPI_Comm c) {
  for (int i = 0; i < many; ++i) {
    if (rank == 0) give(sizes[i], 1, 3, c);
    if (rank == 1) take(huge, 0, 3, c);
  }
}
static void order(void) { in_order(comm); }
static void order_world(void) { in_order(MPI_COMM_WORLD); }

static void order_posted(void) {
  Pending pending[many];
  for (int i = 0; i < many && rank == 1; ++i) pending[i] = taking(sizes[i], 0, 3, comm);
  MPI_Barrier(comm);
  for (int i = 0; i < many && rank == 0; ++i) give(sizes[i], 1, 3, comm);
  for (int i = 0; i < many && rank == 1; ++i) finish(&pending[i]);
}

static void order_unexpected(void) {
  Pending pending[many];
  for (int i = 0; i < many && rank == 0; ++i) pending[i] = giving(sizes[i], 1, 3, comm);
  MPI_Barrier(comm);
  for (int i = 0; i < many && rank == 1; ++i) take(huge, 0, 3, comm);
  for (int i = 0; i < many && rank == 0; ++i) done(&pending[i]);
}

static void tags_backwards(void) {
  Pending pending[many];
  for (int i = 0; i < many && rank == 0; ++i) pending[i] = giving(sizes[i], 1, i, comm);
  for (int i = many; i-- && rank == 1;) take(sizes[i], 0, i, comm);
  for (int i = 0; i < many && rank == 0; ++i) done(&pending[i]);
}

static void tag_limits(void) {
  int *bound, given;
  MPI_Comm_get_attr(comm, MPI_TAG_UB, &bound, &given);
  if (rank == 0) give(large, 1, *bound, comm), give(larger, 1, 0, comm);
  if (rank == 1) take(large, 0, *bound, comm), take(larger, 0, 0, comm);
}

static void crossing(void) {
  const int other = rank ^ 1;
  if (other >= size) return;
  Pending in[many], out[many];
  for (int i = 0; i < many; ++i) {
    in[i] = taking(sizes[i], other, 3, comm);
    out[i] = giving(sizes[i], other, 3, comm);
  }
  for (int i = many; i--;) finish(&in[i]);
  for (int i = 0; i < many; ++i) done(&out[i]);
}

static void ring(void) {
  for (int i = 0; i < many; ++i) {
    Pending out = giving(sizes[i], (rank + 1) % size, i % 2, comm);
    take(sizes[i], (rank + size - 1) % size, i % 2, comm);
    done(&out);
  }
}

/* All ranks send to rank 0: the order between sources is arbitrary, that of each source is fixed. */
static void from_any(int tag) {
  unsigned digest[64] = {0};
  if (rank)
    for (int i = 0; i < many; ++i) give(sizes[i], 0, tag == MPI_ANY_TAG ? i : tag, comm);
  for (int i = 0; rank == 0 && i < many * (size - 1); ++i) {
    unsigned char *data = obtain(huge);
    MPI_Status status;
    int count;
    MPI_Recv(data, huge, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    unsigned *d = &digest[status.MPI_SOURCE];
    *d = *d * 31 + checksum(data, (size_t)count) + (unsigned)status.MPI_TAG;
    release(data);
  }
  for (int i = 1; rank == 0 && i < size; ++i) note(" %08x", digest[i]);
}
static void any_source(void) { from_any(4); }
static void any_source_any_tag(void) { from_any(MPI_ANY_TAG); }

static void any_source_posted(void) {
  Pending pending[64];
  for (int r = 1; rank == 0 && r < size; ++r) pending[r] = taking(huge, MPI_ANY_SOURCE, 5, comm);
  MPI_Barrier(comm);
  if (rank) give(large + rank, 0, 5, comm);
  unsigned all = 0;
  for (int r = 1; rank == 0 && r < size; ++r) {
    MPI_Status status;
    int count;
    MPI_Wait(&pending[r].request, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count != large + status.MPI_SOURCE) note(" SIZE OF ANOTHER");
    all += checksum(pending[r].data, (size_t)count);
  }
  if (rank == 0) note(" %08x", all);
}

static void any_tag(void) {
  for (int i = 0; i < many; ++i) {
    if (rank == 0) give(sizes[i], 1, 100 + i, comm);
    if (rank == 1) take(huge, 0, MPI_ANY_TAG, comm);
  }
}

/* Posted receives match in their order, including wildcards; tag 7 matches only the third. */
static void wildcards_posted(void) {
  const int from[] = {0, MPI_ANY_SOURCE, MPI_ANY_SOURCE, 0, 0}, tags[] = {MPI_ANY_TAG, 5, MPI_ANY_TAG, 5, 6};
  const int sent[] = {5, 5, 7, 6, 5}, bytes[] = {large, 10, least, larger, 67};
  Pending pending[5];
  for (int i = 0; i < 5 && rank == 1; ++i) pending[i] = taking(huge, from[i], tags[i], comm);
  MPI_Barrier(comm);
  for (int i = 0; i < 5 && rank == 0; ++i) give(bytes[i], 1, sent[i], comm);
  for (int i = 5; i-- && rank == 1;) finish(&pending[i]);
}

/* Receives smaller than any token, posted before and among large ones. */
static void capacities(void) {
  const int bytes[] = {5, large, 66, larger, 0, 67, large};
  Pending pending[7];
  for (int i = 0; i < 7 && rank == 1; ++i) pending[i] = taking(bytes[i], MPI_ANY_SOURCE, i % 2, comm);
  MPI_Barrier(comm);
  for (int i = 0; i < 7 && rank == 0; ++i) give(bytes[i], 1, i % 2, comm);
  for (int i = 0; i < 7 && rank == 1; ++i) finish(&pending[i]);
}

static void myself(void) {
  int flag;
  MPI_Status status;
  for (int i = 0; i < many; ++i) {
    Pending out = giving(sizes[i], rank, 2, comm);
    if (i % 3 == 1) MPI_Probe(rank, 2, comm, &status);
    for (flag = i % 3 != 2; !flag;) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
    take(sizes[i], i % 2 ? MPI_ANY_SOURCE : rank, 2, comm);
    done(&out);
    Pending in = taking(sizes[i], 0, 2, MPI_COMM_SELF);
    give(sizes[i], 0, 2, MPI_COMM_SELF);
    finish(&in);
  }
}

static void nobody(void) {
  char *data = message(large);
  MPI_Status status;
  MPI_Request requests[2];
  const unsigned before = checksum(data, large);
  MPI_Send(data, large, MPI_BYTE, MPI_PROC_NULL, 1, comm);
  MPI_Recv(data, large, MPI_BYTE, MPI_PROC_NULL, 1, comm, &status);
  note(" %d %d", status.MPI_SOURCE == MPI_PROC_NULL, status.MPI_TAG == MPI_ANY_TAG);
  MPI_Isend(data, large, MPI_BYTE, MPI_PROC_NULL, 1, comm, &requests[0]);
  MPI_Irecv(data, large, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, comm, &requests[1]);
  MPI_Wait(&requests[1], &status);
  int count;
  MPI_Get_count(&status, MPI_BYTE, &count);
  note(" %d %d %d", status.MPI_SOURCE == MPI_PROC_NULL, status.MPI_TAG == MPI_ANY_TAG, count);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Sendrecv_replace(data, large, MPI_BYTE, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, comm, &status);
  MPI_Probe(MPI_PROC_NULL, 1, comm, &status);
  note(" %d %d", status.MPI_SOURCE == MPI_PROC_NULL, checksum(data, large) == before);
  /* One end of a line of ranks. */
  char *in = obtain(large);
  MPI_Sendrecv(data, large, MPI_BYTE, rank + 1 < size ? rank + 1 : MPI_PROC_NULL, 1, in, large, MPI_BYTE,
               rank ? rank - 1 : MPI_PROC_NULL, 1, comm, &status);
  if (rank) told(&status, in);
}

static void zero_bytes(void) {
  if (rank == 0) {
    MPI_Send(NULL, 0, MPI_BYTE, 1, 1, comm);
    MPI_Ssend(NULL, 0, MPI_DOUBLE, 1, 2, comm);
    give(large, 1, 1, comm);
    give(0, 1, 1, comm);
  }
  if (rank == 1) {
    take(huge, 0, 1, comm);
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, comm, MPI_STATUS_IGNORE);
    take(huge, 0, MPI_ANY_TAG, comm);
    take(0, 0, 1, comm);
  }
}

static void late_receiver(void) {
  for (int i = 0; i < 4; ++i) {
    if (rank == 0) give(large << i, 1, 1, comm);
    if (rank == 1) idle(4e-3), take(large << i, 0, 1, comm);
  }
}

static void collectives_between(void) {
  for (int i = 0; i < many; ++i) {
    int one = 1, all;
    Pending in = taking(sizes[i], (rank + size - 1) % size, 1, comm);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
    Pending out = giving(sizes[i], (rank + 1) % size, 1, comm);
    void *data = obtain(large);
    MPI_Bcast(data, large, MPI_BYTE, i % size, comm);
    release(data);
    finish(&in);
    done(&out);
    MPI_Barrier(comm);
  }
}

const Case matching[] = {{"order", order},
                         {"order_world", order_world},
                         {"order_posted", order_posted},
                         {"order_unexpected", order_unexpected},
                         {"tags_backwards", tags_backwards},
                         {"tag_limits", tag_limits},
                         {"crossing", crossing},
                         {"ring", ring},
                         {"any_source", any_source},
                         {"any_source_any_tag", any_source_any_tag},
                         {"any_source_posted", any_source_posted},
                         {"any_tag", any_tag},
                         {"wildcards_posted", wildcards_posted},
                         {"capacities", capacities},
                         {"myself", myself},
                         {"nobody", nobody},
                         {"zero_bytes", zero_bytes},
                         {"late_receiver", late_receiver},
                         {"collectives_between", collectives_between},
                         {0}};
